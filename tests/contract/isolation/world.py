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
NOWHERE = "team.p_00000000000000000000000000.ops"
FOUND = re.compile(r"mem_[0-9A-Z]{26}|(?:marker|entity)\d{5}")
TOPICS = ("deploy", "backup", "queue", "cache")


@dataclass
class Memory:
    """What the book-keeper knows of one memory."""

    id: str
    home: str
    marker: str
    entity: str
    live: bool = True
    erased: bool = False
    shared: set[str] = field(default_factory=set[str])

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
            memory.erased = answer.status == 200

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

    def checked(self, person: Person, tool: str, **arguments: Any) -> Answer:
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
        foreign = [each for each in self.memories if not self.sees(person, each)]
        for memory in self.random.sample(foreign, min(2, len(foreign))):
            for tool, arguments in GESTURES.items():
                real = self.checked(person, tool, memory_id=memory.id, **arguments)
                made_up = self.checked(person, tool, memory_id=NOBODY, **arguments)
                assert (real.status, real.same) == (made_up.status, made_up.same), tool
            real = self.checked(person, "link", src=memory.id, dst=NOBODY, type="relates_to")
            made_up = self.checked(person, "link", src=NOBODY, dst=memory.id, type="relates_to")
            assert (real.status, real.same) == (made_up.status, made_up.same)
        others = {path for _, path in self.roles} - self.scopes(person)
        for path in self.random.sample(self.order(others), min(2, len(others))):
            for tool, arguments in SCOPED.items():
                real = self.checked(person, tool, **arguments(path))
                made_up = self.checked(person, tool, **arguments(NOWHERE))
                assert real.status == made_up.status
                assert real.same.replace(path, "") == made_up.same.replace(NOWHERE, ""), tool
        page = self.checked(person, "list_memories", scopes=["*"], limit=1).json
        if "cursor" in page:
            other = self.people[(self.people.index(person) + 1) % 3]
            answer = self.checked(
                other, "list_memories", scopes=["*"], limit=1, cursor=page["cursor"]
            )
            assert answer.status == 400

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


GESTURES: dict[str, dict[str, Any]] = {
    "forget": {"reason": "it changed"},
    "revise": {"content": "Another wording"},
    "restore_memory": {},
    "challenge": {"reason": "it looks wrong"},
    "unshare": {},
    "memory_history": {},
}
SCOPED: dict[str, Callable[[str], dict[str, Any]]] = {
    "list_memories": lambda path: {"scopes": [path]},
    "describe_scope": lambda path: {"scope": path},
    "recall": lambda path: {"query": "the web service", "scopes": [path]},
    "entities": lambda path: {"scopes": [path]},
    "remember": lambda path: {"content": "Something new", "scope": path},
    "manage_scope": lambda path: {"action": "leave", "scope": path},
    "move_memories": lambda path: {"ids": [NOBODY], "scope": path},
    "share": lambda path: {"memory_id": NOBODY, "scope": path},
}
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
