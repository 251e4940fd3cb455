"""`zm serve`: how it starts, says so, refuses, stops and comes back."""

import asyncio
import json
import os
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import IO, cast

import httpx
import pytest

from tests.samples import REPOSITORY
from tests.service import ZM, Service, running, started
from zero_memory.local.deployment import read_deployment
from zero_memory.local.serve import listen


def remember(service: Service, content: str) -> str:
    answer = service.call("remember", {"content": content, "scope": "personal"})
    assert answer.status_code == 200, answer.text
    return answer.json()["id"]


def listed(service: Service) -> list[str]:
    answer = service.call("list_memories", {"scopes": ["personal"], "limit": 100})
    return [memory["id"] for memory in answer.json()["memories"]]


def serve(
    *arguments: str | Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What becomes of a service that can't start; `environment` goes over one's own."""
    return zm("serve", *arguments, environment=environment)


def zm(
    *arguments: str | Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ZM, *arguments],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_standard_output_is_one_line_of_four_names(tmp_path: Path) -> None:
    with running(tmp_path / "home") as service:
        api_url = service.ready["api_url"]
        assert service.ready == {
            "mcp_url": f"{api_url}/mcp",
            "api_url": api_url,
            "token_file": str(tmp_path / "home" / "token"),
            "pid": service.process.pid,
        }
        assert httpx.URL(api_url).host == "127.0.0.1"
        remember(service, "Something that is logged.")
        service.call("remember", {"content": ""})

        assert service.stop() == 0
        assert cast("IO[str]", service.process.stdout).read() == ""


def test_people_are_told_the_url_the_place_of_the_token_and_how_to_connect(tmp_path: Path) -> None:
    home = tmp_path / "home"
    process = subprocess.Popen(
        [ZM, "serve", "--home", home, "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        lines: list[str] = []
        for line in cast("IO[str]", process.stdout):
            lines.append(line)
            if "Ctrl-C" in line:
                break
    finally:
        process.terminate()
        process.communicate(timeout=30)
    said = "".join(lines)

    url = json.loads('"' + said.split("MCP")[1].split()[0] + '"')
    assert f"claude mcp add --transport http --scope user zero-memory {url}" in said
    assert str(home / "token") in said
    assert (home / "token").read_text(encoding="utf-8").strip() not in said


def test_the_home_is_private(service: Service) -> None:
    assert mode(service.home) == 0o700
    assert mode(Path(service.ready["token_file"])) == 0o600
    assert [path.name for path in service.home.iterdir() if mode(path) & 0o077] == []


def test_a_folder_of_other_files_stays_open_to_who_reads_them(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("of somebody else's", encoding="utf-8")
    tmp_path.chmod(0o755)

    with running(tmp_path) as service:
        assert mode(tmp_path) == 0o755
        shown = [path for path in service.home.iterdir() if mode(path) & 0o077]
        assert shown == [letter]


def test_a_folder_that_was_made_for_it_is_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    with running(tmp_path):
        assert mode(tmp_path) == 0o700


def test_every_route_of_the_template_is_served_and_asks_who_calls(service: Service) -> None:
    for route in read_deployment(REPOSITORY).routes:
        method = "POST" if route.method == "ANY" else route.method
        answer = httpx.request(method, service.ready["api_url"] + route.path, json={})

        if route.function.name == "oauth":  # asked before anybody signs in, which is not here
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
            continue
        assert answer.status_code == 401, route.key
        assert "www-authenticate" in answer.headers, route.key


def test_a_body_past_the_limit_is_refused_in_the_contracts_words(service: Service) -> None:
    answer = service.call("remember", {"content": "x" * 10_000_000})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "validation_failed"
    assert service.call("describe_scope", {}).status_code == 200


def test_a_foreign_host_is_refused(service: Service) -> None:
    answer = httpx.post(
        service.ready["api_url"] + "/tools/describe_scope",
        json={},
        headers={"authorization": f"Bearer {service.token}", "host": "evil.example"},
    )

    assert answer.status_code == 403


def test_a_second_service_of_a_home_is_told_where_the_first_one_runs(service: Service) -> None:
    second = subprocess.run(
        [ZM, "serve", "--home", service.home, "--port", "0", "--json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert second.returncode == 1
    assert second.stdout == ""
    assert service.ready["mcp_url"] in second.stderr
    assert "Traceback" not in second.stderr


def test_a_taken_port_is_named(service: Service, tmp_path: Path) -> None:
    port = str(httpx.URL(service.ready["api_url"]).port)
    other = subprocess.run(
        [ZM, "serve", "--home", tmp_path / "other", "--port", port],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert other.returncode == 1
    assert port in other.stderr
    assert "Traceback" not in other.stderr


def test_an_answer_does_not_wait_until_its_head_is_acknowledged() -> None:
    async def accepted() -> int:
        loop = asyncio.get_running_loop()
        without_delay = loop.create_future()

        def look(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection: socket.socket = writer.get_extra_info("socket")
            without_delay.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listener = listen(0)
        async with await asyncio.start_server(look, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            answer = await without_delay
            writer.close()
            await writer.wait_closed()
            return answer

    assert asyncio.run(accepted()) == 1


def test_what_was_acknowledged_survives_kill_minus_nine(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running(home) as killed:
        token = killed.token
        acknowledged = [remember(killed, f"Fact number {number}.") for number in range(5)]
        killed.kill()
    with running(home) as restarted:
        assert restarted.token == token
        assert sorted(listed(restarted)) == sorted(acknowledged)


def test_a_deleted_token_file_is_made_anew_for_the_same_person(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running(home) as first:
        memory = remember(first, "Mine.")
        token = first.token
    (home / "token").unlink()
    with running(home) as second:
        assert second.token != token
        assert listed(second) == [memory]


def test_after_an_account_was_deleted_the_next_start_makes_another_person(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running(home) as first:
        remember(first, "Mine.")
        root = first.call("describe_scope", {"scope": "personal"}).json()["scopes"][0]["path"]
        assert first.call("delete_account", {"confirm": root}).json()["done"] is True
        refused = first.call("describe_scope", {})
        assert (refused.status_code, "not known" in refused.text) == (401, True)
    with running(home) as second:
        assert listed(second) == []
        assert remember(second, "Somebody else's.")
        person = json.loads((home / "person.json").read_text(encoding="utf-8"))["person"]
        assert person not in root
    assert f"made a new person, {person}" in (tmp_path / "home.stderr").read_text(encoding="utf-8")


def test_a_person_whom_the_table_does_not_know_is_not_replaced_beside_others(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with running(home):
        pass
    (home / "person.json").write_text(json.dumps({"person": f"p_{'0' * 26}"}), encoding="utf-8")
    (home / "token").unlink()
    refused = serve("--home", home, "--port", "0")

    assert refused.returncode == 1
    assert "zm admin people" in refused.stderr


@pytest.mark.parametrize("port", ["99999", "-1", "x", "٣"])
def test_a_port_that_is_none_is_named_in_words(port: str, tmp_path: Path) -> None:
    refused = serve("--home", tmp_path / "home", f"--port={port}")

    assert refused.returncode == 2
    assert "a port is a number from 0 to 65535" in refused.stderr
    assert not (tmp_path / "home").exists()


def test_a_wrong_command_line_is_told_before_anything_is_imported() -> None:
    program = "from zero_memory.client import serve; import sys; serve.main(['--port', '99999'])"
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert shown.returncode == 2
    assert "argparse" in shown.stderr
    assert "pydantic" not in shown.stderr
    assert "uvicorn" not in shown.stderr


def test_calls_are_logged_unless_told_otherwise(tmp_path: Path) -> None:
    for option, logged in (("--log", True), ("--no-log", False)):
        home = tmp_path / option
        with running(home, option) as service:
            assert service.call("describe_scope", {}).status_code == 200
        lines = (tmp_path / f"{option}.stderr").read_text(encoding="utf-8")
        assert ('"tool":"describe_scope"' in lines) is logged


def test_the_folder_in_the_environment_is_the_home(tmp_path: Path) -> None:
    environment = {**os.environ, "ZM_DATA_DIR": str(tmp_path / "mine")}
    with started([ZM, "serve", "--port", "0", "--json"], tmp_path / "mine", environment) as service:
        assert service.ready["token_file"] == str(tmp_path / "mine" / "token")
    people = subprocess.run(
        [ZM, "admin", "people"], env=environment, capture_output=True, text=True, check=False
    )
    assert people.stdout.startswith("p_")


def test_a_service_that_stopped_is_announced_no_longer(tmp_path: Path) -> None:
    with running(tmp_path / "home") as service:
        assert json.loads((service.home / "serve.json").read_text()) == service.ready
        service.stop()

        assert not (service.home / "serve.json").exists()


def test_without_a_home_the_data_lies_where_the_platform_keeps_data(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    shown = subprocess.run(
        [ZM, "serve", "--help"], env=environment, capture_output=True, text=True, check=True
    )

    assert str(tmp_path / "zero-memory") in "".join(shown.stdout.split())


def test_a_table_that_was_put_back_alone_keeps_its_person(tmp_path: Path) -> None:
    home, backup = tmp_path / "home", tmp_path / "backup"
    with running(home) as service:
        service.call("remember", {"content": "The tower clock runs late", "scope": "core"})
        service.stop()
    backup.mkdir()
    shutil.copy(home / "table.sqlite3", backup)

    with running(backup) as service:
        found = service.call("recall", {"query": "tower clock"}).json()["hits"]
        assert [hit["excerpt"] for hit in found] == ["The tower clock runs late"]


def test_a_memory_that_cannot_be_indexed_holds_nobody_up_and_is_tried_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running(home) as service:
        odd = remember(service, "The tower clock runs late")
        wait_until(lambda: marked(home) == set())
        whole = search_record(home, odd, b"\xc1")
        doubted = service.call("challenge", {"memory_id": odd, "reason": "it was mended"})
        assert doubted.status_code == 200, doubted.text
        wait_until(lambda: set_aside(service) == 1)

        later = remember(service, "The tower bell rings at noon")
        ben = admin(home, "add", "Ben")["person"]
        token = admin(home, "as", ben, "token", "make")["token"]
        known = {"ZM_URL": service.ready["api_url"], "ZM_TOKEN": token}
        theirs = zm("The bell is cast of bronze", "--scope", "personal", environment=known)
        assert theirs.returncode == 0, theirs.stderr
        wait_until(lambda: marked(home) == set())
        found = service.call("recall", {"query": "when does the bell ring"}).json()
        assert later in [hit["id"] for hit in found["hits"]]
        assert set_aside(service) == 1

        search_record(home, odd, whole)
    with running(home) as again:
        wait_until(lambda: set_aside(again) == 0)
        found = again.call("recall", {"query": "tower clock"}).json()
        assert found["hits"][0]["id"] == odd
        assert not found["degraded"]


def wait_until(is_so: Callable[[], bool]) -> None:
    """Within some seconds: a pump that waits for one memory does so for a quarter of an hour."""
    for _ in range(100):
        if is_so():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come to be so in ten seconds")


def marked(home: Path) -> set[str]:
    """The memories that are not indexed yet."""
    with closing(sqlite3.connect(home / "table.sqlite3")) as table:
        rows = table.execute("SELECT sk FROM items WHERE sk GLOB 'P#mem_*'").fetchall()
    return {sk.removeprefix("P#") for (sk,) in rows}


def search_record(home: Path, memory_id: str, document: bytes) -> bytes:
    """Put this in the place of what a memory is searched by; what was there."""
    with closing(sqlite3.connect(home / "table.sqlite3", timeout=30)) as table, table:
        key = f"R#{memory_id}"
        (was,) = table.execute("SELECT document FROM items WHERE sk = ?", (key,)).fetchone()
        table.execute("UPDATE items SET document = ? WHERE sk = ?", (document, key))
    return was


def admin(home: Path, *words: str) -> dict[str, str]:
    return json.loads(zm("admin", "--home", home, "--json", *words).stdout)


def set_aside(service: Service) -> int:
    shown = zm("status", "--json", environment=service.environment)
    return json.loads(shown.stdout)["set_aside"]


@pytest.mark.parametrize("content", [b"no table " * 1_000, b"SQLite format 3\x00" + bytes(9_000)])
def test_a_damaged_table_is_named_in_words_and_left_alone(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "home" / "table.sqlite3"
    file.parent.mkdir()
    file.write_bytes(content)

    refused = serve("--home", file.parent, "--port", "0")
    asked = zm("admin", "--home", file.parent, "people")

    for done in (refused, asked):
        assert done.returncode == 1
        assert "damaged" in done.stderr
        assert "backup" in done.stderr
        assert "Traceback" not in done.stderr
    assert file.read_bytes() == content


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"])
def test_a_damaged_note_of_whose_machine_it_is_is_named_in_words(tmp_path: Path, text: str) -> None:
    (tmp_path / "person.json").write_text(text, encoding="utf-8")

    refused = serve("--home", tmp_path, "--port", "0")

    assert refused.returncode == 1
    assert f"{tmp_path / 'person.json'} is damaged" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_setting_that_makes_no_sense_is_named_in_words(tmp_path: Path) -> None:
    refused = serve("--home", tmp_path / "home", environment={"ZM_CALLS_A_MINUTE": "many"})

    assert refused.returncode == 1
    assert "calls_a_minute" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_folder_that_cannot_be_used_is_named_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = subprocess.run(
        [ZM, "serve", "--home", tmp_path / "file" / "home", "--port", "0"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "Choose another with --home" in done.stderr
    assert "Traceback" not in done.stderr


def serve_on_a_small_disk(
    folder: Path, options: str, fill: str = ":"
) -> subprocess.CompletedProcess[str]:
    """What becomes of a service whose home is on a disk mounted so, after the command `fill`."""
    if shutil.which("unshare") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("unshare is not installed")
    small = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    mount = f"mount -t tmpfs -o {options} none '{folder}'"
    if subprocess.run([*small, mount], check=False).returncode:
        pytest.skip("this system lets nobody make a small disk")
    return subprocess.run(
        [*small, f"{mount} && {fill}; '{ZM}' serve --home '{folder}/home' --port 0 --json"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_a_full_disk_is_told_with_the_home_that_is_on_it(tmp_path: Path) -> None:
    fill = f"cat /dev/zero >'{tmp_path}/filler' 2>/dev/null"

    failed = serve_on_a_small_disk(tmp_path, "size=1m", fill)

    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith(f"zm: {tmp_path / 'home'} can't be used")
    assert " full" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_disk_without_room_for_one_more_file_is_told_with_that_file(tmp_path: Path) -> None:
    file = tmp_path / "home" / "person.json"
    told = ""
    room = 1  # the disk's own folder
    while f"{file}: No space left" not in told:
        room += 1
        failed = serve_on_a_small_disk(tmp_path, f"size=64m,nr_inodes={room}")
        told = failed.stderr

        assert (failed.returncode, failed.stdout) == (1, "")
        assert told.startswith(f"zm: {file.parent}")
        assert "Traceback" not in told
