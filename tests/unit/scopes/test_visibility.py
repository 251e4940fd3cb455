"""Who sees what, in ten thousand random worlds, against the plainest statement of the rule."""

from dataclasses import dataclass, field
from random import Random

import pytest

from zero_memory.contracts.errors import ErrorCode, Refusal
from zero_memory.scopes.access import Access, can_admin, can_write
from zero_memory.scopes.model import ROLES, Membership, Role, ScopeKind
from zero_memory.scopes.session import Session, read_set
from zero_memory.scopes.visibility import (
    ReadSet,
    hidden_places,
    is_shared_into,
    scope_filter,
    seen_in,
    shown_places,
    visible,
)

WORLDS = 10_000


@dataclass
class _Scope:
    id: str
    path: str
    kind: ScopeKind
    owner: str
    members: dict[str, Role] = field(default_factory=dict[str, Role])


@dataclass
class _Memory:
    home: str
    shared: set[str] = field(default_factory=set[str])
    indexed: set[str] = field(default_factory=set[str])

    @property
    def places(self) -> set[str]:
        return {self.home} | self.shared


@dataclass
class _World:
    people: list[str]
    scopes: dict[str, _Scope]
    memories: list[_Memory]

    def access(self, person: str) -> Access:
        return Access(
            person,
            tuple(
                Membership(person, each.id, each.members[person], each.path, each.kind, each.owner)
                for each in self.scopes.values()
                if person in each.members
            ),
        )

    def may_read(self, person: str, memory: _Memory) -> bool:
        return any(person in self.scopes[place].members for place in memory.places)


def _world(random: Random) -> _World:
    people = [f"p_{number}" for number in range(random.randint(2, 4))]
    scopes: dict[str, _Scope] = {}

    def scope(path: str, kind: ScopeKind, owner: str) -> None:
        made = _Scope(f"scp_{len(scopes)}", path, kind, owner, {owner: "admin"})
        scopes[made.id] = made

    for person in people:
        scope(f"user.{person}", "personal", person)
        scope(f"user.{person}.core", "core", person)
        for name in random.sample(("web", "api"), random.randint(0, 2)):
            scope(f"proj.{person}.{name}", "project", person)
        if random.random() < 0.4:
            scope(f"team.{person}.web", "team", person)
    world = _World(people, scopes, [])
    for _ in range(random.randint(10, 30)):
        _happen(world, random)
    return world


def _happen(world: _World, random: Random) -> None:
    shareable = [each for each in world.scopes.values() if each.kind in {"project", "team"}]
    event = random.choice(
        ("write", "write", "join", "role", "leave", "share", "unshare", "move", "index")
    )
    if event == "write":
        world.memories.append(_Memory(random.choice(list(world.scopes))))
    elif event in {"join", "role"} and shareable:
        random.choice(shareable).members[random.choice(world.people)] = random.choice(ROLES)
    elif event == "leave" and shareable:
        scope = random.choice(shareable)
        left = random.choice(world.people)
        if left != scope.owner:
            scope.members.pop(left, None)
    elif world.memories:
        memory = random.choice(world.memories)
        if event == "share" and shareable:
            memory.shared.add(random.choice(shareable).id)
        elif event == "unshare":
            memory.shared.clear()
        elif event == "move":
            memory.home = random.choice(list(world.scopes))
        elif event == "index":
            memory.indexed = memory.places


def _session(access: Access, random: Random) -> Session:
    projects = [each for each in access.memberships if each.kind == "project"]
    attached = random.choice([None, *projects])
    pinned = random.choice([None, *projects]) if attached else None
    return Session(attached, pinned, "thr_x", None)


def _found(world: _World, reads: ReadSet) -> list[_Memory]:
    """What a query shows: the index, as stale as it is, filtered; then the records, again."""
    wanted = set(scope_filter(reads))
    candidates = [memory for memory in world.memories if (memory.indexed or memory.places) & wanted]
    return [memory for memory in candidates if visible(memory.home, memory.shared, reads)]


def test_nobody_sees_what_is_not_theirs_in_any_world():
    for seed in range(WORLDS):
        random = Random(seed)  # noqa: S311 - nothing secret
        world = _world(random)
        for person in world.people:
            access = world.access(person)
            session = _session(access, random)
            own = [each.path for each in access.memberships]
            asked = random.choice(
                (
                    None,
                    ["*"],
                    ["core"],
                    ["personal", "core"],
                    random.sample(own, random.randint(1, len(own))),
                )
            )
            reads = read_set(access, session, asked, briefing=random.random() < 0.5)
            filtered = scope_filter(reads)
            assert all(person in world.scopes[scope].members for scope in filtered), seed
            for memory in _found(world, reads):
                assert world.may_read(person, memory), seed
                shown = seen_in(memory.home, memory.shared, reads)
                assert shown in {world.scopes[place].path for place in memory.places}, seed
                assert shown in own, seed
                assert set(shown_places(memory.shared, reads)) <= set(own), seed
                through = is_shared_into(memory.home, memory.shared, reads)
                assert through == (world.scopes[memory.home].path != shown), seed
                hidden = hidden_places(memory.home, memory.shared, reads)
                assert not (through and hidden), seed
            everything = read_set(access, session, ["*"])
            for memory in world.memories:
                assert visible(memory.home, memory.shared, everything) == world.may_read(
                    person, memory
                ), seed


def test_what_a_stranger_has_is_as_if_it_were_not_there():
    for seed in range(WORLDS // 10):
        random = Random(seed)  # noqa: S311 - nothing secret
        world = _world(random)
        person = random.choice(world.people)
        access = world.access(person)
        for scope in world.scopes.values():
            if person in scope.members:
                assert access.must(scope.path).scope == scope.id
                continue
            with pytest.raises(Refusal) as foreign:
                read_set(access, _session(access, random), ["core", scope.path])
            with pytest.raises(Refusal) as missing:
                read_set(access, _session(access, random), ["core", scope.path + "x"])
            assert foreign.value.body() == missing.value.body()
            assert foreign.value.code is ErrorCode.NOT_FOUND


@pytest.mark.parametrize(
    ("role", "writes", "administers"),
    [("reader", False, False), ("writer", True, False), ("admin", True, True)],
)
def test_a_role_allows_what_it_says(role: Role, writes: bool, administers: bool):
    membership = Membership("p_1", "scp_1", role, "team.p_2.web", "team", "p_2")
    for check, allowed in ((can_write, writes), (can_admin, administers)):
        if allowed:
            check(membership)
        else:
            with pytest.raises(Refusal) as refused:
                check(membership)
            assert refused.value.code is ErrorCode.FORBIDDEN
