"""`zm import` and `zm export`, against a service of one's own."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.integration.client.test_commands import zm
from tests.service import ZM, Service, running
from zero_memory.client.connection import Connection
from zero_memory.client.failure import Failure
from zero_memory.client.transfer import fetch, store

KEY = "AKIA" + "Q7ZP4LM2XW9RTB3K"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "one.md").write_text("The deploy runs on Fridays.\n", encoding="utf-8")
    (folder / "deep" / "two.md").write_text("橋 The bridge is closed.\r\n", "utf-8", newline="")
    (folder / "secret.md").write_text(f"The key is {KEY}.\n", encoding="utf-8")
    (folder / "broken.md").write_bytes(b"\xff\xfe not text")
    (folder / "nul.md").write_bytes(b"one\x00two")
    (folder / "image.png").write_bytes(b"\x89PNG")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "three.md").write_text("Hidden.", encoding="utf-8")
    return folder


def test_a_folder_is_imported_file_by_file_and_bad_ones_fail_alone(
    service: Service, notes: Path
) -> None:
    environment = service.environment
    first = zm("import", str(notes), "--scope", "core", "--json", environment=environment)
    assert first.returncode == 1, first.stderr
    told = json.loads(first.stdout)
    assert told["counts"] == {"created": 2, "refused": 3}
    assert {Path(each["path"]).name for each in told["refused"]} == {
        "broken.md",
        "nul.md",
        "secret.md",
    }
    assert KEY not in first.stdout + first.stderr

    for name in ("secret.md", "broken.md", "nul.md"):
        (notes / name).unlink()
    again = zm("import", str(notes), "--scope", "core", environment=environment)
    assert (again.returncode, again.stdout) == (0, "Files: 2 unchanged. Memories: 2.\n")

    (notes / "one.md").write_text("The deploy runs on Mondays.\n", encoding="utf-8")
    changed = zm("import", str(notes), "--scope", "core", environment=environment)
    assert changed.stdout == "Files: 1 superseded, 1 unchanged. Memories: 2.\n"


def test_what_a_file_s_frontmatter_did_not_say_is_told_and_nothing_is_lost(
    service: Service, tmp_path: Path
) -> None:
    files = {
        "empty.md": "",
        "kind.md": "---\nkind: decison\n---\nThe oven is preheated.\n",
        "yaml.md": "---\nkind: [fact\n---\nThe bread is sliced.\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    done = zm("import", str(tmp_path), "--scope", "core", environment=service.environment)

    assert done.returncode == 0, done.stderr
    assert done.stdout == "Files: 2 created, 1 empty. Memories: 2.\n"
    kind, yaml = done.stderr.splitlines()
    assert "kind.md: Its frontmatter names no kind that there is: fact was taken." in kind
    assert "yaml.md: What stands between the lines of --- at its top is no list" in yaml
    assert "decison" not in done.stderr
    found = zm("recall", "The bread is sliced", "--scope", "core", environment=service.environment)
    assert "kind: [fact" in found.stdout


def test_what_is_no_file_and_what_has_no_name_fails_alone(service: Service, tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("The mill turns by water.", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "loop.md").symlink_to("loop.md")
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff.md")).touch()
    except OSError:
        pytest.skip("this file system takes names of UTF-8 alone")

    done = zm("import", str(tmp_path), "--scope", "core", "--json", environment=service.environment)

    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert told["counts"] == {"created": 1, "refused": 3}
    assert {Path(each["path"]).name for each in told["refused"]} == {
        "pipe.md",
        "loop.md",
        "odd\\xff.md",
    }


def test_names_of_every_script_are_found_whatever_the_locale(
    service: Service, tmp_path: Path
) -> None:
    (tmp_path / "grün 橋.md").write_text("The bridge is green.", encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}

    for each, counts in ((plain, "1 created"), ({}, "1 unchanged")):
        environment = {**service.environment, **each}
        arguments = ("import", str(tmp_path / "grün 橋.md"), "--scope", "core")
        done = zm(*arguments, environment=environment)
        assert (done.returncode, done.stdout) == (0, f"Files: {counts}. Memories: 1.\n"), (
            done.stderr
        )
        done = zm("export", str(tmp_path / "öut"), environment=environment)
        assert done.returncode == 0, done.stderr
    assert list((tmp_path / "öut").rglob("*.md"))


def test_a_folder_that_cannot_be_written_is_told_in_words(service: Service, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()

    failed = zm("export", str(tmp_path / "taken"), environment=service.environment)

    assert (failed.returncode, failed.stderr) == (
        2,
        f"zm: {tmp_path / 'taken'} is no folder: name one, or a new one.\n",
    )


def test_a_service_elsewhere_names_no_file_of_this_machine(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("Untouched.", encoding="utf-8")
    elsewhere = Connection("https://memory.example.com", "zmt_x", "")

    with pytest.raises(Failure):
        store(elsewhere, victim.as_uri(), b"Overwritten.")
    with pytest.raises(Failure):
        fetch(elsewhere, victim.as_uri())

    assert victim.read_text(encoding="utf-8") == "Untouched."


def test_what_is_exported_goes_into_another_home_and_comes_out_the_same(
    service: Service, tmp_path: Path
) -> None:
    for number, words in enumerate(("Exported.", "---\nOdd \u2028 one.\r\n", "x" * 5_000)):
        stored = service.call("remember", {"content": f"{words} {number}", "scope": "personal"})
        assert stored.status_code == 200, stored.text
    trees: dict[str, list[tuple[str, bytes]]] = {}
    with running(tmp_path / "other") as other:
        for form in ("jsonl", "markdown"):
            here, there = tmp_path / form, tmp_path / f"{form} again"
            exported = zm("export", str(here), "--format", form, environment=service.environment)
            assert exported.returncode == 0, exported.stderr
            imported = zm("import", str(here), environment=other.environment, cwd=tmp_path)
            assert imported.returncode == 0, imported.stderr + imported.stdout
            zm("export", str(there), "--format", form, environment=other.environment)
            trees[form] = tree(here)
            assert tree(there) == trees[form]
    assert len(trees["markdown"]) >= 3


def test_an_export_of_the_same_changes_no_file(service: Service, tmp_path: Path) -> None:
    service.call("remember", {"content": "Stays as it is.", "scope": "personal"})
    folder = tmp_path / "out"
    zm("export", str(folder), environment=service.environment)
    times = {path: path.stat().st_mtime_ns for path in folder.rglob("*.md")}
    again = zm("export", str(folder), "--json", environment=service.environment)
    assert json.loads(again.stdout) == {"written": 0, "unchanged": len(times)}
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.md")} == times


def test_exports_into_one_folder_at_once_leave_it_whole(service: Service, tmp_path: Path) -> None:
    for number in range(20):
        service.call("remember", {"content": f"Kept {number}.", "scope": "personal"})
    folder = tmp_path / "out"
    command = [ZM, "export", str(folder), "--format", "jsonl"]
    exports = [subprocess.Popen(command, env=service.environment) for _ in range(4)]

    assert [export.wait(60) for export in exports] == [0] * 4
    (file,) = folder.iterdir()
    lines = [json.loads(line)["id"] for line in file.read_bytes().splitlines()]
    assert len(lines) == len(set(lines)) >= 20


def test_an_export_that_fails_leaves_nothing_half_written(tmp_path: Path) -> None:
    environment = {**os.environ, "ZM_URL": "http://127.0.0.1:9", "ZM_TOKEN": "zmt_x"}

    failed = zm("export", str(tmp_path), "--format", "jsonl", environment=environment)

    assert (failed.returncode, list(tmp_path.iterdir())) == (3, [])


@pytest.mark.parametrize("form", ["markdown", "jsonl"])
def test_an_export_removes_what_a_killed_one_had_begun(
    service: Service, tmp_path: Path, form: str
) -> None:
    killed = subprocess.Popen([ZM, "--help"], stdout=subprocess.DEVNULL)
    killed.wait(60)
    (tmp_path / "fact").mkdir()
    drafts = [
        tmp_path / f"memories.jsonl.{killed.pid}.part",
        tmp_path / "fact" / f"words-mem_{'0' * 26}.md.{killed.pid}.part",
    ]
    others = [
        tmp_path / f"memories.jsonl.{os.getpid()}.part",
        tmp_path / f"film.{killed.pid}.part",
    ]
    for path in (*drafts, *others):
        path.write_text("Half a", encoding="utf-8")

    done = zm("export", str(tmp_path), "--format", form, environment=service.environment)

    assert done.returncode == 0, done.stderr
    assert [path.exists() for path in (*drafts, *others)] == [False, False, True, True]


def test_a_file_too_long_for_a_call_goes_by_upload(service: Service, tmp_path: Path) -> None:
    rules = "Always say the same thing again.\n" * 30_000
    text = f"Short.\n<!-- zero-memory:rules -->\n{rules}<!-- /zero-memory:rules -->\n"
    (tmp_path / "long.md").write_text(text, encoding="utf-8")
    done = zm(
        "import", str(tmp_path / "long.md"), "--scope", "core", environment=service.environment
    )
    assert (done.returncode, done.stdout) == (0, "Files: 1 created. Memories: 1.\n"), done.stderr
    assert list((service.home / "artifacts").glob("*/*")) == []


def test_an_import_that_was_killed_goes_on_and_every_file_is_there_once(
    service: Service, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(70):
        (folder / f"{number}.md").write_text(f"Shelf {number} holds jars.", encoding="utf-8")
    command = [ZM, "import", str(folder), "--scope", "personal"]
    with subprocess.Popen(command, env=service.environment, stdout=subprocess.DEVNULL) as first:
        while not shelves(service) and first.poll() is None:
            time.sleep(0.05)
        first.kill()

    again = zm(*map(str, command[1:]), "--json", environment=service.environment)
    assert again.returncode == 0, again.stderr
    assert sum(json.loads(again.stdout)["counts"].values()) == 70
    assert sorted(shelves(service)) == sorted(f"Shelf {number} holds jars." for number in range(70))
    last = zm(*map(str, command[1:]), environment=service.environment)
    assert last.stdout == "Files: 70 unchanged. Memories: 70.\n"


def shelves(service: Service) -> list[str]:
    """What is stored of the shelves, page after page."""
    found: list[str] = []
    cursor = None
    while True:
        sent = {"scopes": ["personal"], **({"cursor": cursor} if cursor else {})}
        page = service.call("list_memories", sent).json()
        found += [each["preview"] for each in page["memories"] if "Shelf" in each["preview"]]
        cursor = page.get("cursor")
        if cursor is None:
            return found


def test_an_import_keeps_several_calls_in_hand_behind_the_first(tmp_path: Path) -> None:
    lines = "".join(f'{{"number": {number}}}\n' for number in range(50 * 5))
    (tmp_path / "many.jsonl").write_text(lines, encoding="utf-8")
    with meeting(4) as url:
        environment = {**os.environ, "ZM_URL": url, "ZM_TOKEN": "zmt_x"}
        done = zm("import", "many.jsonl", environment=environment, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Lines: 250 created. Memories: 0.\n"), done.stderr


@contextmanager
def meeting(size: int) -> Generator[str]:
    """A service that answers the first call alone, and the next ones when so many are there."""
    barrier = threading.Barrier(size)
    first = threading.Lock()

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            items = json.loads(self.rfile.read(int(self.headers["content-length"])))["items"]
            if not first.acquire(blocking=False):
                barrier.wait(30)
            body = json.dumps({"items": [{"status": "created"} for _ in items]}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_path_that_is_not_there_is_a_wrong_command_line(service: Service, tmp_path: Path) -> None:
    failed = zm("import", str(tmp_path / "nothing"), environment=service.environment)
    assert failed.returncode == 2
    assert "Traceback" not in failed.stderr


def tree(folder: Path) -> list[tuple[str, bytes]]:
    return sorted(
        (path.relative_to(folder).as_posix(), path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    )
