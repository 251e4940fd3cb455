"""Somebody's own files: what becomes of them, the first time and every time after."""

import json
from typing import Any

import pytest

from tests.clock import ManualClock
from tests.contract.memory.people import Someone, refused
from tests.contract.portability.carrying import Watched, imported, statuses
from tests.hashing_embedder import HashingEmbedder
from zero_memory.contracts.errors import Refusal
from zero_memory.memory.ledger import ImportEntry
from zero_memory.memory.model import Meta
from zero_memory.memory.reading import with_bodies
from zero_memory.portability.sections import WHOLE
from zero_memory.scopes.caller import Caller
from zero_memory.tools import erase_memory, export_memories, import_memory

KEY = "AKIA" + "Q7ZP4LM2XW9RTB3K"
LONG = "\n\n".join(
    f"## Part {number}\n\n" + f"Part {number} says what it has to say. " * 20 for number in range(5)
)


def body(who: Someone, memory_id: str) -> Any:
    (memory,) = with_bodies(who.table, [who.meta(memory_id)])
    return memory.body


def one(who: Someone, text: str, path: str = "~/notes.md", **arguments: Any) -> Any:
    (result,) = imported(who, {path: text}, scope="personal", **arguments)
    return result


def test_a_short_file_is_one_memory_as_it_stands(ada: Someone):
    text = "# Deploys\r\n\r\nThey run on Fridays.  \r\n"
    result = one(ada, text)
    meta = ada.meta(result.ids[0])
    assert (result.status, meta.kind, meta.authority) == ("created", "fact", 1)
    assert body(ada, result.ids[0]).content == text
    origin = json.loads(body(ada, result.ids[0]).source_json)["import"]
    assert origin["path"] == "~/notes.md"
    assert len(origin["sha256"]) == 64


def test_the_same_file_again_changes_nothing(ada: Someone, clock: ManualClock):
    first = one(ada, LONG)
    watched = Watched(ada.table)
    again = Someone(watched, clock, ada.person, ada.principal, ada.scope)  # pyright: ignore[reportArgumentType]
    second = one(again, LONG)
    assert (second.status, second.ids, watched.written) == ("unchanged", first.ids, 0)


def test_what_was_forgotten_does_not_come_back_by_itself(ada: Someone):
    first = one(ada, "The deploy runs on Fridays.")
    ada.forgets(first.ids[0])
    again = one(ada, "The deploy runs on Fridays.")
    assert again.status == "unchanged"
    assert again.message == "Forgotten since, and so left: 1. Restore what is to hold again."
    assert not ada.meta(first.ids[0]).live


def test_what_was_erased_is_imported_anew_and_its_path_is_not_kept(ada: Someone):
    first = one(ada, "The deploy runs on Fridays.")
    erased(ada, first.ids[0])
    assert ada.table.query(ImportEntry, ada.person).records == ()
    again = one(ada, "The deploy runs on Fridays.")
    assert (again.status, ada.meta(again.ids[0]).live) == ("created", True)
    assert again.ids != first.ids


def test_of_a_file_the_part_that_was_erased_alone_is_imported_anew(ada: Someone):
    first = one(ada, LONG)
    erased(ada, first.ids[1])
    again = one(ada, LONG)
    assert again.status == "created"
    assert [each for each in first.ids if each not in again.ids] == [first.ids[1]]
    assert len(again.ids) == len(first.ids)


def test_what_another_file_said_first_is_imported_anew_once_it_is_erased(ada: Someone):
    first, second = one(ada, "The same words."), one(ada, "The same words.", path="~/b.md")
    assert second.ids == first.ids
    erased(ada, first.ids[0])
    assert one(ada, "The same words.", path="~/b.md").status == "created"


def erased(who: Someone, memory_id: str) -> None:
    who.calls(erase_memory.TOOL, memory_id=memory_id, confirm=memory_id)


def test_a_changed_file_supersedes_what_came_of_it(ada: Someone):
    first = one(ada, "The deploy runs on Fridays.")
    second = one(ada, "The deploy runs on Mondays.")
    assert second.status == "superseded"
    assert ada.meta(first.ids[0]).superseded_by == second.ids[0]


def test_equal_texts_of_two_files_are_one_memory_that_outlives_either(ada: Someone):
    first, second = imported(
        ada, {"~/a.md": "The same words.", "~/b.md": "The same words."}, scope="personal"
    )
    assert statuses([first, second]) == ["created", "deduplicated"]
    assert second.ids == first.ids
    other = one(ada, "Other words.", "~/b.md")
    assert other.status == "created"
    assert ada.meta(first.ids[0]).live


def test_a_file_of_the_same_name_is_somebody_elses(ada: Someone, ben: Someone):
    team = ada.project("team")
    ada.lets_in(ben, team, "writer")
    (first,) = imported(ada, {"~/notes.md": "Ada's notes."}, scope=team.path)
    (second,) = imported(ben, {"~/notes.md": "Ben's notes."}, scope=team.path)
    assert second.status == "created"
    assert ada.meta(first.ids[0]).live


def test_a_long_file_is_split_at_its_headings_and_only_changed_parts_are_written(ada: Someone):
    text = f"# Handbook\n\nFor all.\n\n{LONG}"
    first = one(ada, text)
    contents = [body(ada, memory_id).content for memory_id in first.ids]
    assert len(contents) == 6
    assert all(content.startswith("# Handbook\n\n") for content in contents)
    changed = one(ada, text.replace("Part 3 says", "Part 3 claims"))
    assert changed.status == "superseded"
    assert [old == new for old, new in zip(first.ids, changed.ids, strict=True)] == [
        True,
        True,
        True,
        True,
        False,
        True,
    ]


def test_a_forgotten_section_stays_forgotten_when_another_one_changes(ada: Someone):
    first = one(ada, LONG)
    ada.forgets(first.ids[1])
    changed = one(ada, LONG.replace("Part 3 says", "Part 3 claims"))
    assert changed.ids[1] == first.ids[1]
    assert not ada.meta(first.ids[1]).live


def test_a_file_that_grew_until_it_is_split_leaves_no_old_text_behind(ada: Someone):
    short = one(ada, "## Part 0\n\nShort.")
    grown = one(ada, LONG)
    assert not ada.meta(short.ids[0]).live
    assert set(ada.lists()) == set(grown.ids)


def test_a_reworded_heading_supersedes_its_section(ada: Someone):
    first = one(ada, LONG)
    second = one(ada, LONG.replace("## Part 2", "## The second part"))
    assert not ada.meta(first.ids[2]).live
    assert ada.meta(first.ids[2]).superseded_by == second.ids[2]


@pytest.mark.parametrize("heading", ["```\n## not a heading\n```", "~~~~\n```\n## nor this\n~~~~"])
def test_what_stands_in_a_fence_is_no_heading(ada: Someone, heading: str):
    text = f"## One\n\n{'word ' * 300}\n\n{heading}\n\n## Two\n\n{'other ' * 300}"
    result = one(ada, text)
    assert len(result.ids) == 2
    assert heading in body(ada, result.ids[0]).content


def test_a_text_without_headings_is_one_memory_up_to_what_one_holds(ada: Someone):
    paragraphs = "\n\n".join(f"Paragraph {number}. {'word ' * 200}" for number in range(60))
    result = one(ada, paragraphs)
    contents = [body(ada, memory_id).content for memory_id in result.ids]
    assert len(contents) == 3
    assert "\n\n".join(contents) == paragraphs


def test_promoted_rules_are_not_imported_back(ada: Someone):
    rules = "<!-- zero-memory:rules 3 -->\nAlways test.\n<!-- /zero-memory:rules -->\n"
    result = one(ada, f"Before.\n{rules}After.\n")
    assert body(ada, result.ids[0]).content == "Before.\nAfter.\n"
    assert one(ada, rules, "~/rules.md").ids == []


@pytest.mark.parametrize("blank", ["", "  \n", "\ufeff"])
def test_a_blank_file_is_nothing(ada: Someone, blank: str):
    assert (one(ada, blank).status, ada.lists()) == ("unchanged", [])


def test_frontmatter_of_ones_own_says_kind_and_entities(ada: Someone):
    text = "---\nkind: decision\nentities: [Redis]\ntitle: Cache\ndate: 2026-01-01\n---\nUse it.\n"
    result = one(ada, text)
    stored = body(ada, result.ids[0])
    assert ada.meta(result.ids[0]).kind == "decision"
    assert (stored.content, stored.entities) == ("Use it.\n", ("Redis",))


@pytest.mark.parametrize(
    "text",
    [
        "---\nnot: [closed\n---\nText.",
        "---\njust a line\n---\nText.",
        "---\nText that goes on without an end",
    ],
)
def test_what_is_no_frontmatter_is_text(ada: Someone, text: str):
    assert body(ada, one(ada, text).ids[0]).content == text


@pytest.mark.parametrize(
    "text",
    [
        "---\na: &a [x]\nb: [*a, *a]\n---\nText.",
        f"---\na: {'[' * 200}{']' * 200}\n---\nText.",
        f"---\na: {'x' * 400_000}\n---\nText.",
        f"---\na: [{'1,' * 5_000}]\n---\nText.",
        "---\nzero_memory: 1\nid: mem_nonsense\n---\nText.",
        "---\nzero_memory: 1\ncontent: twice\n---\nText.",
    ],
)
def test_hostile_frontmatter_is_refused_alone(ada: Someone, text: str):
    bad, good = imported(ada, {"~/bad.md": text, "~/good.md": "Good."}, scope="personal")
    assert (bad.status, bad.code, good.status) == ("refused", "validation_failed", "created")


def test_a_file_with_a_secret_fails_alone_and_nothing_of_it_is_kept(ada: Someone):
    secret = f"{LONG}\n\n## Keys\n\nThe key is {KEY}."
    bad, good = imported(ada, {"~/bad.md": secret, "~/good.md": "Good."}, scope="personal")
    assert (bad.status, bad.code, good.status) == ("refused", "validation_failed", "created")
    assert str(bad.message).startswith("secret_content_rejected:")
    assert KEY not in bad.model_dump_json()
    assert ada.lists() == good.ids


@pytest.mark.parametrize("path", ["~/{}.md", "~/{}.jsonl", "{}"])
def test_a_secret_in_a_path_is_refused_and_not_repeated(ada: Someone, path: str):
    tree = {"~/good.md": "Good.", path.format(KEY): "{}\n"}
    good, bad = imported(ada, tree, scope="personal")
    assert (good.status, bad.status, bad.path) == ("created", "refused", "item 2")
    assert str(bad.message).startswith("secret_content_rejected: `path`")
    assert KEY not in bad.model_dump_json()


def test_a_secret_in_any_field_of_a_record_is_refused(ada: Someone):
    line = (
        '{"zero_memory":1,"id":"mem_01MCC5RM008A4RCTS83QW0FAYZ","kind":"fact","scope":"personal",'
        '"state":"live","created_at":"2027-01-15T08:00:00.000Z","author":"me",'
        '"alive":[{"start":"2027-01-15T08:00:00.000Z"}],"content":"fine","source":{"a":["%s"]}}'
    )
    bad, good = imported(ada, {"a.jsonl": f"{line % KEY}\n{line % 'fine'}\n"})
    assert (bad.status, bad.code, good.status) == ("refused", "validation_failed", "created")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("created_at", '"2027-01-15T08:00:00.001Z"'),
        ("state", '"invalid"'),
        ("content", '"  "'),
        ("content", '"a\\u0000b"'),
        ("author", '"somebody"'),
        ("alive", '[{"start":"2027-01-15T08:00:00.000Z","end":"2026-01-15T08:00:00.000Z"}]'),
        ("kind", '"secret thoughts"'),
        ("unknown", "1"),
        ("scope", '"proj.me.Not A Slug"'),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(ada: Someone, field: str, value: str):
    record: dict[str, Any] = {
        "zero_memory": 1,
        "id": "mem_01MCC5RM008A4RCTS83QW0FAYZ",
        "kind": "fact",
        "scope": "personal",
        "state": "live",
        "created_at": "2027-01-15T08:00:00.000Z",
        "author": "me",
        "alive": [{"start": "2027-01-15T08:00:00.000Z"}],
        "content": "fine",
    }
    record[field] = json.loads(value)
    (result,) = imported(ada, {"a.jsonl": json.dumps(record) + "\n"})
    assert result.status == "refused"
    assert ada.table.get(Meta, record["id"]) is None


def test_an_exported_file_that_was_edited_supersedes_its_memory(ada: Someone):
    memory_id = ada.knows("The deploy runs on Fridays.", entities=("Deploy",))
    (file,) = ada.calls(export_memories.TOOL).files
    edited = file.text.replace("Fridays", "Mondays")
    (result,) = imported(ada, {"anywhere.md": edited})
    assert result.status == "superseded"
    assert ada.meta(memory_id).superseded_by == result.ids[0]
    assert body(ada, result.ids[0]).entities == ("Deploy",)
    (again,) = imported(ada, {"elsewhere.md": edited})
    assert (again.status, again.ids) == ("unchanged", result.ids)


def test_restoring_needs_an_admin_and_an_admins_token(ada: Someone, ben: Someone):
    team = ada.project("team")
    ada.lets_in(ben, team, "writer")
    ben.knows("Ben's own.")
    (file,) = ben.calls(export_memories.TOOL).files
    text = file.text.replace("mem_01", "mem_00")
    (into_team,) = imported(ben, {"a.md": text}, scope=team.path)
    assert into_team.code == "forbidden"
    agent = Caller(ben.person, ben.principal, frozenset(("memory:read", "memory:write")))
    arguments = import_memory.TOOL.input(items=[{"path": "a.md", "text": text}])  # pyright: ignore[reportArgumentType]
    assert import_memory.run(ben.ports, agent, arguments).items[0].code == "forbidden"


def test_what_takes_too_long_is_put_off_and_taken_up_again(
    ada: Someone, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    embed = HashingEmbedder.embed_passages

    def slowly(self: HashingEmbedder, passages: Any) -> Any:
        clock.advance(seconds=4)
        return embed(self, passages)

    monkeypatch.setattr(HashingEmbedder, "embed_passages", slowly)
    tree = {"~/long.md": LONG, "~/next.md": "The next one."}
    rounds = [statuses(imported(ada, tree, scope="personal")) for _ in range(3)]
    assert rounds == [["deferred", "deferred"], ["created", "created"], ["unchanged", "unchanged"]]
    assert len(ada.lists()) == 6
    changed = one(ada, LONG.replace("Part 4 says", "Part 4 claims"), "~/long.md")
    assert changed.status == "superseded"


def test_without_a_place_for_notes_each_is_refused_and_records_go_on(ada: Someone):
    ada.knows("Mine.")
    (file,) = ada.calls(export_memories.TOOL).files
    notes, record = imported(ada, {"~/notes.md": "Where to?", file.path: file.text})
    assert notes.message is not None
    assert notes.message.startswith("scope_target_required:")
    assert record.status == "unchanged"


def test_items_and_uploads_are_not_mixed(ada: Someone):
    with pytest.raises(Refusal) as refusal:
        ada.calls(import_memory.TOOL)
    assert refused(refusal) == "validation_failed"
    (result,) = ada.calls(import_memory.TOOL, items=[{"path": "a.md"}], scope="core").items
    assert result.code == "validation_failed"
    someone_elses = [{"path": "a.md", "upload": "p_x/01MCC5RM008A4RCTS83QW0FAYZ"}]
    (result,) = ada.calls(import_memory.TOOL, items=someone_elses, scope="core").items
    assert result.code == "not_found"


def test_the_length_of_what_is_one_memory_is_where_it_says(ada: Someone):
    assert len(one(ada, "# A\n\nx\n\n# B\n\n" + "y" * (WHOLE - 13)).ids) == 1
    assert len(one(ada, "# A\n\nx\n\n# B\n\n" + "z" * WHOLE, "~/b.md").ids) == 2
