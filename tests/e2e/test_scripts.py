"""Text of every script goes in and comes out byte for byte, whatever the locale, by every way."""

import asyncio
import json
import re
import subprocess
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.e2e.made import made
from tests.service import ZM, Service

LOCALES: tuple[dict[str, str], ...] = (
    {"LANG": "C", "LC_ALL": "C"},
    {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"LC_ALL": "en_US.ISO-8859-1", "PYTHONIOENCODING": "latin-1"},
)

TEXTS: dict[str, str] = {
    "Latin, composed": "Gr\u00f6\u00dfe und Stra\u00dfe, na\u00efve fa\u00e7ade",
    "Latin, combining": "Gro\u0308\u00dfe, nai\u0308ve fac\u0327ade",
    "Greek": "\u0386\u03bd\u03b8\u03c1\u03c9\u03c0\u03bf\u03c2 \u03c3\u03bf\u03c6\u03cc\u03c2",
    "Cyrillic": "Съешь же ещё этих мягких французских булок",
    "Hebrew": "\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd \u05e2\u05d5\u05dc\u05dd",
    "Arabic": "\u0627\u0644\u0633\u064e\u0651\u0644\u0627\u0645\u064f ﷺ \u200f",
    "Devanagari": "\u0939\u093f\u0928\u094d\u0926\u0940 \u0915\u094d\u0937",
    "Tamil": "\u0ba4\u0bae\u0bbf\u0bb4\u0bcd",
    "Thai": "ภาษาไทย\u0e33",
    "Chinese": "漢字 汉字 \U00020000\U0002a6d6",
    "Japanese": "日本語 カタカナ ｶﾞ \u30ab\u3099",
    "Korean": "한국어 \u1112\u1161\u11ab",
    "Cuneiform": "\U00012000\U0001202d",
    "emoji": "👩\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 👍🏽 🇩🇪 1\ufe0f\u20e3",
    "marks upon marks": "Z\u0351\u036b\u0343\u036a\u0302a\u0323\u0308l\u0334g\u0321o\u0489",
    "directions": "\u202eabc\u202c \u2066x\u2069",
    "white space": "a\r\nb\tc\u00a0d\u2028e\u3000f\u0085g",
    "controls": "a\u0001b\u001bc\u007fd\u009fe",
    "beyond text": "\ufeffx\ufffd \ufffe\U0010ffff \ue000",
    "quotes": "\"'`\\ \\u00e9 $(x) %s {} </script>",
}
ALL = "\n\n".join(TEXTS.values())


@pytest.fixture(scope="module", params=LOCALES, ids=str)
def locale(request: pytest.FixtureRequest) -> dict[str, str]:
    return request.param


@pytest.fixture(scope="module")
def service(locale: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Generator[Service]:
    """A service that was started under this locale."""
    home: Path = tmp_path_factory.mktemp("scripts") / "home"
    with made(home, locale) as started:
        yield started


def stated(way: str, text: str) -> str:
    """A statement of its own for each way: it begins and ends as the text does not."""
    return f"By {way}: {text}."


def content(service: Service, memory_id: str) -> str:
    """What is stored, from the bytes of an answer that escapes nothing."""
    answer = service.call("recall", {"ids": [memory_id]})
    assert answer.status_code == 200, answer.text
    (memory,) = json.loads(answer.content.decode("utf-8"))["memories"]
    assert json.dumps(memory["content"], ensure_ascii=False).encode() in answer.content
    return memory["content"]


def test_over_http(service: Service) -> None:
    for text in TEXTS.values():
        said = stated("HTTP", text)
        for escaped in (True, False):
            body = json.dumps({"content": said, "scope": "personal"}, ensure_ascii=escaped)
            answer = service.http.post(
                f"{service.ready['api_url']}/tools/remember",
                content=body.encode(),
                headers={
                    "authorization": f"Bearer {service.token}",
                    "content-type": "application/json",
                },
            )
            assert answer.status_code == 200, answer.text
            assert content(service, answer.json()["id"]) == said


def test_over_mcp(service: Service) -> None:
    asyncio.run(by_http(service))


async def by_http(service: Service) -> None:
    headers = {"Authorization": f"Bearer {service.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(service.ready["mcp_url"], http_client=http)) as client,
    ):
        await round_trips(client, "MCP")


def test_over_the_stdio_bridge(service: Service, locale: dict[str, str]) -> None:
    asyncio.run(by_stdio(service, locale))


async def by_stdio(service: Service, locale: dict[str, str]) -> None:
    bridge = StdioServerParameters(
        command=str(ZM), args=["mcp"], env={**service.environment, **locale}
    )
    async with Client(stdio_client(bridge)) as client:
        await round_trips(client, "the bridge")


async def round_trips(client: Client, way: str) -> None:
    for text in TEXTS.values():
        said = stated(way, text)
        stored = await call(client, "remember", {"content": said, "scope": "personal"})
        answer = await call(client, "recall", {"ids": [stored["id"]]})
        assert answer["memories"][0]["content"] == said


async def call(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The structured result, which the text beside it says too."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    structured = cast("dict[str, Any]", result.structured_content)
    (block,) = result.content
    assert json.loads(getattr(block, "text", "")) == structured
    return structured


def zm(
    service: Service, locale: dict[str, str], arguments: Sequence[str], stdin: bytes = b""
) -> bytes:
    """What a command prints."""
    done = subprocess.run(
        [ZM, *(argument.encode() for argument in arguments)],
        env={**service.environment, **locale},
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


CONTROLS = re.compile("[\x7f-\x9f]")
"""What a terminal takes for a command: as JSON's escapes it reads as it was."""


def escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def test_by_the_command(service: Service, locale: dict[str, str]) -> None:
    said = stated("the command", ALL)
    stored = json.loads(zm(service, locale, [said, "--scope", "personal", "--json"]))
    assert content(service, stored["id"]) == said

    found = zm(service, locale, ["recall", stored["id"], "--json"])
    assert json.loads(found.decode("utf-8"))["memories"][0]["content"] == said
    assert CONTROLS.sub(escaped, json.dumps(said, ensure_ascii=False)).encode() in found


def test_by_standard_input(service: Service, locale: dict[str, str]) -> None:
    said = stated("standard input", ALL)
    printed = zm(service, locale, ["-", "--scope", "personal", "--json"], said.encode())
    assert content(service, json.loads(printed)["id"]) == said
