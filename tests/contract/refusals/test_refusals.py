"""Every refusal that the source can raise, met at the edge.

What each must be: the code that goes with its status, the words that the source has for it, advice
on what to do, and nothing of what was sent.
"""

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.contract.isolation.edge import HANDLERS, PROTOCOL, Answer, Edge, Person, arrives, edge
from tests.contract.isolation.edge import send as send_json
from tests.contract.memory.damage import damage_meta
from tests.contract.refusals.source import FILLED_IN, Wording, wordings
from zero_memory.admin import commands
from zero_memory.client.failure import Failure
from zero_memory.contracts.errors import ErrorCode
from zero_memory.memory.model import AuditRecord
from zero_memory.portability.departure import Departure
from zero_memory.ports.access_tokens import Claims
from zero_memory.ports.artifacts import ArtifactsUnavailable
from zero_memory.ports.table import Action, ConditionFailed, Put, TableUnavailable
from zero_memory.runtime.bootstrap import Composition
from zero_memory.runtime.entry import oauth_handler
from zero_memory.runtime.settings import Settings
from zero_memory.scopes import founding, identity
from zero_memory.scopes.identity import make_token
from zero_memory.scopes.limits import UNASKED
from zero_memory.scopes.logins import link_login
from zero_memory.scopes.model import Grant
from zero_memory.scopes.model import Person as Record
from zero_memory.tools import delete_account, remember

CANARY = "zebra"
"""Stands in every text that is sent; no refusal may hold it."""

NO_MEMORY = "mem_00000000000000000000000000"
NO_PERSON = "p_00000000000000000000000000"

UNMET = {
    "A provisional capture can't supersede; write it with remember instead.": "no tool makes one",
    "A token needs at least one grant of: {}.": "the arguments' own shape is refused before",
    "A token's expiry lies in the future; pass a later one.": "counted in days from now",
    "A token's label has at most {} characters.": "the arguments' own shape is refused before",
    "The dispute was settled meanwhile; read the memory again.": "a race of a moment",
}
"""Wordings that no request can bring about now, and why."""

ADVICE = re.compile(
    r"\b(pass|send|use|ask|read|retry|repeat|try|choose|check|list|lists|write|leave|see|make|take|"
    r"keep|import|export|encode|name|names|show|shows|point|split|flatten|store|undo|restore|link|"
    r"remember|unshare|unlink|sign in|forget|call|quote|compare|hand|open|allow|move|give|save|"
    r"needs|must|at most|either|there (?:is|are) no such field|should|valid|describe_scope)\b",
    re.IGNORECASE,
)


@dataclass
class Stage:
    """Two people, a team of Ada's that Ben reads, and what tests may bend."""

    at: Edge
    patch: pytest.MonkeyPatch
    ada: Person
    ben: Person
    team: str

    def knows(self, content: str, scope: str = "personal", **more: Any) -> str:
        return self.ada.does("remember", content=f"{content} {CANARY}", scope=scope, **more)["id"]

    def teams(self, person: Person, number: int) -> list[str]:
        make = {"action": "make_team", "name": f"t{person.id[-4:]}"}
        return [person.does("manage_scope", **make)["scope"] for _ in range(number)]

    def lets_in(self, role: str) -> None:
        code = self.ada.does("manage_scope", action="invite", scope=self.team, role=role)["code"]
        self.ben.does("manage_scope", action="accept", code=code)

    def exported(self, memory_id: str) -> dict[str, Any]:
        """A memory's line of an export."""
        lines = self.ada.does("export_memories", format="jsonl")["files"][0]["text"].splitlines()
        return next(each for each in map(json.loads, lines) if each["id"] == memory_id)

    def imports(self, text: str) -> Answer:
        items = [{"path": "a.md", "text": text}]
        return self.ada.call("import_memory", items=items, scope="personal")

    def record(self, line: dict[str, Any], by: Person | None = None) -> Answer:
        items = [{"path": "a.jsonl", "text": json.dumps(line)}]
        return (by or self.ada).call("import_memory", items=items)

    def uploads(self, content: bytes) -> Answer:
        slot: dict[str, str] = self.ada.does("import_memory", open_upload=True)["slot"]
        Path(unquote(urlsplit(slot["url"]).path)).write_bytes(content)
        items = [{"path": "a.md", "upload": slot["upload"]}]
        return self.ada.call("import_memory", items=items, scope="personal")

    def token(self, *grants: Grant) -> Person:
        """Ada with a token of these grants."""
        person = self.at.table.get(Record, self.ada.id)
        assert person is not None
        made = make_token(self.at.table, self.at.clock, person, label="less", grants=grants)
        return Person(self.ada.id, made)

    def raw(self, body: str, *, kind: str = "application/json", encoded: bool = False) -> Answer:
        """What a body gets that no JSON library would write."""
        event = {
            "rawPath": "/tools/recall",
            "headers": {
                "host": "127.0.0.1",
                "authorization": f"Bearer {self.ada.token}",
                "content-type": kind,
            },
            "requestContext": {"http": {"method": "POST"}, "requestId": "r"},
            "body": body,
            "isBase64Encoded": encoded,
        }
        answer = HANDLERS["recall"](event, None)
        return Answer(answer["statusCode"], answer["headers"], answer["body"])

    def asks(self, headers: Mapping[str, str]) -> Answer:
        body = {"query": CANARY}
        return send_json(HANDLERS["recall"], "/tools/recall", self.ada.token, body, headers)

    def operates(self, *words: str) -> Answer:
        """What `zm admin` says, as an answer."""
        with pytest.raises(Failure) as failed:
            commands.main(["--home", str(self.at.settings.data_dir), *words])
        return Answer(0, {}, json.dumps({"error": {"message": str(failed.value)}}))

    def raced(self) -> None:
        """Every change of a memory finds that another was faster, from here on."""
        transact = self.at.table.transact

        def beaten(actions: Sequence[Action]) -> None:
            if any(
                isinstance(each, Put) and isinstance(each.record, AuditRecord) for each in actions
            ):
                raise ConditionFailed((0,))
            transact(actions)

        self.patch.setattr(self.at.table, "transact", beaten)


Case = Callable[[Stage], Answer]
CASES: list[Case] = []


def case(scene: Case) -> Case:
    CASES.append(scene)
    return scene


def told(answer: Answer) -> Generator[tuple[str | None, str]]:
    """Code and message of each refusal in an answer."""
    body = answer.json
    if "error" in body:
        error = body["error"]
        error = error.get("data", {}).get("error", error)
        yield error.get("code"), error["message"]
        return
    refused = [each for each in (*body.get("failed", ()), *body.get("items", ())) if "code" in each]
    assert refused, answer.text
    for each in refused:
        yield each["code"], each["message"]


def of(message: str, code: str | None, known: set[Wording]) -> Wording:
    """The wording that a message has; the one of the most words when several fit."""
    fitting = [each for each in known if each.says(code or each.code, message)]
    assert fitting, f"{message} is not in the source"
    return max(fitting, key=lambda each: len(each.text.replace(FILLED_IN, "")))


@pytest.mark.timeout(300)
def test_every_refusal_can_be_met_and_has_its_code_advice_and_nothing_of_what_was_sent() -> None:
    known, met = wordings(), set[Wording]()
    for scene in CASES:
        with edge("sqlite, local index") as at, pytest.MonkeyPatch.context() as patch:
            ada, ben = arrives(at), arrives(at)
            team = ada.does("manage_scope", action="make_team", name="ops")["scope"]
            answer = scene(Stage(at, patch, ada, ben, team))
        assert CANARY not in answer.text.lower(), answer.text
        for code, message in told(answer):
            wording = of(message, code, known)
            if "error" in answer.json and answer.status:
                assert answer.status == wording.code.http_status or "jsonrpc" in answer.json
            assert ADVICE.search(message), f"says not what to do: {message}"
            met.add(wording)
    unmet = {each.text for each in known - met}
    assert unmet == UNMET.keys()


@pytest.mark.parametrize(
    ("prefix", "times"),
    [
        ("scope_target_required:", 1),
        ("project_hint_unresolvable:", 2),
        ("secret_content_rejected:", 1),
    ],
)
def test_the_prefixes_of_the_contract_begin_the_messages_that_they_are_of(
    prefix: str, times: int
) -> None:
    having = [each for each in wordings() if prefix in each.text]
    assert len(having) == times
    assert all(each.text.startswith(f"{prefix} ") for each in having)
    assert all(each.code is ErrorCode.VALIDATION_FAILED for each in having)


# ------------------------------------------------------------------ who asks, and how


@case
def no_token(of: Stage) -> Answer:
    return of.asks({"authorization": ""})


@case
def another_token(of: Stage) -> Answer:
    return replace(of.ada, token=CANARY).call("describe_scope")


@case
def account_gone(of: Stage) -> Answer:
    confirm = f"user.{of.ben.id}"
    public_id = of.ben.token.split("_")[1]
    of.ben.does("describe_scope")
    remembered = identity.PROCESS_MEMORY.get(public_id, of.at.clock.now())
    assert remembered is not None
    of.ben.does("delete_account", confirm=confirm)
    identity.PROCESS_MEMORY.put(public_id, remembered)  # as in another process
    return of.ben.call("describe_scope")


@case
def nobody_signs_in(of: Stage) -> Answer:
    return send_json(oauth_handler(), "/oauth/register", "", {"client_name": CANARY})


def signs_in(of: Stage, claims: Claims | None) -> Answer:
    """What a token gets that says this."""

    class Tokens:
        def read(self, token: str) -> Claims | None:
            del token
            return claims

    of.at.settings = Settings(oauth_issuer=f"https://{CANARY}.example", log_level="CRITICAL")
    of.patch.setattr(Composition, "access_tokens", property(lambda _: Tokens()))
    return replace(of.ada, token=CANARY).call("describe_scope")


@case
def signed_in_elsewhere(of: Stage) -> Answer:
    return signs_in(of, None)


@case
def signed_in_as_nobody(of: Stage) -> Answer:
    scopes = ("zero-memory/memory:read",)
    return signs_in(of, Claims("issuer", CANARY, scopes, (), of.at.clock.now() + 1))


@case
def link_nobody(of: Stage) -> Answer:
    return of.operates("link", NO_PERSON, "https://issuer.example", CANARY)


@case
def link_no_issuer(of: Stage) -> Answer:
    return of.operates("link", of.ada.id, CANARY, "subject")


@case
def link_no_subject(of: Stage) -> Answer:
    return of.operates("link", of.ada.id, "https://issuer.example", "")


@case
def find_nobody(of: Stage) -> Answer:
    return of.operates("find", "https://issuer.example", CANARY)


@case
def link_somebody_else(of: Stage) -> Answer:
    link_login(of.at.table, of.ada.id, "https://issuer.example", CANARY)
    return of.operates("link", of.ben.id, "https://issuer.example", CANARY)


@case
def unlink_nothing(of: Stage) -> Answer:
    return of.operates("unlink", of.ada.id, "https://issuer.example", CANARY)


@case
def other_host(of: Stage) -> Answer:
    return of.asks({"host": f"{CANARY}.example"})


@case
def other_origin(of: Stage) -> Answer:
    return of.asks({"origin": f"https://{CANARY}.example"})


@case
def long_machine(of: Stage) -> Answer:
    return of.asks({"zm-machine": CANARY * 50})


@case
def lesser_token(of: Stage) -> Answer:
    return of.token("memory:read").call("remember", content=CANARY)


@case
def too_many_calls(of: Stage) -> Answer:
    of.at.settings = Settings(calls_a_minute=1, log_level="CRITICAL")
    return [of.ben.call("describe_scope") for _ in range(UNASKED + 2)][-1]


@case
def unknown_tool(of: Stage) -> Answer:
    return send_json(PROTOCOL, f"/tools/{CANARY}", of.ada.token, {})


@case
def unknown_resource(of: Stage) -> Answer:
    return of.ada.reads("zm://nothing")


@case
def unknown_memory_resource(of: Stage) -> Answer:
    return of.ada.reads(f"zm://memory/{NO_MEMORY}")


@case
def other_type(of: Stage) -> Answer:
    return of.raw("{}", kind="text/plain")


@case
def long_body(of: Stage) -> Answer:
    return of.raw(json.dumps({"query": CANARY * 300_000}))


@case
def undecodable(of: Stage) -> Answer:
    return of.raw("!", encoded=True)


@case
def no_utf8(of: Stage) -> Answer:
    return of.raw("/w==", encoded=True)


@case
def no_json(of: Stage) -> Answer:
    return of.raw("{" + CANARY)


@case
def no_object(of: Stage) -> Answer:
    return of.raw(f'["{CANARY}"]')


@case
def deep(of: Stage) -> Answer:
    return of.raw("[" * 80 + "]" * 80)


@case
def twice(of: Stage) -> Answer:
    return of.raw(f'{{"query": "{CANARY}", "query": "{CANARY}"}}')


@case
def nul(of: Stage) -> Answer:
    return of.ada.call("recall", query=f"{CANARY}\0")


@case
def surrogate(of: Stage) -> Answer:
    return of.ada.call("recall", query=f"{CANARY}\ud800")


@case
def misshapen(of: Stage) -> Answer:
    return of.ada.call("recall", query=CANARY, k=CANARY)


@case
def internal(of: Stage) -> Answer:
    def fails(*_: object, **__: object) -> Any:
        raise RuntimeError(CANARY)

    of.patch.setattr(of.at.table, "query", fails)
    return of.ada.call("describe_scope")


@case
def table_away(of: Stage) -> Answer:
    def fails(*_: object, **__: object) -> Any:
        raise TableUnavailable(CANARY)

    of.patch.setattr(of.at.table, "query", fails)
    return of.ada.call("describe_scope")


# ------------------------------------------------------------------ writing and reading


@case
def no_target(of: Stage) -> Answer:
    return of.ada.call("remember", content=CANARY)


@case
def hint_of_nothing(of: Stage) -> Answer:
    return of.ada.call("remember", content=CANARY, project_hint="/")


@case
def hint_of_several(of: Stage) -> Answer:
    for remote in ("https://a.example/x/web", "https://b.example/x/web"):
        of.ada.does("remember", content=f"{CANARY} {remote}", project_hint=remote)
    return of.ada.call("remember", content=CANARY, project_hint="web")


@case
def secret(of: Stage) -> Answer:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    return of.ada.call("remember", content=f"{CANARY} {key}", scope="personal")


@case
def foreign_scope(of: Stage) -> Answer:
    return of.ben.call("recall", query=CANARY, scopes=[of.team])


@case
def reader_writes(of: Stage) -> Answer:
    of.lets_in("reader")
    return of.ben.call("remember", content=CANARY, scope=of.team)


@case
def long_loop(of: Stage) -> Answer:
    return of.ada.call("remember", content=CANARY * 1_000, kind="task", scope="personal")


@case
def long_source(of: Stage) -> Answer:
    source = {"url": CANARY * 1_000}
    return of.ada.call("remember", content=CANARY, source=source, scope="personal")


@case
def too_many_superseded(of: Stage) -> Answer:
    targets = [f"mem_{number:026}" for number in range(11)]
    links = [{"type": "supersedes", "target": targets.pop()}]
    how = {"scope": "personal", "supersedes": targets, "links": links}
    return of.ada.call("remember", content=CANARY, **how)


@case
def missing_target(of: Stage) -> Answer:
    links = [{"type": "relates_to", "target": NO_MEMORY}]
    return of.ada.call("remember", content=CANARY, links=links, scope="personal")


@case
def supersede_what_one_reads(of: Stage) -> Answer:
    of.lets_in("reader")
    memory = of.knows("Ours", of.team)
    return of.ben.call("remember", content=CANARY, scope="personal", supersedes=[memory])


@case
def key_used(of: Stage) -> Answer:
    of.knows("First", idempotency_key="k")
    return of.ada.call("remember", content=CANARY, scope="personal", idempotency_key="k")


@case
def repeat_of_what_went(of: Stage) -> Answer:
    of.lets_in("writer")
    call = {"content": CANARY, "scope": of.team, "idempotency_key": "k"}
    memory = of.ben.does("remember", **call)["id"]
    of.ada.does("move_memories", ids=[memory], scope="personal")
    return of.ben.call("remember", **call)


@case
def write_raced(of: Stage) -> Answer:
    of.raced()
    return of.ada.call("remember", content=CANARY, scope="personal")


@case
def neither_query_nor_ids(of: Stage) -> Answer:
    return of.ada.call("recall")


@case
def no_time(of: Stage) -> Answer:
    return of.ada.call("recall", query="x", as_of=CANARY)


@case
def other_cursor(of: Stage) -> Answer:
    return of.ada.call("list_memories", cursor=CANARY)


@case
def members_of_no_scope(of: Stage) -> Answer:
    return of.ada.call("describe_scope", cursor=CANARY)


# ------------------------------------------------------------------ a memory's life


@case
def no_memory(of: Stage) -> Answer:
    return of.ada.call("forget", memory_id=NO_MEMORY, reason=CANARY)


@case
def change_what_one_reads(of: Stage) -> Answer:
    of.lets_in("reader")
    return of.ben.call("forget", memory_id=of.knows("Ours", of.team), reason=CANARY)


@case
def change_raced(of: Stage) -> Answer:
    memory = of.knows("Mine")
    of.raced()
    return of.ada.call("forget", memory_id=memory, reason=CANARY)


@case
def forget_a_loop(of: Stage) -> Answer:
    return of.ada.call("forget", memory_id=of.knows("Do it", kind="task"), reason=CANARY)


@case
def close_a_fact(of: Stage) -> Answer:
    return of.ada.call("close_loop", memory_id=of.knows("A fact"))


@case
def close_again_with_an_outcome(of: Stage) -> Answer:
    loop = of.knows("Do it", kind="task")
    of.ada.does("close_loop", memory_id=loop)
    return of.ada.call("close_loop", memory_id=loop, outcome=CANARY)


@case
def dispute_what_ended(of: Stage) -> Answer:
    memory = of.knows("Mine")
    of.ada.does("forget", memory_id=memory, reason="x")
    return of.ada.call("challenge", memory_id=memory, reason=CANARY)


@case
def revise_what_ended(of: Stage) -> Answer:
    memory = of.knows("Mine")
    of.ada.does("forget", memory_id=memory, reason="x")
    return of.ada.call("revise", memory_id=memory, content=CANARY)


@case
def revise_what_is_too_much(of: Stage) -> Answer:
    memory = of.knows("Mine", entities=[f"e{number}" for number in range(32)])
    for number in range(16):
        other = of.knows(f"Other {number}")
        of.ada.does("link", src=memory, dst=other, type="relates_to")
    for team in of.teams(of.ada, 20):
        of.ada.does("share", memory_id=memory, scope=team)
    return of.ada.call("revise", memory_id=memory, content=CANARY)


@case
def no_audit(of: Stage) -> Answer:
    audit = "aud_00000000000000000000000000"
    return of.ada.call("restore_memory", memory_id=of.knows("Mine"), audit_id=audit)


def audits(of: Stage, memory: str) -> list[dict[str, Any]]:
    return of.ada.does("memory_history", memory_id=memory)["audit"]


@case
def undo_a_birth(of: Stage) -> Answer:
    memory = of.knows("Mine")
    birth = audits(of, memory)[-1]["audit_id"]
    return of.ada.call("restore_memory", memory_id=memory, audit_id=birth)


@case
def undo_what_was_changed_since(of: Stage) -> Answer:
    memory = of.knows("Mine")
    first = of.ada.does("forget", memory_id=memory, reason="x")["audit_id"]
    of.ada.does("restore_memory", memory_id=memory)
    return of.ada.call("restore_memory", memory_id=memory, audit_id=first)


@case
def restored_too_often(of: Stage) -> Answer:
    memory = of.knows("Mine")
    for _ in range(49):
        of.ada.does("forget", memory_id=memory, reason="x")
        of.ada.does("restore_memory", memory_id=memory)
    of.ada.does("forget", memory_id=memory, reason="x")
    return of.ada.call("restore_memory", memory_id=memory)


@case
def restore_over_another(of: Stage) -> Answer:
    memory = of.knows("Mine")
    of.ada.does("forget", memory_id=memory, reason="x")
    of.knows("Mine")
    return of.ada.call("restore_memory", memory_id=memory)


@case
def succeed_oneself(of: Stage) -> Answer:
    one, other = of.knows("One"), of.knows("Other")
    of.ada.does("link", src=other, dst=one, type="supersedes")
    revived = of.ada.does("restore_memory", memory_id=one)["audit_id"]
    of.ada.does("link", src=one, dst=other, type="supersedes")
    return of.ada.call("restore_memory", memory_id=one, audit_id=revived)


@case
def undo_a_link_s_end(of: Stage) -> Answer:
    one, other = of.knows("One"), of.knows("Other")
    linked = of.ada.does("link", src=one, dst=other, type="relates_to")["audit_id"]
    unlinked = of.ada.does("restore_memory", memory_id=one, audit_id=linked)["audit_id"]
    of.ada.does("erase_memory", memory_id=other, confirm=other)
    return of.ada.call("restore_memory", memory_id=one, audit_id=unlinked)


@case
def undo_a_move_from_elsewhere(of: Stage) -> Answer:
    of.lets_in("writer")
    memory = of.knows("Mine")
    moved = of.ada.does("move_memories", ids=[memory], scope=of.team)["moved"][0]["audit_id"]
    return of.ben.call("restore_memory", memory_id=memory, audit_id=moved)


@case
def undo_an_unsharing_elsewhere(of: Stage) -> Answer:
    of.lets_in("writer")
    memory = of.knows("Ours", of.team)
    (other,) = of.teams(of.ada, 1)
    of.ada.does("share", memory_id=memory, scope=other)
    ended = of.ada.does("unshare", memory_id=memory, scope=other)["audit_id"]
    return of.ben.call("restore_memory", memory_id=memory, audit_id=ended)


@case
def link_to_itself(of: Stage) -> Answer:
    memory = of.knows("Mine")
    return of.ada.call("link", src=memory, dst=memory, type="relates_to")


@case
def link_to_many(of: Stage) -> Answer:
    memory, *others = (of.knows(f"Number {number}") for number in range(18))
    return [of.ada.call("link", src=memory, dst=other, type="relates_to") for other in others][-1]


@case
def supersede_by_what_ended(of: Stage) -> Answer:
    one, other = of.knows("One"), of.knows("Other")
    of.ada.does("forget", memory_id=one, reason="x")
    return of.ada.call("link", src=one, dst=other, type="supersedes")


@case
def erase_without_confirming(of: Stage) -> Answer:
    return of.ada.call("erase_memory", memory_id=of.knows("Mine"), confirm=NO_MEMORY)


@case
def erase_as_a_writer(of: Stage) -> Answer:
    of.lets_in("writer")
    memory = of.knows("Ours", of.team)
    return of.ben.call("erase_memory", memory_id=memory, confirm=memory)


@case
def move_nowhere(of: Stage) -> Answer:
    return of.ada.call("move_memories", ids=[NO_MEMORY])


@case
def move_nothing(of: Stage) -> Answer:
    return of.ada.call("move_memories", ids=[NO_MEMORY], scope="personal")


@case
def share_what_ended(of: Stage) -> Answer:
    memory = of.knows("Mine")
    of.ada.does("forget", memory_id=memory, reason="x")
    return of.ada.call("share", memory_id=memory, scope=of.team)


@case
def share_to_oneself(of: Stage) -> Answer:
    return of.ada.call("share", memory_id=of.knows("Mine"), scope="personal")


@case
def share_to_many(of: Stage) -> Answer:
    memory = of.knows("Mine")
    teams = of.teams(of.ada, 21)
    return [of.ada.call("share", memory_id=memory, scope=team) for team in teams][-1]


# ------------------------------------------------------------------ copies


@case
def files_away(of: Stage) -> Answer:
    def fails() -> None:
        raise ArtifactsUnavailable

    of.patch.setattr(of.at.artifacts, "clear", fails)
    memory = of.knows("Mine")
    return of.ada.call("erase_memory", memory_id=memory, confirm=memory)


@case
def file_in_use(of: Stage) -> Answer:
    def fails() -> None:
        raise TableUnavailable

    of.patch.setattr(of.at.table, "scrub", fails)
    memory = of.knows("Mine")
    return of.ada.call("erase_memory", memory_id=memory, confirm=memory)


@case
def account_unconfirmed(of: Stage) -> Answer:
    return of.ada.call("delete_account", confirm=CANARY)


@case
def account_with_others(of: Stage) -> Answer:
    of.lets_in("reader")
    return of.ada.call("delete_account", confirm=of.ada.personal)


@case
def account_written_to(of: Stage) -> Answer:
    of.knows("Mine")

    def done(*_: object, **__: object) -> Departure:
        return Departure((), done=True)

    of.patch.setattr(delete_account, "depart", done)
    return of.ada.call("delete_account", confirm=of.ada.personal)


@case
def superseded_by_what_is_out_of_sight(of: Stage) -> Answer:
    of.lets_in("writer")
    mine = of.ben.does("remember", content="zebra one", scope="personal")["id"]
    of.ben.does("remember", content="zebra two", scope=of.team, supersedes=[mine])
    audit = of.ben.does("restore_memory", memory_id=mine)["audit_id"]
    of.ada.does("manage_scope", action="remove", scope=of.team, person=of.ben.id)
    return of.ben.call("restore_memory", memory_id=mine, audit_id=audit)


@case
def removed_while_writing(of: Stage) -> Answer:
    of.lets_in("writer")
    read = remember.read_passage

    def slowly(*text: Any) -> Any:
        of.ada.does("manage_scope", action="remove", scope=of.team, person=of.ben.id)
        return read(*text)

    of.patch.setattr(remember, "read_passage", slowly)
    return of.ben.call("remember", content="zebra", scope=of.team)


@case
def import_nothing(of: Stage) -> Answer:
    return of.ada.call("import_memory")


@case
def import_without_text(of: Stage) -> Answer:
    return of.ada.call("import_memory", items=[{"path": "a.md"}], scope="personal")


@case
def upload_of_others(of: Stage) -> Answer:
    upload = f"{of.ben.id}/{'0' * 26}"
    items = [{"path": "a.md", "upload": upload}]
    return of.ada.call("import_memory", items=items, scope="personal")


@case
def upload_with_nul(of: Stage) -> Answer:
    return of.uploads(b"zebra\0")


@case
def upload_of_bytes(of: Stage) -> Answer:
    return of.uploads(b"\xff\xfe")


@case
def upload_too_long(of: Stage) -> Answer:
    of.patch.setattr("zero_memory.adapters.files.MAX_BYTES", 3)
    return of.uploads(b"zebra")


@case
def many_sections(of: Stage) -> Answer:
    of.patch.setattr("zero_memory.portability.importing._SECTIONS", 0)
    return of.imports("# A\n\nzebra one\n\n# B\n\nzebra two\n")


@case
def note_over_a_damaged_memory(of: Stage) -> Answer:
    imported = of.imports("zebra\n").json
    damage_meta(of.at.table, imported["items"][0]["ids"][0])
    return of.imports("zebra\n")


@case
def long_frontmatter(of: Stage) -> Answer:
    of.patch.setattr("zero_memory.portability.frontmatter.MAX_FRONTMATTER", 10)
    return of.imports("---\na: zebra zebra zebra\n---\ntext\n")


@case
def frontmatter_with_aliases(of: Stage) -> Answer:
    return of.imports("---\na: &x zebra\nb: *x\n---\ntext\n")


@case
def other_frontmatter(of: Stage) -> Answer:
    return of.imports("---\nzero_memory: 1\nid: zebra\n---\ntext\n")


@case
def no_record(of: Stage) -> Answer:
    return of.record({"content": CANARY})


@case
def record_without_admin(of: Stage) -> Answer:
    line = of.exported(of.knows("Mine"))
    return of.record(line, of.token("memory:read", "memory:write"))


@case
def record_into_what_one_writes(of: Stage) -> Answer:
    of.lets_in("writer")
    line = of.exported(of.knows("Ours", of.team))
    items = [{"path": "a.jsonl", "text": json.dumps(line)}]
    return of.ben.call("import_memory", items=items, scope=of.team)


@case
def record_into_nothing(of: Stage) -> Answer:
    return of.record(of.exported(of.knows("Mine")) | {"scope": "elsewhere"})


@case
def blank_record(of: Stage) -> Answer:
    return of.record(of.exported(of.knows("Mine")) | {"content": " "})


@case
def record_of_no_unicode(of: Stage) -> Answer:
    return of.record(of.exported(of.knows("Mine")) | {"content": f"{CANARY}\0"})


@contextmanager
def elsewhere(of: Stage) -> Generator[Stage]:
    """A home that has nothing of this one."""
    with edge("sqlite, local index") as at:
        yield Stage(at, of.patch, arrives(at), arrives(at), "")


@case
def record_at_odds_with_itself(of: Stage) -> Answer:
    line = of.exported(of.knows("Mine"))
    with elsewhere(of) as other:
        return other.record(line | {"state": "superseded"})


@case
def record_longer_than_is_stored(of: Stage) -> Answer:
    line = of.exported(of.knows("Mine"))
    with elsewhere(of) as other:
        of.patch.setattr("zero_memory.adapters.limits.MAX_ITEM_BYTES", 10)
        return other.record(line)


@case
def record_of_another_s_memory(of: Stage) -> Answer:
    return of.record(of.exported(of.knows("Mine")), of.ben)


@case
def record_of_other_words(of: Stage) -> Answer:
    return of.record(of.exported(of.knows("Mine")) | {"content": CANARY})


@case
def record_of_another_past(of: Stage) -> Answer:
    memory = of.knows("Mine")
    line = of.exported(memory)
    line["past"]["changes"][-1]["id"] = "aud_00000000000000000000000000"
    return of.record(line)


@case
def record_of_what_was_erased(of: Stage) -> Answer:
    memory = of.knows("Mine")
    line = of.exported(memory)
    of.ada.does("erase_memory", memory_id=memory, confirm=memory)
    return of.record(line)


@case
def record_raced(of: Stage) -> Answer:
    line = of.exported(of.knows("Mine"))
    with elsewhere(of) as other:
        other.raced()
        return other.record(line)


# ------------------------------------------------------------------ people


@case
def action_without_its_argument(of: Stage) -> Answer:
    return of.ada.call("manage_scope", action="make_team")


@case
def name_of_nothing(of: Stage) -> Answer:
    return of.ada.call("manage_scope", action="make_team", name="!")


@case
def name_taken(of: Stage) -> Answer:
    (other,) = of.teams(of.ada, 1)
    return of.ada.call("manage_scope", action="rename", scope=other, name="ops")


@case
def admin_by_a_reader(of: Stage) -> Answer:
    of.lets_in("reader")
    return of.ben.call("manage_scope", action="rename", scope=of.team, name=CANARY)


@case
def owner_leaves(of: Stage) -> Answer:
    return of.ada.call("manage_scope", action="leave", scope=of.team)


@case
def hand_over_what_is_another_s(of: Stage) -> Answer:
    of.lets_in("admin")
    by = {"action": "hand_over", "scope": of.team, "person": of.ben.id}
    return of.ben.call("manage_scope", **by)


@case
def share_one_s_own(of: Stage) -> Answer:
    by = {"action": "invite", "scope": "personal", "role": "reader"}
    return of.ada.call("manage_scope", **by)


@case
def no_member(of: Stage) -> Answer:
    by = {"action": "remove", "scope": of.team, "person": of.ben.id}
    return of.ada.call("manage_scope", **by)


@case
def no_invitation(of: Stage) -> Answer:
    return of.ben.call("manage_scope", action="accept", code=CANARY)


@case
def in_already(of: Stage) -> Answer:
    code = of.ada.does("manage_scope", action="invite", scope=of.team, role="reader")["code"]
    return of.ada.call("manage_scope", action="accept", code=code)


@case
def too_many_scopes(of: Stage) -> Answer:
    of.patch.setattr(founding, "MEMBERSHIPS", 3)
    return of.ada.call("manage_scope", action="make_team", name="more")


@case
def no_token_named(of: Stage) -> Answer:
    return of.ada.call("manage_tokens", action="revoke")


@case
def no_such_token(of: Stage) -> Answer:
    return of.ada.call("manage_tokens", action="revoke", public_id="a" * 16)


@case
def no_grants(of: Stage) -> Answer:
    return of.ada.call("manage_tokens", action="make")


@case
def more_grants_than_one_has(of: Stage) -> Answer:
    return of.token("admin").call("manage_tokens", action="make", grants=["memory:read"])


@case
def no_person(of: Stage) -> Answer:
    return of.operates("disable", NO_PERSON)


@case
def quota_of_nothing(of: Stage) -> Answer:
    return of.operates("quota", of.ada.id, "0")


@case
def long_name(of: Stage) -> Answer:
    return of.operates("add", CANARY * 50)
