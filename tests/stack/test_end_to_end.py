"""From a client to its answer, through everything between: the same in every home."""

import asyncio
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx
import pytest
from mcp_types import TextResourceContents

from tests.e2e.documents import QUESTIONS, answers, paragraphs
from tests.stack.edge import edge_before
from tests.stack.home import CALL_S, Home, Revision, Someone, result
from tests.stack.stack import Stack

pytestmark = pytest.mark.timeout(300)

IN_FIRST = 5
AT_ONCE = 50
EVERY = 5
"""Of the paragraphs that answer nothing, so many are as many as are worth their time."""


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25", "2025-06-18"])
def test_a_memory_lives_its_whole_life_at_each_revision_of_the_protocol(
    home: Home, revision: Revision, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(live(home.someone(), revision, monkeypatch))


async def live(someone: Someone, revision: Revision, monkeypatch: pytest.MonkeyPatch) -> None:
    question = {"query": "When is the staging database rebuilt?"}
    async with someone.connected(revision, monkeypatch) as client:

        async def found() -> list[str]:
            answer = await result(client, "recall", **question)
            assert not answer["degraded"], answer["degraded_reason"]
            return [hit["id"] for hit in answer["hits"]]

        described = await result(client, "describe_scope")
        assert described["home"]["search"] == someone.home.search

        monday = (await remembered(client, "The staging database is rebuilt on Mondays"))["id"]
        tea = (await remembered(client, "Ada drinks her tea without milk"))["id"]
        assert await found() == [monday, tea]

        someone.settle()
        assert await found() == [monday, tea]

        revised = await result(
            client, "revise", memory_id=monday, content="The staging database is rebuilt on Fridays"
        )
        friday = revised["id"]
        assert revised["superseded"] == [monday]
        await result(client, "forget", memory_id=tea, reason="she stopped drinking tea")
        assert await found() == [friday]

        await result(client, "restore_memory", memory_id=tea)
        assert await found() == [friday, tea]
        listed = await result(client, "list_memories")
        assert [memory["id"] for memory in listed["memories"]] == [friday, tea]

        read = await client.read_resource(f"zm://memory/{friday}")
        (content,) = read.contents
        assert isinstance(content, TextResourceContents)
        assert json.loads(content.text)["content"] == "The staging database is rebuilt on Fridays"

        for memory in (monday, friday, tea):
            await result(client, "erase_memory", memory_id=memory, confirm=memory)
        assert await found() == []
    someone.settle()
    assert someone.finds(**question) == []


def test_a_memory_lives_its_whole_life_through_the_edge(
    stack_with_domain: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    with edge_before(stack_with_domain.api_url) as edge:
        home = Home(edge.url, "domain", stack_with_domain.table)
        asyncio.run(live(home.someone(), "2026-07-28", monkeypatch))
    life = ("describe_scope", "remember", "recall", "revise", "forget", "restore_memory")
    used = {f"/mcp/tools/{tool}" for tool in (*life, "list_memories", "erase_memory")}
    assert used < set(edge.routed)
    assert "/mcp" in edge.routed


async def remembered(client: Any, content: str) -> dict[str, Any]:
    return await result(client, "remember", content=content, scope="personal")


def test_documents_answer_questions_in_other_words(home: Home) -> None:
    someone = home.someone()
    written = paragraphs()
    answering = {each for each in written for asked in QUESTIONS if answers(each, asked)}
    stored = dict(imported(someone, [*answering, *written[::EVERY]]))
    someone.settle()
    missed = [
        question.asks
        for question in QUESTIONS
        if not any(
            answers(stored[memory_id], question)
            for memory_id in someone.finds(question.asks, k=IN_FIRST)
        )
    ]
    assert missed == []


def imported(someone: Someone, texts: list[str]) -> Iterator[tuple[str, str]]:
    """Imports texts as notes; answers each memory's id with its text."""
    waiting = {f"{number}.md": text for number, text in enumerate(dict.fromkeys(texts))}
    while waiting:
        items = [{"path": path, "text": text} for path, text in list(waiting.items())[:AT_ONCE]]
        for item in someone.call("import_memory", items=items, scope="personal")["items"]:
            if item["status"] != "deferred":
                text = waiting.pop(item["path"])
                yield from ((memory_id, text) for memory_id in item["ids"])


def test_what_one_person_exports_behind_a_link_another_imports_from_one(home: Home) -> None:
    ada, bert = home.someone(), home.someone()
    said = {f"Shelf {number} holds the maps of year {1900 + number}" for number in range(3)}
    for content in said:
        ada.remembers(content)

    page = ada.call("export_memories", format="jsonl", deliver="file")
    exported = fetched(page["archive"]["url"])
    assert hashlib.sha256(exported).hexdigest() == page["archive"]["sha256"]
    lines = [json.loads(line) for line in exported.splitlines()]
    assert said <= {line.get("content") for line in lines}

    slot = bert.call("import_memory", open_upload=True)["slot"]
    put(slot["url"], "\n\n".join(sorted(said)).encode())
    item = {"path": "maps.md", "upload": slot["upload"]}
    (done,) = bert.call("import_memory", items=[item], scope="personal")["items"]
    assert done["status"] == "created"
    (found, *_) = bert.call("recall", query="maps of 1902", k=1)["hits"]
    assert found["id"] in done["ids"]
    assert ada.finds("maps of 1902", k=50)[0] not in done["ids"]


def test_a_page_of_files_is_fetched_as_an_archive(home: Home) -> None:
    someone = home.someone()
    someone.remembers("The archive is a zip of Markdown")
    page = someone.call("export_memories", deliver="file")
    with zipfile.ZipFile(io.BytesIO(fetched(page["archive"]["url"]))) as archive:
        (name,) = archive.namelist()
        assert b"The archive is a zip of Markdown" in archive.read(name)


def fetched(url: str) -> bytes:
    if urlsplit(url).scheme == "file":
        return Path(url2pathname(urlsplit(url).path)).read_bytes()
    return httpx.get(url, timeout=CALL_S).raise_for_status().content


def put(url: str, content: bytes) -> None:
    if urlsplit(url).scheme == "file":
        Path(url2pathname(urlsplit(url).path)).write_bytes(content)
        return
    httpx.put(url, content=content, timeout=CALL_S).raise_for_status()


def test_who_leaves_takes_everything_along(home: Home) -> None:
    someone = home.someone()
    someone.remembers("Of this nothing stays")
    (root, *_) = someone.call("describe_scope")["scopes"]
    while not someone.call("delete_account", confirm=root["path"])["done"]:
        pass
    assert someone.asks("recall", query="what stays?").status_code == 401
