"""The `zm` command as people and scripts run it."""

import json
import os
import stat
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any
from unicodedata import category, normalize

import pytest

from tests.contract.memory.damage import damage_meta
from tests.git import git
from tests.service import ZM, Service, running
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.client.commands import COMMANDS

LOCALES = [
    {"LANG": "C", "LC_ALL": "C"},
    {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    {"LANG": "C", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "latin-1"},
]
MEMORY = f"mem_{'0' * 26}"
PING = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
WORDS = "Die Brücke 橋 🌉 и мост e\u0301 العربية."


def zm(
    *arguments: str, environment: dict[str, str], stdin: str = "", cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ZM, *arguments],
        env=environment,
        input=stdin,
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@pytest.fixture
def nowhere(tmp_path: Path) -> dict[str, str]:
    """A machine on which nothing is stored and nothing runs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ZM_")}
    folders = {"XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config"}
    return {**kept, **{name: str(tmp_path / folder) for name, folder in folders.items()}}


@pytest.mark.parametrize("locale", LOCALES)
def test_words_of_every_script_go_in_and_come_out_whatever_the_locale(
    service: Service, locale: dict[str, str], tmp_path: Path
) -> None:
    environment = {**service.environment, **locale}
    said = f"{WORDS} {LOCALES.index(locale)}"

    stored = zm(said, "--scope", "personal", "--json", environment=environment, cwd=tmp_path)
    assert stored.returncode == 0, stored.stderr
    found = zm("recall", said, "-k", "1", environment=environment, cwd=tmp_path)

    assert normalize("NFC", said) in normalize("NFC", found.stdout)
    (memory,) = service.call("recall", {"ids": [json.loads(stored.stdout)["id"]]}).json()[
        "memories"
    ]
    assert memory["content"] == said


def test_a_fact_may_come_from_standard_input(service: Service, tmp_path: Path) -> None:
    stored = zm(
        "-",
        "--scope",
        "personal",
        environment=service.environment,
        stdin="Read\nfrom a pipe.\n",
        cwd=tmp_path,
    )

    assert stored.returncode == 0, stored.stderr
    assert stored.stdout.startswith("Remembered in user.")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no endless device")
def test_standard_input_without_an_end_is_refused(service: Service) -> None:
    refused = shell("zm - --scope personal < /dev/zero", service)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "longer than any memory" in refused.stderr


def test_inside_a_repository_a_fact_goes_to_its_project(service: Service, tmp_path: Path) -> None:
    subprocess.run(["git", "init", tmp_path / "shop"], check=True, capture_output=True)

    stored = zm("The shop closes at six.", environment=service.environment, cwd=tmp_path / "shop")

    assert stored.returncode == 0, stored.stderr
    assert "Remembered in proj." in stored.stdout
    assert ".shop: mem_" in stored.stdout


def test_a_repository_keeps_its_memories_when_it_gets_a_remote_apart_from_others_of_its_name(
    service: Service, tmp_path: Path
) -> None:
    def run(folder: str, *arguments: str) -> str:
        return zm(*arguments, environment=service.environment, cwd=tmp_path / folder).stdout

    for folder in ("one/ferry", "two/ferry", "three/ferry"):
        (tmp_path / folder).mkdir(parents=True)
        git(tmp_path / folder, "init")
    git(tmp_path / "two/ferry", "remote", "add", "origin", "https://example.com/two/ferry.git")

    assert ", a project that this call made.\n" in run("one/ferry", "It leaves at six.")
    for other in ("two/ferry", "three/ferry"):
        assert ".ferry-" in run(other, "It never leaves.")
        assert "It leaves at six." not in run(other, "recall", "When does it leave?")
    git(tmp_path / "one/ferry", "remote", "add", "origin", "https://example.com/ships.git")
    assert "It leaves at six." in run("one/ferry", "recall", "When does it leave?")
    assert "call made" not in run("one/ferry", "It comes back at nine.")


def test_outside_of_one_a_fact_without_scope_is_refused_in_words(
    service: Service, tmp_path: Path
) -> None:
    refused = zm("Nowhere to go.", environment=service.environment, cwd=tmp_path)

    assert refused.returncode == 1
    assert refused.stdout == ""
    assert "scope_target_required" in refused.stderr
    assert "Give --scope (core, personal or a path) or --project" in refused.stderr
    assert "project_hint" not in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("command", [["recall", "the heron"], ["list"]])
def test_where_no_project_is_known_one_is_told_that_all_was_searched(
    service: Service, tmp_path: Path, command: list[str]
) -> None:
    subprocess.run(["git", "init", tmp_path / "unknown"], check=True, capture_output=True)
    ways = {"Outside of a repository": tmp_path, "No project is known here": tmp_path / "unknown"}

    for told, cwd in ways.items():
        shown = zm(*command, environment=service.environment, cwd=cwd)
        assert (shown.returncode, told in shown.stdout) == (0, True), shown.stdout
        named = zm(*command, "--scope", "core", environment=service.environment, cwd=cwd)
        assert (named.returncode, told in named.stdout) == (0, False)


def test_hints_are_said_as_they_can_be_followed_at_a_terminal(
    service: Service, tmp_path: Path
) -> None:
    def told(*arguments: str) -> str:
        return zm(*arguments, "--scope", "core", environment=service.environment).stdout

    told("The ferry to the island leaves at noon.")
    shown = told("The ferry to the island leaves at one.", "--kind", "decision")

    assert "let that one go: zm forget ID" in shown
    assert not {word for word in ("supersedes", "entities") if word in shown}


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["recall", "x", "--scope", "team.x.y"], "zm status lists them"),
        (["x", "--project", f"proj.p_{'0' * 26}.x"], "or give --scope"),
        (["forget", f"mem_{'0' * 26}"], "zm recall and zm list print the ids"),
    ],
)
def test_a_refusal_names_what_a_terminal_has(
    service: Service, tmp_path: Path, command: list[str], says: str
) -> None:
    refused = zm(*command, environment=service.environment, cwd=tmp_path)

    assert (refused.returncode, says in refused.stderr) == (1, True), refused.stderr


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["forget", "mem_123"], "memory_id: must be a memory's id, which is mem_ and 26"),
        (["restore", f"mem_{'0' * 26}", "--audit", "aud_x"], "must be the id of a change"),
        (["token", "revoke", "foo"], "must be a token's id"),
        ([""], "content: must not be empty"),
        (["recall", "x", "-k", "99"], "k: must be at most 50"),
    ],
)
def test_what_the_service_takes_is_said_in_words(
    service: Service, command: list[str], says: str
) -> None:
    refused = zm(*command, environment=service.environment)

    assert (refused.returncode, says in refused.stderr) == (1, True), refused.stderr


def test_a_day_that_a_list_goes_until_is_in_it(service: Service) -> None:
    stored = zm("Until today.", "--scope", "core", "--json", environment=service.environment)
    memory = json.loads(stored.stdout)["id"]
    (kept,) = service.call("recall", {"ids": [memory]}).json()["memories"]
    day = kept["created_at"][:10]

    for bounds in (["--until", day], ["--since", day]):
        assert memory in zm("list", *bounds, environment=service.environment).stdout
    midnight = zm("list", "--until", f"{day}T00:00:00Z", environment=service.environment)
    assert memory not in midnight.stdout
    asked = {"query": "Until today.", "as_of": day}
    assert memory in [hit["id"] for hit in service.call("recall", asked).json()["hits"]]


def test_remember_is_another_word_for_none(service: Service) -> None:
    stored = zm("remember", "Said so.", "--scope", "core", environment=service.environment)

    assert (stored.returncode, stored.stdout.split()[0]) == (0, "Remembered"), stored.stderr


def test_a_memory_goes_through_its_life_at_a_terminal(service: Service, tmp_path: Path) -> None:
    def run(*arguments: str, stdin: str = "") -> str:
        done = zm(*arguments, environment=service.environment, cwd=tmp_path, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tell(*arguments: str) -> Any:
        return json.loads(run(*arguments, "--json"))

    first = tell("The relay listens on 4711.", "--scope", "personal")["id"]
    assert f"{first}  fact  user." in run("list", "--limit", "1")
    second = tell("revise", first, "The relay listens on 4712.")["id"]
    assert f"superseded by {second}" in run("recall", first)
    assert f"{second}, which stood in its place, ended" in run("restore", first)
    assert f"Forgotten: {first}" in run("forget", first, "It was taken down.")
    shown = run("history", first)
    assert all(word in shown for word in (first, "forget", "It was taken down.", "The relay"))
    (forgotten,) = [each for each in tell("history", first)["audit"] if each["action"] == "forget"]
    assert "is live" in run("restore", first, "--audit", forgotten["audit_id"])
    assert f"Erased: {first}" in run("erase", first, "--confirm", first)
    assert "There is no such memory" in run("recall", first)


def test_what_cannot_be_read_is_named_wherever_it_belongs(tmp_path: Path) -> None:
    with running(tmp_path / "home") as service:

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            return zm(*arguments, environment=service.environment, cwd=tmp_path)

        saying = {"content": "The heron nests late", "scope": "personal"}
        memory = service.call("remember", saying).json()["id"]
        with closing(SqliteTable(service.home / "table.sqlite3")) as table:
            damage_meta(table, memory)
        said = f"{memory}  It is damaged where it is stored; ask who runs the service"
        for command in (
            ("recall", memory),
            ("recall", "Where does the heron nest?", "--scope", "personal"),
            ("list", "--scope", "personal", "--limit", "1"),
        ):
            shown = run(*command)
            assert (shown.returncode, said in shown.stdout) == (0, True), command
        left = run("export", "out", "--scope", "personal")
        named = f"Left out, as it is damaged where it is stored: {memory}."
        assert (left.returncode, named in left.stderr) == (1, True)


def test_a_memory_is_printed_with_whose_it_is_what_it_is_about_and_why_it_ended(
    service: Service, tmp_path: Path
) -> None:
    saying = {
        "content": "The tern dives at dusk",
        "scope": "personal",
        "entities": ["Tern", "Quay"],
    }
    memory = service.call("remember", saying).json()["id"]
    zm("forget", memory, "it dives at dawn", environment=service.environment, cwd=tmp_path)
    shown = zm("recall", memory, environment=service.environment, cwd=tmp_path).stdout.splitlines()
    assert shown[1] == "    The tern dives at dusk"
    assert shown[2].startswith("  by ")
    assert shown[3] == "  about Tern, Quay"
    assert shown[4].startswith("  ended 20")
    assert shown[4].endswith("Z: it dives at dawn")


def test_a_loop_is_closed_with_its_outcome_and_opened_again(
    service: Service, tmp_path: Path
) -> None:
    def tell(*arguments: str, stdin: str = "") -> Any:
        told = zm(*arguments, "--json", environment=service.environment, cwd=tmp_path, stdin=stdin)
        assert told.returncode == 0, told.stderr
        return json.loads(told.stdout)

    loop = tell("--task", "Oil the hinge.", "--scope", "personal")["id"]
    outcome = tell("close", loop, "--outcome", "-", stdin="The hinge is oiled.")["outcome_id"]
    (memory,) = tell("recall", outcome)["memories"]
    assert (memory["content"], memory["kind"]) == ("The hinge is oiled.", "fact")
    assert tell("restore", loop)["also_ended"] == [outcome]
    (undone, *_) = tell("history", loop)["audit"]
    again = zm("restore", loop, "--audit", undone["audit_id"], environment=service.environment)
    assert f"{outcome}, which stood in its place, holds again" in again.stdout
    tell("restore", loop)
    listed = [
        each["id"] for each in tell("list", "--kind", "task", "--scope", "personal")["memories"]
    ]
    assert loop in listed


@pytest.mark.parametrize(
    ("command", "code"), [("forget", 1), ("history", 1), ("restore", 1), ("close", 1)]
)
def test_an_id_that_is_unknown_is_refused_in_words(
    service: Service, command: str, code: int
) -> None:
    refused = zm(command, f"mem_{'0' * 26}", environment=service.environment)

    assert (refused.returncode, refused.stdout) == (code, "")
    assert "There is no such memory" in refused.stderr


def test_what_is_remembered_never_commands_the_terminal(service: Service, tmp_path: Path) -> None:
    said = "Harmless \x1b]0;owned\x07 \x9b31m and \rover\x7f.\n\tThe end \u00ab\u00e9\u00bb."
    stored = zm(said, "--scope", "personal", "--json", environment=service.environment)
    memory = json.loads(stored.stdout)["id"]
    ways = (["recall", said], ["recall", memory], ["list", "--limit", "100"], ["history", memory])

    for way in ways:
        shown = zm(*way, environment=service.environment, cwd=tmp_path)
        assert "\\u001b]0;owned\\u0007 \\u009b31m and" in shown.stdout
        assert "\u00ab\u00e9\u00bb" in shown.stdout
        told = zm(*way, "--json", environment=service.environment, cwd=tmp_path)
        assert not {each for each in shown.stdout + told.stdout if category(each) == "Cc"} - {
            "\n",
            "\t",
        }
    told = zm("recall", memory, "--json", environment=service.environment)
    assert json.loads(told.stdout)["memories"][0]["content"] == said


def test_a_task_is_stored_as_one(service: Service, tmp_path: Path) -> None:
    zm(
        "--task", "Paint the fence.", "--scope", "personal",
        environment=service.environment, cwd=tmp_path,
    )  # fmt: skip
    found = zm("recall", "Paint the fence.", "--json", environment=service.environment)

    assert json.loads(found.stdout)["hits"][0]["kind"] == "task"


def test_status_tells_scripts_and_people_that_all_is_well(service: Service) -> None:
    told = zm("status", "--json", environment=service.environment)
    shown = zm("status", environment=service.environment)

    state = json.loads(told.stdout)
    assert (told.returncode, state["ok"], state["problem"]) == (0, True, None)
    assert (state["url"], state["set_aside"]) == (service.ready["api_url"], 0)
    assert service.ready["api_url"] in shown.stdout


def test_status_shows_what_the_indexer_gave_up_on(service: Service, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("serve.json", "token"):
        (home / name).write_text((service.home / name).read_text(encoding="utf-8"), "utf-8")
    environment = {**service.environment, "ZM_DATA_DIR": str(home)}

    (home / "failures.json").write_text("[{}, {}]", "utf-8")
    assert "2 changes" in zm("status", environment=environment).stdout

    (home / "failures.json").write_text("[{", "utf-8")
    told = zm("status", "--json", environment=environment)
    assert (told.returncode, json.loads(told.stdout)["set_aside"]) == (0, None)


def test_login_stores_what_works_for_its_owner_only(
    service: Service, nowhere: dict[str, str]
) -> None:
    url = service.ready["mcp_url"]
    logged_in = zm("login", url, environment=nowhere, stdin=f"{service.token}\n")
    assert logged_in.returncode == 0, logged_in.stderr
    stored = Path(nowhere["XDG_CONFIG_HOME"]) / "zero-memory" / "login.json"

    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert service.token not in logged_in.stdout + logged_in.stderr
    assert zm("status", environment=nowhere).returncode == 0


def test_a_login_that_cannot_be_stored_leaves_no_token_behind(
    service: Service, nowhere: dict[str, str]
) -> None:
    folder = Path(nowhere["XDG_CONFIG_HOME"]) / "zero-memory"
    (folder / "login.json").mkdir(parents=True)

    failed = zm("login", service.ready["api_url"], environment=nowhere, stdin=service.token)

    assert (failed.returncode, "Traceback" in failed.stderr) == (1, False)
    assert [each.name for each in folder.iterdir()] == ["login.json"]


@pytest.mark.parametrize("url", ["127.0.0.1:8737", "nosuch", "http://", "ftp://127.0.0.1"])
def test_what_is_no_url_is_a_wrong_command_line(nowhere: dict[str, str], url: str) -> None:
    for command in (["login", url], ["recall", "x"]):
        failed = zm(*command, environment={**nowhere, "ZM_URL": url, "ZM_TOKEN": "zmt_x"})
        assert failed.returncode == 2
        assert "begins with http:// or https://" in failed.stderr


def test_a_service_without_https_is_told_so(service: Service, nowhere: dict[str, str]) -> None:
    url = service.ready["api_url"].replace("http:", "https:")

    failed = zm("login", url, environment=nowhere, stdin="zmt_x")

    assert failed.returncode == 3
    assert "speaks no https; is it http?" in failed.stderr


def test_what_is_no_token_is_sent_nowhere(nowhere: dict[str, str]) -> None:
    failed = zm("login", "http://127.0.0.1:9", environment=nowhere, stdin="S3cretWord\n")

    assert (failed.returncode, "begins with zmt_" in failed.stderr) == (2, True)


def test_login_stores_nothing_that_the_service_does_not_take(
    service: Service, nowhere: dict[str, str]
) -> None:
    refused = zm("login", service.ready["api_url"], environment=nowhere, stdin="zmt_wrong\n")

    assert refused.returncode == 1
    assert "token" in refused.stderr
    assert not (Path(nowhere["XDG_CONFIG_HOME"]) / "zero-memory").exists()


@pytest.mark.parametrize(
    "arguments", [["recall", "anything"], ["A fact."], ["status"], ["status", "--json"]]
)
def test_without_a_service_one_is_told_how_to_start_it(
    nowhere: dict[str, str], arguments: list[str]
) -> None:
    failed = zm(*arguments, environment=nowhere)

    assert failed.returncode == 3
    assert "zm serve" in failed.stderr + failed.stdout
    assert "Traceback" not in failed.stderr


def broken(place: Path, service: Service, **files: str) -> str:
    """A home beside a service's, with these files; its announcement names a token file there."""
    place.mkdir()
    ready = {**service.ready, "token_file": str(place / "token")}
    (place / "serve.json").write_text(json.dumps(ready), encoding="utf-8")
    for name, text in files.items():
        (place / name).write_text(text, encoding="utf-8")
    return str(place)


def test_a_token_that_is_not_taken_is_told_with_its_place(
    service: Service, nowhere: dict[str, str], tmp_path: Path
) -> None:
    api_url, missing, strange = service.ready["api_url"], tmp_path / "one", tmp_path / "two"
    login = tmp_path / "config" / "zero-memory" / "login.json"
    login.parent.mkdir(parents=True)
    login.write_text("{", encoding="utf-8")
    ways = {
        "ZM_TOKEN": {"ZM_URL": api_url, "ZM_TOKEN": "zmt_wrong"},
        "without ZM_TOKEN": {"ZM_URL": api_url},
        f"{missing / 'token'} is gone": {"ZM_DATA_DIR": broken(missing, service)},
        f"the one in {strange / 'token'}": {
            "ZM_DATA_DIR": broken(strange, service, token="zmt_wrong")
        },
        "login.json can't be read": {},
    }

    for told, way in ways.items():
        failed = zm("recall", "x", environment={**nowhere, **way})
        assert failed.returncode != 0
        assert told in failed.stderr
        assert "Traceback" not in failed.stderr


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"api_url": 1, "token_file": "token"}', "[" * 100_000],
    ids=lambda text: text[:20],
)
def test_a_damaged_announcement_is_told_with_its_place(
    nowhere: dict[str, str], tmp_path: Path, text: str
) -> None:
    (tmp_path / "serve.json").write_text(text, encoding="utf-8")

    failed = zm("recall", "x", environment={**nowhere, "ZM_DATA_DIR": str(tmp_path)})

    assert failed.returncode == 3
    assert f"{tmp_path / 'serve.json'} can't be read" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_what_may_not_be_read_is_told_with_its_place(
    service: Service, nowhere: dict[str, str], tmp_path: Path
) -> None:
    home = Path(broken(tmp_path / "home", service))
    (home / "token").mkdir()

    failed = zm("status", "--json", environment={**nowhere, "ZM_DATA_DIR": str(home)})

    assert failed.returncode == 3
    assert f"{home / 'token'} can't be read" in json.loads(failed.stdout)["problem"]


@pytest.mark.parametrize("command", [["recall", "x"], ["status"], ["login"]])
def test_a_password_in_the_url_is_refused_and_never_shown(
    nowhere: dict[str, str], command: list[str]
) -> None:
    url = "http://ada:S3cretWord@127.0.0.1:9"
    arguments = [*command, url] if command == ["login"] else command

    failed = zm(
        *arguments, environment={**nowhere, "ZM_URL": url, "ZM_TOKEN": "zmt_x"}, stdin="zmt_x"
    )

    assert failed.returncode == 2
    assert "Leave them out" in failed.stdout + failed.stderr
    assert "S3cretWord" not in failed.stdout + failed.stderr


@pytest.mark.parametrize("command", ["zm list", "zm list --json", f"echo '{PING}' | zm mcp"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_output_that_cannot_be_written_is_an_error_in_words(service: Service, command: str) -> None:
    failed = shell(f"{command} > /dev/full", service)

    assert (failed.returncode, failed.stderr) == (1, "zm: No space left on device\n")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("zm mcp <&-", 0),
        ("zm - --scope personal <&-", 1),
        ("zm login http://127.0.0.1:9 <&-", 2),
        (f"echo '{PING}' | zm mcp >&-", 0),
        ("zm list --limit 1 <&- >&- 2>&-", 0),
    ],
)
def test_a_closed_stream_is_an_empty_one(service: Service, command: str, code: int) -> None:
    done = shell(command, service)

    assert done.returncode == code
    assert "Traceback" not in done.stderr


def shell(line: str, service: Service) -> subprocess.CompletedProcess[str]:
    path = f"{ZM.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", line],
        env={**service.environment, "PATH": path},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_a_service_that_was_killed_is_no_traceback(
    service: Service, nowhere: dict[str, str], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "token").write_text("zmt_x", encoding="utf-8")
    ready = {**service.ready, "api_url": "http://127.0.0.1:9", "token_file": str(home / "token")}
    (home / "serve.json").write_text(json.dumps(ready), encoding="utf-8")

    failed = zm("recall", "x", environment={**nowhere, "ZM_DATA_DIR": str(home)})

    assert failed.returncode == 3
    assert "zm serve" in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["recal"],
        ["a fact", "and another"],
        ["recall"],
        ["--kind"],
        ["recall", "-k", "x", "y"],
        ["export", ""],
        ["serve", "--home", ""],
    ],
)
def test_a_wrong_command_line_stores_nothing_and_exits_with_2(
    nowhere: dict[str, str], arguments: list[str]
) -> None:
    failed = zm(*arguments, environment=nowhere)

    assert failed.returncode == 2
    assert failed.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["The", "words", "without", "quotes"], "Put the statement in quotes."),
        (["remember", "The", "words"], "Put the statement in quotes."),
        (["recall", "words", "without"], "Put the question in quotes."),
        (["reca", "foo"], "There is no command “reca”; did you mean zm recall?"),
        (["staus"], "did you mean zm status?"),
        (["list", "decision"], "zm list takes no “decision”: see zm list --help."),
        (["list", "--kinds", "fact"], "There is no option --kinds: zm list --help lists them."),
        (["forget", MEMORY, MEMORY], "takes one ID; put the reason in quotes."),
        (["forget", MEMORY, "no", "longer"], "takes one ID; put the reason in quotes."),
        (["revise", MEMORY, MEMORY], "takes one ID; put the new wording in quotes."),
        (["close", MEMORY, MEMORY], "zm close takes one ID; what came of it is --outcome"),
        (["history", MEMORY, MEMORY], "zm history takes no"),
        (["scope", "team", "Night", "Shift"], "Put a name of several words in quotes."),
    ],
)
def test_a_command_line_with_too_much_in_it_says_what_to_do(
    nowhere: dict[str, str], arguments: list[str], says: str
) -> None:
    failed = zm(*arguments, environment=nowhere)

    assert (failed.returncode, failed.stdout, says in failed.stderr) == (2, "", True), failed.stderr


def test_without_arguments_zm_lists_its_commands(nowhere: dict[str, str]) -> None:
    shown = zm(environment=nowhere)

    assert shown.returncode == 0
    for command in COMMANDS:
        assert f"  {command}" in shown.stdout
