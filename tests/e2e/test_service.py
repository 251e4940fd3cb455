"""The service as people run it: set up by make, spoken to by the official client, and killed."""

import asyncio
import itertools
import threading
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import httpx
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.e2e.documents import QUESTIONS, Question, answers, paragraphs
from tests.e2e.made import made
from tests.service import STOP_S, Service
from zero_memory.retrieval.analysis import tokens

IN_FIRST = 5
COMMON_FROM = 3
"""Paragraphs that hold a word which tells hardly any of them apart."""

WRITERS = 8
ACKNOWLEDGED = 30
LIVES = 3


def test_standard_output_is_one_line_and_then_nothing(tmp_path: Path) -> None:
    with made(tmp_path / "home") as service:
        assert set(service.ready) == {"mcp_url", "api_url", "token_file", "pid"}
        assert service.call("remember", {"content": "a", "scope": "personal"}).status_code == 200
        assert service.call("remember", {"content": ""}).status_code == 400
        assert service.stop() == 0
        stdout = service.process.stdout
        assert stdout is not None
        assert stdout.read() == ""


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.asks)
def test_a_question_shares_no_rare_word_with_the_one_paragraph_that_answers_it(
    question: Question,
) -> None:
    written = paragraphs()
    (answer,) = (paragraph for paragraph in written if answers(paragraph, question))
    held = Counter(token for paragraph in written for token in tokens(paragraph))
    shared = tokens(question.asks).keys() & tokens(answer).keys()
    assert {token for token in shared if held[token] < COMMON_FROM} == set()


def test_its_own_documents_answer_questions_in_other_words(service: Service) -> None:
    asyncio.run(import_and_ask(service))


async def import_and_ask(service: Service) -> None:
    headers = {"Authorization": f"Bearer {service.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(service.ready["mcp_url"], http_client=http)) as client,
    ):
        project = {"project_hint": "https://example.org/zero-memory.git"}
        stored: dict[str, str] = {}
        for paragraph in paragraphs():
            arguments = {"content": paragraph, "kind": "reference", **project}
            answer = await structured(client, "remember", arguments)
            stored[answer["id"]] = paragraph
        assert len(stored) == len(set(paragraphs()))

        missed: list[str] = []
        for question in QUESTIONS:
            asked = {"query": question.asks, "k": IN_FIRST, **project}
            found = (await structured(client, "recall", asked))["hits"]
            if not any(answers(stored[hit["id"]], question) for hit in found):
                missed.append(question.asks)
        assert missed == []


async def structured(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return cast("dict[str, Any]", result.structured_content)


@dataclass(frozen=True)
class Written:
    """What writers sent, by idempotency key, and what was acknowledged, by the id answered."""

    sent: dict[str, str] = field(default_factory=dict[str, str])
    acknowledged: dict[str, str] = field(default_factory=dict[str, str])


def write_until_killed(service: Service) -> Written:
    """Write from many threads, and kill the service with writes in its hands."""
    written = Written()
    changed = threading.Condition()

    def write_on() -> None:
        for turn in itertools.count():
            key = uuid.uuid4().hex
            content = f"{key} is what was written. " + "Größe \U0001f9e0 " * (turn * 31 % 90)
            with changed:
                written.sent[key] = content
            try:
                memory_id = write(service, key, content)
            except httpx.TransportError:
                return
            with changed:
                written.acknowledged[memory_id] = content
                changed.notify_all()

    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(write_on) for _ in range(WRITERS)]
        with changed:
            enough = changed.wait_for(lambda: len(written.acknowledged) >= ACKNOWLEDGED, 60)
        service.kill()
        for writer in writers:
            writer.result(STOP_S)
    assert enough, f"only {len(written.acknowledged)} writes were acknowledged"
    return written


def call(service: Service, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    answer = service.call(tool, arguments)
    assert answer.status_code == 200, answer.text
    return answer.json()


def write(service: Service, key: str, content: str) -> str:
    """The id that the service acknowledges a statement with."""
    arguments = {"content": content, "scope": "personal", "idempotency_key": key}
    return call(service, "remember", arguments)["id"]


def listed(service: Service) -> list[str]:
    """The ids of every live memory, as often as they are listed."""
    ids: list[str] = []
    reads_on: dict[str, Any] = {}
    while True:
        page = call(service, "list_memories", {"limit": 100, **reads_on})
        ids.extend(memory["id"] for memory in page["memories"])
        if page.get("cursor") is None:
            return ids
        reads_on = {"cursor": page["cursor"]}


def contents(service: Service, ids: Sequence[str]) -> dict[str, str]:
    """The contents of memories, by id; every one of them must be there."""
    found: dict[str, str] = {}
    for start in range(0, len(ids), 20):
        answer = call(service, "recall", {"ids": ids[start : start + 20]})
        assert answer["missing"] == []
        found |= {memory["id"]: memory["content"] for memory in answer["memories"]}
    return found


def check_after_kill(
    service: Service, known: Mapping[str, str], written: Written
) -> dict[str, str]:
    """What is known and was acknowledged is there once and whole; answers all that is there then.

    What nobody was told of is there whole or not at all; sent again, it is there once.
    """
    ids = listed(service)
    held = contents(service, ids)
    assert len(ids) == len(held)
    told = {**known, **written.acknowledged}
    assert told == {each: content for each, content in held.items() if each in told}
    assert set(held.values()) <= {*told.values(), *written.sent.values()}

    again = {write(service, key, content): content for key, content in written.sent.items()}
    everything = {**told, **again}
    assert sorted(listed(service)) == sorted(everything)
    assert contents(service, list(everything)) == everything
    for key in list(written.sent)[-WRITERS:]:
        (hit,) = call(service, "recall", {"query": key, "k": 1})["hits"]
        assert everything[hit["id"]] == written.sent[key]
    return everything


@pytest.mark.timeout(300)
def test_what_was_acknowledged_survives_kill_9_once_and_whole(tmp_path: Path) -> None:
    home = tmp_path / "home"
    known: dict[str, str] = {}
    written = Written()
    for _ in range(LIVES):
        with made(home) as service:
            known = check_after_kill(service, known, written)
            written = write_until_killed(service)
    with made(home) as service:
        check_after_kill(service, known, written)
