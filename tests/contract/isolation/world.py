"""A random world at the edge, and the plainest book-keeping of who may see what in it."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.contract.isolation.edge import Answer, Edge, Person, arrives
from zero_memory.retrieval.indexing import index_memories, settle_markers

ROLES = ("reader", "writer", "admin")
NOBODY = "mem_00000000000000000000000000"
NO_OTHER = NOBODY[:-1] + "1"
NO_AUDIT = "aud_" + NOBODY.removeprefix("mem_")
NO_PERSON = "p_" + NOBODY.removeprefix("mem_")
NO_TOKEN = "a" * 16
NOWHERE = "team.p_00000000000000000000000000.ops"
FOUND = re.compile(r"mem_[0-9A-Z]{26}|(?:marker|entity)\d{5}")
About = Callable[[str], dict[str, Any]]
TOPICS = ("deploy", "backup", "queue", "cache")


@dataclass
class Memory:
    """What the book-keeper knows of one memory."""

    id: str
    home: str
    marker: str
    entity: str
    live: bool = True
    erased_by: str | None = None
    shared: set[str] = field(default_factory=set[str])

    @property
    def erased(self) -> bool:
        return self.erased_by is not None

    @property
    def traces(self) -> set[str]:
        return {self.id, self.marker, self.entity}


class World:
    """Three people with scopes of equal names, who share, move, forget, come and go."""

    def __init__(self, at: Edge, seed: int) -> None:
        self.at = at
        self.random = random.Random(seed)  # noqa: S311 - worlds, not secrets
        self.number = seed * 100 % 90_000
        self.people = [arrives(at) for _ in range(3)]
        self.roles: dict[tuple[str, str], str] = {}
        self.memories: list[Memory] = []
        self.named: dict[str, set[str]] = {}
        for person in self.people:
            mine = [person.personal, f"{person.personal}.core"]
            mine.append(person.does("manage_scope", action="make_team", name="ops")["scope"])
            self.roles |= {(person.id, path): "admin" for path in mine}
            made = self.remember(person, None, project_hint="web")
            self.roles[person.id, made.home] = "admin"
        self.let_in(self.people[0], self.people[1], self.teams(self.people[0])[0], "writer")

    # ------------------------------------------------------------ who may what, in plain words

    def scopes(self, person: Person) -> set[str]:
        return {path for who, path in self.roles if who == person.id}

    def teams(self, person: Person) -> list[str]:
        return [path for path in self.ordered(person) if not path.startswith("user.")]

    def ordered(self, person: Person) -> list[str]:
        return self.order(self.scopes(person))

    def order(self, paths: set[str]) -> list[str]:
        """Paths in an order that is the same whatever ids the people got."""
        numbers = {each.id: str(number) for number, each in enumerate(self.people)}
        return sorted(paths, key=lambda path: [numbers.get(each, each) for each in path.split(".")])

    def sees(self, person: Person, memory: Memory, scopes: set[str] | None = None) -> bool:
        read = self.scopes(person) if scopes is None else scopes
        return not memory.erased and bool(read & {memory.home, *memory.shared})

    def writes(self, person: Person, path: str) -> bool:
        return self.roles.get((person.id, path)) in {"writer", "admin"}

    def allowed(self, person: Person) -> set[str]:
        """Every word that may come before this person."""
        return {trace for each in self.memories if self.sees(person, each) for trace in each.traces}

    # ------------------------------------------------------------ what happens

    def happen(self, steps: int) -> None:
        for _ in range(steps):
            self.at.clock.advance(seconds=self.random.choice((0.001, 1, 60)))
            step = self.random.choice(STEPS)
            step(self, self.random.choice(self.people))

    def remember(self, person: Person, path: str | None, **arguments: Any) -> Memory:
        self.number += 1
        marker, entity = f"marker{self.number:05d}", f"entity{self.number:05d}"
        topic = self.random.choice(TOPICS)
        where = arguments if path is None else {"scope": path, **arguments}
        result = self.checked(
            person,
            "remember",
            content=f"The {topic} of the web service runs at night, see {marker}",
            entities=[entity, topic],
            **where,
        ).json
        made = Memory(result["id"], result["scope"], marker, entity)
        self.memories.append(made)
        self.named.setdefault(made.home, set()).update((entity, topic))
        return made

    def store(self, person: Person) -> None:
        path = self.random.choice(self.ordered(person))
        if self.writes(person, path):
            self.remember(person, path)

    def supersede(self, person: Person) -> None:
        path = self.random.choice(self.ordered(person))
        memory = self.random.choice(self.memories)
        if memory.erased or not self.writes(person, path):
            return
        if self.sees(person, memory) and self.writes(person, memory.home):
            self.remember(person, path, supersedes=[memory.id])
            memory.live = False
        else:
            answer = self.checked(
                person, "remember", content="Better known", scope=path, supersedes=[memory.id]
            )
            assert answer.status == (403 if self.sees(person, memory) else 404)

    def forget(self, person: Person) -> None:
        memory = self.random.choice(self.memories)
        if self.changes(person, memory, "forget", reason="it changed"):
            memory.live = False

    def restore(self, person: Person) -> None:
        memory = self.random.choice(self.memories)
        if self.changes(person, memory, "restore_memory"):
            memory.live = True

    def erase(self, person: Person) -> None:
        memory = self.random.choice(self.memories)
        if self.random.random() < 0.7:
            return
        admin = self.roles.get((person.id, memory.home)) == "admin"
        answer = self.checked(person, "erase_memory", memory_id=memory.id, confirm=memory.id)
        if not memory.erased:
            assert (answer.status == 200) == (admin and self.sees(person, memory)), answer.text
            memory.erased_by = person.id if answer.status == 200 else None

    def share(self, person: Person) -> None:
        memory = self.random.choice(self.memories)
        path = self.random.choice(
            [*self.teams(person), *self.teams(self.random.choice(self.people))]
        )
        may = self.writes(person, path) and self.writes(person, memory.home) and not memory.erased
        there = path == memory.home or path in memory.shared
        answer = self.checked(person, "share", memory_id=memory.id, scope=path)
        assert (answer.status == 200) == (may and (memory.live or there)), answer.text
        if answer.status == 200 and not there:
            memory.shared.add(path)
            if self.random.random() < 0.2:
                undo = answer.json["audit_id"]
                person.does("restore_memory", memory_id=memory.id, audit_id=undo)
                memory.shared.discard(path)

    def unshare(self, person: Person) -> None:
        memory = self.random.choice(self.memories)
        path = self.random.choice([None, *self.order(memory.shared)])
        admin = path is not None and self.roles.get((person.id, path)) == "admin"
        known = path is None or path in self.scopes(person)
        may = known and self.sees(person, memory) and (admin or self.writes(person, memory.home))
        answer = self.checked(person, "unshare", memory_id=memory.id, scope=path)
        assert (answer.status == 200) == may, answer.text
        if may:
            memory.shared -= memory.shared if path is None else {path}

    def move(self, person: Person) -> None:
        memory = self.random.choice(self.memories)
        path = self.random.choice(self.ordered(person))
        answer = self.checked(person, "move_memories", ids=[memory.id], scope=path)
        may = self.sees(person, memory) and self.writes(person, memory.home)
        if not self.writes(person, path):
            assert answer.status == 403
        elif not may:
            assert answer.json["failed"]
        else:
            assert not answer.json["failed"], answer.text
            memory.home = path
            memory.shared.discard(path)
            self.named.setdefault(path, set()).update((memory.entity, *TOPICS))

    def link(self, person: Person) -> None:
        src, dst = self.random.choice(self.memories), self.random.choice(self.memories)
        answer = self.checked(person, "link", src=src.id, dst=dst.id, type="relates_to")
        may = self.sees(person, src) and self.sees(person, dst) and self.writes(person, src.home)
        assert answer.status == 200 if may and src is not dst else answer.status >= 400, answer.text

    def invite(self, person: Person) -> None:
        paths = [path for path in self.teams(person) if self.roles[person.id, path] == "admin"]
        others = [each for each in self.people if each is not person]
        guest = self.random.choice(others)
        path = self.random.choice(paths)
        if (guest.id, path) not in self.roles:
            self.let_in(person, guest, path, self.random.choice(ROLES))

    def let_in(self, host: Person, guest: Person, path: str, role: str) -> None:
        code = host.does("manage_scope", action="invite", scope=path, role=role)["code"]
        guest.does("manage_scope", action="accept", code=code)
        self.roles[guest.id, path] = role

    def change_role(self, person: Person) -> None:
        other = self.random.choice(self.people)
        for path in self.teams(person):
            owned = path.split(".")[1] == other.id
            if (
                self.roles[person.id, path] == "admin"
                and (other.id, path) in self.roles
                and not owned
            ):
                role = self.random.choice(ROLES)
                person.does(
                    "manage_scope", action="set_role", scope=path, person=other.id, role=role
                )
                self.roles[other.id, path] = role
                return

    def leave(self, person: Person) -> None:
        for path in self.teams(person):
            if path.split(".")[1] != person.id:
                person.does("manage_scope", action="leave", scope=path)
                del self.roles[person.id, path]
                return

    def index(self, person: Person) -> None:
        self.indexed([each.id for each in self.memories])

    def indexed(self, ids: list[str]) -> None:
        metas = index_memories(self.at.table, self.at.index, ids)
        if not self.at.late_views:  # while views are behind, markers stay
            settle_markers(self.at.table, metas)

    def changes(self, person: Person, memory: Memory, tool: str, **arguments: Any) -> bool:
        answer = self.checked(person, tool, memory_id=memory.id, **arguments)
        may = self.sees(person, memory) and self.writes(person, memory.home)
        assert (answer.status == 200) == may, (tool, answer.text)
        return may

    # ------------------------------------------------------------ what everybody must find

    def checked(self, person: Person, tool: str, /, **arguments: Any) -> Answer:
        """An answer in which nothing stands that is foreign and that was not sent."""
        sent = set(FOUND.findall(str(arguments)))
        may_see = self.allowed(person) | sent
        present = {name: value for name, value in arguments.items() if value is not None}
        answer = person.call(tool, **present)
        new: set[str] = {answer.json.get("id", "")} if tool == "remember" else set()
        self.nothing_foreign(answer, may_see | new, tool)
        if tool == "remember" and answer.status == 200 and not arguments.get("entities"):
            known = self.named.get(answer.json["scope"], set())
            assert set(answer.json["anchors"]) <= known
        return answer

    def nothing_foreign(self, answer: Answer, may_see: set[str], what: str) -> None:
        foreign = set(FOUND.findall(answer.text)) - may_see
        assert not foreign, f"{what} shows {sorted(map(str, foreign))}: {answer.text}"

    def ask_everything(self) -> None:
        for person in self.people:
            self.ask_lists(person)
            self.ask_by_id(person)
            self.ask_by_query(person)
            self.ask_about_strangers(person)

    def expected(self, person: Person, scopes: set[str] | None = None) -> list[str]:
        live = (each for each in self.memories if each.live and self.sees(person, each, scopes))
        return sorted((each.id for each in live), reverse=True)

    def listed(self, person: Person, **arguments: Any) -> list[str]:
        ids: list[str] = []
        cursor = None
        while True:
            page = self.checked(person, "list_memories", limit=3, cursor=cursor, **arguments).json
            ids += [each["id"] for each in page["memories"]]
            cursor = page.get("cursor")
            if cursor is None:
                return ids

    def ask_lists(self, person: Person) -> None:
        everything = self.listed(person, scopes=["*"])
        assert everything == self.expected(person)
        for path in self.ordered(person):
            here = self.expected(person, {path})
            assert self.listed(person, scopes=[path]) == here
            described = self.checked(person, "describe_scope", scope=path).json["scopes"][0]
            if not self.at.late_views:
                assert sum(map(int, described["counts"].values())) == len(here)
            members = {each["person"]: each["role"] for each in described["members"]}
            assert members == {who: role for (who, at), role in self.roles.items() if at == path}
        self.checked(person, "describe_scope")
        for memory in self.memories:
            one = self.listed(person, scopes=["*"], entity=memory.entity)
            assert one == [each for each in self.expected(person) if each == memory.id]

    def ask_by_id(self, person: Person) -> None:
        ids = [each.id for each in self.memories][-20:]
        seen = {each.id for each in self.memories if self.sees(person, each)}
        whole = self.checked(person, "recall", ids=[*ids, NOBODY][-20:]).json
        assert {each["id"] for each in whole["memories"]} == seen & set(ids[-19:])
        nothing = person.reads(f"zm://memory/{NOBODY}")
        for memory in self.random.sample(self.memories, min(6, len(self.memories))):
            sent = {memory.id, *self.allowed(person)}
            answer = person.reads(f"zm://memory/{memory.id}")
            self.nothing_foreign(answer, sent, "the resource")
            if memory.id not in seen:
                assert answer.text.replace(memory.id, NOBODY) == nothing.text
            history = self.checked(person, "memory_history", memory_id=memory.id)
            assert (history.status == 200) == (memory.id in seen)

    def ask_by_query(self, person: Person) -> None:
        for topic in TOPICS[:2]:
            query = f"when does the {topic} of the web service run"
            found = self.checked(person, "recall", query=query, k=50, scopes=["*"], explain=True)
            hits = [each["id"] for each in found.json["hits"]]
            assert sorted(hits, reverse=True) == self.expected(person)
        path = self.random.choice(self.ordered(person))
        found = self.checked(person, "recall", query="the web service", k=50, scopes=[path])
        hits = [each["id"] for each in found.json["hits"]]
        assert sorted(hits, reverse=True) == self.expected(person, {path})
        self.checked(person, "recall", query="the web service", as_of="2027-01-15T08:01:00Z")
        self.checked(person, "recall", query="web", kinds=["fact"])
        self.checked(person, "entities")
        for memory in self.memories[-6:]:
            graph = self.checked(person, "entities", query=memory.entity, scopes=["*"]).json
            names = {node["name"] for node in graph["nodes"]}
            shown = memory.live and self.sees(person, memory)
            assert (memory.entity in names) == shown
        spoken = " and ".join(each.entity for each in self.memories[-8:])
        answer = self.checked(
            person, "remember", content=f"We spoke of {spoken}", scope=person.personal
        )
        made = answer.json
        assert made["id"] not in {each.id for each in self.memories}
        person.does("erase_memory", memory_id=made["id"], confirm=made["id"])

    def ask_about_strangers(self, person: Person) -> None:
        """What is foreign and what is not there are answered in the same words."""
        self.ask_about_foreign_memories(person)
        self.ask_about_foreign_people(person)
        others = {path for _, path in self.roles} - self.scopes(person)
        for path in self.random.sample(self.order(others), min(2, len(others))):
            for tool, arguments in SCOPED:
                self.told_the_same(person, tool, arguments, path, NOWHERE)
        page = self.checked(person, "list_memories", scopes=["*"], limit=1).json
        if "cursor" in page:
            other = self.people[(self.people.index(person) + 1) % 3]
            answer = self.checked(
                other, "list_memories", scopes=["*"], limit=1, cursor=page["cursor"]
            )
            assert answer.status == 400

    def ask_about_foreign_memories(self, person: Person) -> None:
        foreign = [each for each in self.memories if not self.sees(person, each)]
        known = self.own_memory(person)
        for memory in self.random.sample(foreign, min(2, len(foreign))):
            for tool, arguments in GESTURES:
                if tool != "erase_memory" or not self.may_erase_again(person, memory):
                    self.told_the_same(person, tool, arguments, memory.id, NOBODY)
            for end in (known, NO_OTHER):
                for one, other in (("src", "dst"), ("dst", "src")):
                    link = {"type": "supersedes", one: end}
                    self.told_the_same(
                        person, "link", lambda it, o=other, a=link: {**a, o: it}, memory.id, NOBODY
                    )

    def ask_about_foreign_people(self, person: Person) -> None:
        stranger = next(each for each in self.people if each is not person)
        for action in ("remove", "hand_over", "set_role"):
            named = {"action": action, "scope": person.personal, "role": "reader"}
            self.told_the_same(
                person,
                "manage_scope",
                lambda who, a=named: {**a, "person": who},
                stranger.id,
                NO_PERSON,
            )
        self.told_the_same(
            person,
            "manage_tokens",
            lambda it: {"action": "revoke", "public_id": it},
            stranger.token.split("_")[1],
            NO_TOKEN,
        )

    def told_the_same(
        self,
        person: Person,
        tool: str,
        arguments: About,
        foreign: str,
        nothing: str,
    ) -> None:
        """The answers about what is foreign and what never was differ in nothing but the name."""
        real = self.checked(person, tool, **arguments(foreign))
        made_up = self.checked(person, tool, **arguments(nothing))
        assert real.status == made_up.status, (tool, real.text)
        assert real.same.replace(foreign, "") == made_up.same.replace(nothing, ""), tool

    def may_erase_again(self, person: Person, memory: Memory) -> bool:
        """Who erased a memory, or could have, is told again that it is erased."""
        admin = self.roles.get((person.id, memory.home)) == "admin"
        return memory.erased and (admin or memory.erased_by == person.id)

    def own_memory(self, person: Person) -> str:
        """A live memory of the person's own."""
        return next(
            (each.id for each in self.memories if each.live and each.home == person.personal),
            NO_OTHER,
        )

    def strangers_change_nothing(self) -> None:
        """Whatever a stranger stores, an answer stays the same to the byte, scores included."""
        person, stranger = self.random.sample(self.people, 2)
        self.index(person)
        before = self.answers(person)
        secret = [
            stranger.does(
                "remember",
                content=f"{topic} {topic} of the web service: {topic} runs nightly {number}",
                scope=stranger.personal,
                entities=[topic, "web service"],
            )["id"]
            for number in range(3)
            for topic in TOPICS[:2]
        ]
        assert self.answers(person) == before
        self.indexed(secret)
        assert self.answers(person) == before

    def answers(self, person: Person) -> list[str]:
        return [
            self.checked(person, tool, **arguments).same
            for tool, arguments in (
                ("recall", {"query": "when does the backup run", "scopes": ["*"], "explain": True}),
                ("recall", {"query": "deploy of the web service", "explain": True, "k": 3}),
                ("list_memories", {"scopes": ["*"]}),
                ("entities", {"query": "deploy"}),
                ("entities", {}),
                ("describe_scope", {}),
            )
        ]


GESTURES: tuple[tuple[str, About], ...] = (
    ("forget", lambda it: {"memory_id": it, "reason": "it changed"}),
    ("revise", lambda it: {"memory_id": it, "content": "Another wording"}),
    ("restore_memory", lambda it: {"memory_id": it}),
    ("restore_memory", lambda it: {"memory_id": it, "audit_id": NO_AUDIT}),
    ("challenge", lambda it: {"memory_id": it, "reason": "it looks wrong", "evidence": it}),
    ("close_loop", lambda it: {"memory_id": it}),
    ("close_loop", lambda it: {"memory_id": it, "outcome": "It is done"}),
    ("erase_memory", lambda it: {"memory_id": it, "confirm": it}),
    ("unshare", lambda it: {"memory_id": it}),
    ("share", lambda it: {"memory_id": it, "scope": "personal"}),
    ("unshare", lambda it: {"memory_id": it, "scope": "personal"}),
    ("move_memories", lambda it: {"ids": [it], "scope": "personal"}),
    ("memory_history", lambda it: {"memory_id": it}),
    ("recall", lambda it: {"ids": [it]}),
    (
        "remember",
        lambda it: {
            "content": "Linked",
            "scope": "personal",
            "links": [{"type": "relates_to", "target": it}],
        },
    ),
)
SCOPED: tuple[tuple[str, About], ...] = (
    ("list_memories", lambda path: {"scopes": [path]}),
    ("describe_scope", lambda path: {"scope": path}),
    ("describe_scope", lambda path: {"project_hint": path}),
    ("recall", lambda path: {"query": "the web service", "scopes": [path]}),
    ("entities", lambda path: {"scopes": [path]}),
    ("export_memories", lambda path: {"scopes": [path]}),
    ("remember", lambda path: {"content": "Something new", "scope": path}),
    ("remember", lambda path: {"content": "Something new", "project_hint": path}),
    ("import_memory", lambda path: {"items": [{"path": "a.md", "text": "New"}], "scope": path}),
    ("manage_scope", lambda path: {"action": "leave", "scope": path}),
    ("manage_scope", lambda path: {"action": "rename", "scope": path, "name": "ours"}),
    ("manage_scope", lambda path: {"action": "invite", "scope": path, "role": "reader"}),
    ("move_memories", lambda path: {"ids": [NOBODY], "scope": path}),
    ("move_memories", lambda path: {"ids": [NOBODY], "project_hint": path}),
    ("share", lambda path: {"memory_id": NOBODY, "scope": path}),
    ("unshare", lambda path: {"memory_id": NOBODY, "scope": path}),
)
STEPS = (
    World.store,
    World.store,
    World.supersede,
    World.supersede,
    World.forget,
    World.restore,
    World.erase,
    World.share,
    World.share,
    World.share,
    World.unshare,
    World.move,
    World.move,
    World.link,
    World.link,
    World.invite,
    World.invite,
    World.change_role,
    World.leave,
    World.index,
)
