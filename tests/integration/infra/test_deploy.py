"""`make deploy`, with stand-ins for AWS, for SAM and for the build."""

import os
import pty
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.samples import REPOSITORY
from zero_memory.local.deployment import read_template

IDENTITY = """<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account>
<Arn>arn:aws:iam::123456789012:user/ada</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>
"""
OUTPUTS = {
    "McpUrl": "https://a1b2c3.execute-api.eu-central-1.amazonaws.com/mcp",
    "ApiUrl": "https://a1b2c3.execute-api.eu-central-1.amazonaws.com",
    "TableName": "zero-memory-Table-1ABC",
}
STACKS = f"""<DescribeStacksResponse><DescribeStacksResult><Stacks><member>
<StackName>zero-memory</StackName><Outputs>{
    "".join(
        f"<member><OutputKey>{key}</OutputKey><OutputValue>{value}</OutputValue></member>"
        for key, value in OUTPUTS.items()
    )
}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>"""
REFUSAL = """<ErrorResponse><Error><Code>ExpiredToken</Code><Message>The token is expired</Message>
</Error></ErrorResponse>"""

STAND_IN = '#!/bin/sh\necho "$(basename "$0")" "$@" >>"{log}"\nexit {code}\n'


class Aws(BaseHTTPRequestHandler):
    """Answers the two questions that a deployment asks; `signed_in` decides the first."""

    signed_in = True

    def do_POST(self) -> None:
        asked = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        body = {"GetCallerIdentity": IDENTITY, "DescribeStacks": STACKS}[asked["Action"][0]]
        self.send_response(200 if self.signed_in else 403)
        self.end_headers()
        self.wfile.write((body if self.signed_in else REFUSAL).encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


class SignedOut(Aws):
    signed_in = False


def serving(handler: type[Aws]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def aws() -> Iterator[str]:
    yield from serving(Aws)


@pytest.fixture
def signed_out() -> Iterator[str]:
    yield from serving(SignedOut)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose commands only write down that they were called."""
    for name in ("template.yaml", "samconfig.toml", "infra/deploy.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(REPOSITORY / name, tmp_path / name)
    for command in ("infra/build", "infra/lambda_python", ".work/venv-sam/bin/sam"):
        stand_in(tmp_path / command)
    return tmp_path


def stand_in(command: Path, code: int = 0) -> None:
    root = command.parents[1] if command.parent.name == "infra" else command.parents[3]
    command.parent.mkdir(parents=True, exist_ok=True)
    command.write_text(STAND_IN.format(log=root / "called", code=code), encoding="utf-8")
    command.chmod(0o755)


def deploy(
    checkout: Path, aws: str, *arguments: str, answers: str | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run it; with answers, on a terminal."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("AWS_")},
        "HOME": str(checkout),
        "AWS_ENDPOINT_URL": aws,
        "AWS_ACCESS_KEY_ID": "of-nobody",
        "AWS_SECRET_ACCESS_KEY": "of-nobody",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",
        **variables,
    }
    keyboard, terminal = pty.openpty()
    try:
        os.write(keyboard, (answers or "").encode())
        return subprocess.run(
            [sys.executable, checkout / "infra" / "deploy.py", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL if answers is None else terminal,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        os.close(keyboard)
        os.close(terminal)


def called(checkout: Path) -> list[str]:
    log = checkout / "called"
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def kept(checkout: Path) -> Mapping[str, str]:
    config = tomllib.loads((checkout / "samconfig.toml").read_text(encoding="utf-8"))
    return config["default"]["deploy"]["parameters"]


PARAMETERS = read_template(REPOSITORY)["Parameters"]


def test_the_first_time_it_asks_for_everything_and_keeps_the_answers(
    checkout: Path, aws: str
) -> None:
    answers = {"Search": "everything\ndomain", "LogLevel": "DEBUG"}
    typed = "".join(f"{answers.get(name, '')}\n" for name in PARAMETERS)

    done = deploy(checkout, aws, answers=f"eu-central-1\n{typed}")

    assert done.returncode == 0, done.stderr
    assert "One of: none, domain." in done.stdout
    assert kept(checkout)["region"] == "eu-central-1"
    overrides = kept(checkout)["parameter_overrides"]
    assert 'Search="domain"' in overrides
    assert 'LogLevel="DEBUG"' in overrides
    assert 'CallsAMinute="1200"' in overrides
    assert called(checkout) == ["lambda_python", "build", "sam deploy --region eu-central-1"]


def test_later_it_asks_nothing_that_it_knows(checkout: Path, aws: str) -> None:
    deploy(checkout, aws, "--yes", "--region", "eu-central-1")

    done = deploy(checkout, aws, answers="")

    assert done.returncode == 0, done.stderr
    assert "[" not in done.stdout
    again = deploy(checkout, aws, "--ask", answers="domain\n" + "\n" * len(PARAMETERS))
    assert again.returncode == 0, again.stderr
    assert 'Search="domain"' in kept(checkout)["parameter_overrides"]


def test_asked_again_it_offers_what_was_answered(checkout: Path, aws: str) -> None:
    answers = {
        "Search": "domain",
        "IdentityRedirectUris": "https://a.example/cb, https://b.example",
    }
    typed = "".join(f"{answers.get(name, '')}\n" for name in PARAMETERS)
    deploy(checkout, aws, "--region", "eu-central-1", answers=typed)
    before = kept(checkout)["parameter_overrides"]

    done = deploy(checkout, aws, "--ask", answers="\n" * len(PARAMETERS))

    assert done.returncode == 0, done.stderr
    assert "Search (none | domain) [domain]" in done.stdout
    assert kept(checkout)["parameter_overrides"] == before


def test_asking_and_asking_nothing_exclude_each_other(checkout: Path, aws: str) -> None:
    assert "choose one" in refused(deploy(checkout, aws, "--ask", "--yes"), checkout)


def test_it_says_where_what_and_for_how_much_before_and_what_to_do_afterwards(
    checkout: Path, aws: str
) -> None:
    done = deploy(checkout, aws, "--yes", "--region", "eu-central-1")

    before, _, after = done.stdout.partition("Deployed.")
    for said in ("123456789012", "eu-central-1", "USD a month", "The table stays"):
        assert said in before
    assert OUTPUTS["McpUrl"] in after
    assert f"zm admin --table {OUTPUTS['TableName']} add" in after
    assert f"zm login {OUTPUTS['ApiUrl']}" in after


def test_yes_is_also_for_the_changes(checkout: Path, aws: str) -> None:
    deploy(checkout, aws, "--yes", "--region", "eu-central-1")

    assert called(checkout)[-1] == "sam deploy --region eu-central-1 --no-confirm-changeset"


def test_another_region_is_the_one_that_sam_is_told(checkout: Path, aws: str) -> None:
    deploy(checkout, aws, "--yes", "--region", "eu-central-1")

    done = deploy(checkout, aws, "--yes", "--region", "eu-west-1")

    assert "eu-west-1" in done.stdout
    assert called(checkout)[-1] == "sam deploy --region eu-west-1 --no-confirm-changeset"


def refused(done: subprocess.CompletedProcess[str], checkout: Path) -> str:
    """What stands on standard error, of a run that changed nothing."""
    assert done.returncode == 1
    assert not [line for line in called(checkout) if line.startswith("sam")]
    assert "Traceback" not in done.stderr
    return done.stderr


def test_without_credentials_it_says_how_to_sign_in(
    checkout: Path, aws: str, signed_out: str
) -> None:
    nobody = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    options = ("--yes", "--region", "eu-central-1")

    missing = refused(deploy(checkout, aws, *options, **nobody), checkout)
    assert "Unable to locate credentials" in missing
    assert "aws sso login" in missing
    assert "expired" in refused(deploy(checkout, signed_out, *options), checkout)
    other = deploy(checkout, aws, *options, AWS_PROFILE="another")
    assert "profile" in refused(other, checkout)


def test_without_a_region_a_terminal_or_a_python_it_says_what_is_missing(
    checkout: Path, aws: str
) -> None:
    assert "--region" in refused(deploy(checkout, aws, "--yes"), checkout)
    assert "--region" in refused(deploy(checkout, aws, answers="here\n"), checkout)
    assert "--yes" in refused(deploy(checkout, aws), checkout)
    stand_in(checkout / "infra" / "lambda_python", code=1)
    assert "Python 3.13" in refused(deploy(checkout, aws, "--yes"), checkout)


@pytest.mark.parametrize("command", ["infra/build", ".work/venv-sam/bin/sam"])
def test_a_step_that_fails_ends_it(checkout: Path, aws: str, command: str) -> None:
    stand_in(checkout / command, code=3)

    done = deploy(checkout, aws, "--yes", "--region", "eu-central-1")

    assert done.returncode == 1
    assert "above" in done.stderr
    assert "Deployed" not in done.stdout
