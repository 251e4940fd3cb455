"""`zm admin`, `zm scope` and `zm token`: the first hour of an operator and of their people."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.integration.client.test_commands import zm
from tests.service import Service
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.admin import commands
from zero_memory.client.failure import USAGE, Failure
from zero_memory.runtime.bootstrap import Composition


def admin(service: Service, *words: str) -> Any:
    """The rows that an operator's command prints."""
    done = zm("admin", "--home", str(service.home), "--json", *words, environment={**os.environ})
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def own(service: Service, token: str, *words: str) -> Any:
    """What a person's own command prints."""
    done = zm(*words, "--json", environment=as_(service, token))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def as_(service: Service, token: str) -> dict[str, str]:
    return {**os.environ, "ZM_URL": service.ready["api_url"], "ZM_TOKEN": token}


def status(service: Service, token: str) -> int:
    return service.http.post(
        f"{service.ready['api_url']}/tools/describe_scope",
        json={},
        headers={"authorization": f"Bearer {token}"},
    ).status_code


def test_an_operator_makes_people_who_make_a_team_of_their_own(service: Service) -> None:
    people = [admin(service, "add", name)[0]["person"] for name in ("Ada", "Ben")]
    known = {row["person"]: row["name"] for row in admin(service, "people")}
    assert [known[person] for person in people] == ["Ada", "Ben"]
    ada, ben = (
        admin(service, "as", person, "token", "make", "--grant", "memory:read", "--grant", "admin")[
            0
        ]["token"]
        for person in people
    )
    team = own(service, ada, "scope", "team", "Ops")["scope"]
    code = own(service, ada, "scope", "invite", team, "writer")["code"]
    joined = zm("scope", "accept", code, environment=as_(service, ben))
    assert joined.stdout == f"Done: {team}, as writer\n"
    shown = zm("scope", "members", team, environment=as_(service, ben)).stdout
    assert shown.splitlines() == [
        f"{people[0]}  admin  owner  Ada",
        f"{people[1]}  writer  Ben",
    ]
    assert zm(
        "admin", "--home", str(service.home), "as", people[0], "scope", "members", team,
        environment={**os.environ},
    ).stdout == shown  # fmt: skip
    stranger = zm("scope", "members", team, environment=service.environment)
    assert (stranger.returncode, stranger.stdout) == (1, "")
    assert "There is no such scope" in stranger.stderr
    own(service, ada, "scope", "role", team, people[1], "admin")
    own(service, ada, "scope", "hand-over", team, people[1])
    own(service, ada, "scope", "leave", team)
    assert team not in {row["path"] for row in admin(service, "scopes", people[0])}
    assert {"path": team, "role": "admin"} in admin(service, "scopes", people[1])


def test_an_operator_shuts_out_lets_in_and_gives_a_quota(service: Service) -> None:
    (card,) = admin(service, "add")
    person = card["person"]
    (made,) = admin(service, "as", person, "token", "make")
    token = made["token"]
    assert status(service, token) == 200
    assert admin(service, "disable", person)[0]["disabled"]
    wait_for(service, token, 401)
    admin(service, "enable", person)
    wait_for(service, token, 200)
    assert admin(service, "quota", person, "7")[0]["calls_a_minute"] == 7
    assert admin(service, "quota", person, "default")[0]["calls_a_minute"] is None
    listed = admin(service, "as", person, "token", "list")[0]["tokens"]
    assert listed == made["tokens"]
    assert [each["grants"] for each in listed] == [["memory:read", "memory:write"]]
    admin(service, "as", person, "token", "revoke", listed[0]["public_id"])
    shown = zm(
        "admin", "--home", str(service.home), "as", person, "token", "list",
        environment={**os.environ},
    ).stdout.splitlines()  # fmt: skip
    assert shown[0].split() == ["id", "lasts", "may", "label"]
    assert shown[1].split()[:2] == [listed[0]["public_id"], "revoked"]
    wait_for(service, token, 401)


def wait_for(service: Service, token: str, expected: int) -> None:
    """A running service notices within 5 s what was changed beside it."""
    for _ in range(60):
        if status(service, token) == expected:
            return
        time.sleep(0.1)
    pytest.fail(f"the service did not answer {expected}")


def test_people_are_listed_a_page_at_a_time(service: Service) -> None:
    made = {admin(service, "add", f"Guest {number}")[0]["person"] for number in range(3)}
    seen: set[str] = set()
    after: list[str] = []
    while True:
        rows = admin(service, "people", "--limit", "1", *after)
        seen |= {row["person"] for row in rows if "person" in row}
        following = [row["after"] for row in rows if "after" in row]
        if not following:
            break
        after = ["--after", following[0]]
    assert made <= seen


def test_a_token_is_not_offered_to_models_to_make(service: Service) -> None:
    for path in ("/mcp/tools/manage_tokens", "/mcp/tools/manage_scope"):
        answer = service.http.post(service.ready["api_url"] + path, json={})
        assert answer.status_code == 404


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["disable", "p_01ARZ3NDEKTSV4RRFFQ69G5FAV"], "no such person"),
        (["as", "p_01ARZ3NDEKTSV4RRFFQ69G5FAV", "token", "list"], "deleted"),
    ],
)
def test_what_is_not_there_is_said(service: Service, words: Sequence[str], says: str) -> None:
    done = zm("admin", "--home", str(service.home), *words, environment={**os.environ})
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("add", "{secret}"),
        ("as", "{person}", "token", "make", "--label", "{secret}"),
        ("as", "{person}", "scope", "team", "{secret}"),
    ],
)
def test_no_secret_becomes_a_name_or_a_label(service: Service, words: Sequence[str]) -> None:
    person = admin(service, "add", "Ada")[0]["person"]
    secret = "glpat-" + "aZ9_" * 5
    given = (word.format(secret=secret, person=person) for word in words)
    done = zm("admin", "--home", str(service.home), *given, environment={**os.environ})
    assert done.returncode == 1, done.stderr
    assert "secret_content_rejected" in done.stderr
    assert secret not in done.stdout + done.stderr
    assert secret not in json.dumps(admin(service, "people"))


def test_json_may_stand_behind_the_command_too(home: Path, person: str) -> None:
    done = zm("admin", "--home", str(home), "people", "--json", environment={**os.environ})
    assert json.loads(done.stdout)["person"] == person


def test_a_new_token_is_shown_with_what_ends_it(home: Path, person: str) -> None:
    words = ("admin", "--home", str(home), "as", person, "token", "make")
    secret, _, ends = zm(*words, environment={**os.environ}).stdout.splitlines()
    assert ends == f"To end it: zm token revoke {secret.split('_')[1]}"


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({}, "No AWS region: set AWS_DEFAULT_REGION or AWS_PROFILE."),
        ({"AWS_DEFAULT_REGION": "eu-central-1"}, "No AWS credentials"),
        ({"AWS_PROFILE": "nosuch"}, "check AWS_PROFILE"),
    ],
)
def test_a_table_without_region_or_credentials_is_refused_in_words(
    tmp_path: Path, variables: dict[str, str], says: str
) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    nothing = {
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    words = ("admin", "--table", "nosuch", "people")
    failed = zm(*words, environment={**kept, **nothing, **variables})
    assert (failed.returncode, says in failed.stderr) == (1, True), failed.stderr
    assert "Traceback" not in failed.stderr


def test_no_home_is_made_by_mistake(tmp_path: Any) -> None:
    with pytest.raises(Failure, match="zm serve"):
        commands.main(["--home", str(tmp_path / "typo"), "people"])
    assert not (tmp_path / "typo").exists()


ISSUER = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbCdEfGhI"


def refused(home: Path, *words: str) -> Failure:
    """How a command fails; argparse ends one that is wrong by itself."""
    with pytest.raises((Failure, SystemExit)) as ended:
        commands.main(["--home", str(home), *words])
    if isinstance(ended.value, Failure):
        return ended.value
    return Failure("", exit_code=int(str(ended.value.code)))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which no service ran yet."""
    SqliteTable(tmp_path / "table.sqlite3").close()
    return tmp_path


@pytest.fixture
def person(home: Path, capsys: pytest.CaptureFixture[str]) -> str:
    commands.main(["--home", str(home), "add"])
    return capsys.readouterr().out.strip()


def test_whom_somebody_signs_in_as_is_found_by_issuer_and_subject(
    home: Path, person: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*words: str) -> str:
        assert commands.main(["--home", str(home), *words]) == 0
        return capsys.readouterr().out

    run("link", person, ISSUER, "sub-1")
    assert run("find", ISSUER, "sub-1") == f"{person}\n"
    for issuer, subject in ((ISSUER, "sub-2"), (f"{ISSUER}x", "sub-1")):
        assert "Nobody signs in so" in str(refused(home, "find", issuer, subject))
    run("unlink", person, ISSUER, "sub-1")
    assert "Nobody signs in so" in str(refused(home, "find", ISSUER, "sub-1"))


@pytest.mark.parametrize(
    ("issuer", "subject"),
    [("", ""), ("", "sub-1"), (ISSUER, ""), ("\udcff", "x"), (ISSUER, "\udcff")],
)
def test_what_can_be_no_sign_in_is_none(home: Path, person: str, issuer: str, subject: str) -> None:
    for words in (["find"], ["unlink", person]):
        assert "check issuer and subject" in str(refused(home, *words, issuer, subject))


@pytest.mark.parametrize(
    "issuer",
    [
        "",
        "eu-central-1_AbCdEfGhI",
        ISSUER.replace("https", "http"),
        f"{ISSUER}/",
        f"{ISSUER}?x=1",
        f"{ISSUER}#x",
        f"{ISSUER}\n",
        ISSUER.replace("//", "//ada:secret@"),
        ISSUER.replace("cognito", "CÖGNITO"),
        f"https://{'a' * 3_000}",
    ],
)
def test_what_no_token_names_as_its_issuer_is_not_linked(
    home: Path, person: str, issuer: str
) -> None:
    failed = refused(home, "link", person, issuer, "sub-1")

    assert "An issuer is an https URL" in str(failed)
    assert "secret" not in str(failed)


@pytest.mark.parametrize("subject", ["", "x" * 256, "ad\u00e4", "a\nb"])
def test_what_is_no_subject_is_not_linked(home: Path, person: str, subject: str) -> None:
    assert "Pass the issuer's own id" in str(refused(home, "link", person, ISSUER, subject))


@pytest.mark.parametrize(
    "words",
    [
        ("disable", ""),
        ("scopes", "Ada"),
        ("quota", "p_" + "0" * 3_000, "7"),
        ("as", "", "token", "list"),
        ("people", "--after", "x"),
        ("people", "--limit", "0"),
        ("people", "--limit", "9" * 5_000),
        ("quota", "p_" + "0" * 26, "9" * 5_000),
        ("quota", "p_" + "0" * 26, "many"),
    ],
)
def test_an_odd_argument_is_a_wrong_command_line(home: Path, words: Sequence[str]) -> None:
    assert refused(home, *words).exit_code == USAGE


def test_a_table_in_the_cloud_is_administered_without_a_function(
    dynamo_table: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Composition, "table", dynamo_table)
    assert commands.main(["--table", "memories", "--json", "add", "Ada"]) == 0
    person = json.loads(capsys.readouterr().out)["person"]
    assert commands.main(["--table", "memories", "as", person, "token", "make"]) == 0
    assert capsys.readouterr().out.startswith("zmt_")
    assert commands.main(["--table", "memories", "people"]) == 0
    assert capsys.readouterr().out.split() == [person, "Ada"]
    with pytest.raises(Failure, match="--after takes"):
        commands.main(["--table", "memories", "people", "--after", "0:x"])
