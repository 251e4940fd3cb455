"""`make deploy`: say what will happen and ask what is wanted, deploy, and say what comes next.

The first time it asks for the region and each parameter of the template, and keeps the answers in
samconfig.toml, where `sam` reads them too; `--ask` asks again. `--yes` asks nothing, not even
whether the changes are wanted.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import Session, get_session

from zero_memory.local.deployment import read_template

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "samconfig.toml"
SECTION = "[default.deploy.parameters]"
SAM = ROOT / ".work" / "venv-sam" / "bin" / "sam"

REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d")
ALARM_USD = 0.10
"""A month of an alarm; this and what is said below: AWS's list prices of us-east-1."""

COSTS = {
    "Search": "domain: about 28 USD a month from its first hour on, used or not",
    "SnapStart": "PublishedVersions: about 4 USD a month for each GB of a function's memory",
    "Edge": "cloudfront: by the request; nothing while nobody calls",
}


class Refused(Exception):
    """What is missing, and what to do about it."""


@dataclass(frozen=True)
class Target:
    """Where the stack goes: whose account, which region, under which name."""

    session: Session
    account: str
    principal: str
    region: str
    stack: str


def main(arguments: Sequence[str]) -> int:
    """Deploy; returns the exit code."""
    options = argparse.ArgumentParser(prog="make deploy", description=__doc__)
    options.add_argument("--ask", action="store_true", help="ask for every parameter again")
    options.add_argument("--yes", action="store_true", help="ask nothing")
    options.add_argument("--region", help="in place of the one that was kept")
    asked = options.parse_args(arguments)
    try:
        return _deploy(asked)
    except Refused as refused:
        print(f"make deploy: {refused}", file=sys.stderr)
        return 1


def _deploy(asked: argparse.Namespace) -> int:
    template = read_template(ROOT)
    kept = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["default"]
    answers: dict[str, Any] = kept["deploy"]["parameters"]
    if asked.yes and asked.ask:
        raise Refused("--ask asks and --yes asks nothing; choose one.")
    if not asked.yes and not sys.stdin.isatty():
        raise Refused("this is no terminal to ask on; --yes asks nothing (make deploy ARGS=--yes).")
    _run(ROOT / "infra" / "lambda_python", otherwise="Python 3.13 is needed, to build.", quiet=True)
    target = _target(answers, asked, kept["global"]["parameters"]["stack_name"])
    print(_explanation(template, target))
    if "parameter_overrides" not in answers or asked.ask:
        values = _values(template["Parameters"], _kept(answers), ask=not asked.yes)
        _keep(target.region, values)
    _run(ROOT / "infra" / "build", otherwise="the build failed, as it says above.")
    unasked = ["--no-confirm-changeset"] if asked.yes else []
    where = ("--region", target.region)
    _run(
        SAM, "deploy", *where, *unasked, otherwise="the stack was not deployed; sam says why above."
    )
    print(_next(_outputs(target), target.region))
    return 0


def _run(command: Path, *arguments: str, otherwise: str, quiet: bool = False) -> None:
    """Run one of the project's own commands; raises Refused with `otherwise` when it fails."""
    done = subprocess.run(  # noqa: S603
        [command, *arguments],
        cwd=ROOT,
        env={**os.environ, "SAM_CLI_TELEMETRY": "0"},
        stdout=subprocess.DEVNULL if quiet else None,
        check=False,
    )
    if done.returncode:
        raise Refused(otherwise)


def _target(answers: Mapping[str, Any], asked: argparse.Namespace, stack: str) -> Target:
    session = get_session()
    try:
        region = asked.region or answers.get("region") or session.get_config_variable("region")
        if region is None and not asked.yes:
            region = input("AWS region, such as eu-central-1: ").strip()
        if not region or not REGION.fullmatch(region):
            raise Refused("name an AWS region: make deploy ARGS='--region eu-central-1'.")
        sts: Any = session.create_client("sts", region_name=region)
        caller: dict[str, str] = sts.get_caller_identity()
    except (BotoCoreError, ClientError) as error:
        raise Refused(
            f"AWS does not know who you are ({error}). Sign in first (aws sso login, aws "
            "configure), or set AWS_PROFILE."
        ) from error
    return Target(session, caller["Account"], caller["Arn"], region, stack)


def _explanation(template: Mapping[str, Any], target: Target) -> str:
    kinds = [resource["Type"] for resource in template["Resources"].values()]
    functions = kinds.count("AWS::Serverless::Function")
    alarms = kinds.count("AWS::CloudWatch::Alarm")
    costs = "\n".join(f"    {cost}" for cost in COSTS.values())
    return f"""
zero-memory on AWS

  account   {target.account}, as {target.principal}
  region    {target.region}
  stack     {target.stack}

What happens: the functions and their layers are built here, which takes some minutes; uploaded to a
bucket that SAM keeps in the account; and the stack is made or updated: an HTTP API, {functions} functions,
a table, a bucket for exports, queues, alarms, and what the parameters add. Before anything changes,
SAM shows what would. The table stays when the stack is deleted.

What it costs, roughly: by use, per request and per GB kept.
  While nobody calls, at most {alarms * ALARM_USD:.2f} USD a month for {alarms} alarms, 0.29 for
  a queue and the schedule, and what is stored. By parameter:
{costs}
"""  # noqa: E501 - what people read is wrapped for them


def _values(parameters: Mapping[str, Any], kept: Mapping[str, str], *, ask: bool) -> dict[str, str]:
    """A value for each parameter of the template: what was kept, its default, or the answer."""
    if ask:
        print("Parameters; Enter takes what stands in brackets.\n")
    defaults = {
        name: kept.get(name, str(declared["Default"])) for name, declared in parameters.items()
    }
    if not ask:
        return defaults
    return {name: _answer(name, declared, defaults[name]) for name, declared in parameters.items()}


def _kept(answers: Mapping[str, Any]) -> dict[str, str]:
    """The parameters as `_keep` wrote them."""
    words = shlex.split(answers.get("parameter_overrides", ""))
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _answer(name: str, declared: Mapping[str, Any], default: str) -> str:
    allowed = [str(value) for value in declared.get("AllowedValues", ())]
    print(" ".join(declared["Description"].split()))
    if name in COSTS:
        print(f"Costs: {COSTS[name]}.")
    choice = f" ({' | '.join(allowed)})" if allowed else ""
    while True:
        answer = input(f"  {name}{choice} [{default}]: ").strip() or default
        if allowed and answer not in allowed:
            print(f"  One of: {', '.join(allowed)}.")
        elif '"' in answer:
            print("  Without quotation marks.")
        else:
            return answer


def _keep(region: str, values: Mapping[str, str]) -> None:
    """Write the answers where `sam deploy` reads them, in place of earlier ones."""
    lines = [
        line
        for line in CONFIG.read_text(encoding="utf-8").splitlines()
        if not line.startswith(("region =", "parameter_overrides ="))
    ]
    overrides = " ".join(f'{name}="{value}"' for name, value in values.items())
    at = lines.index(SECTION) + 1
    lines[at:at] = [
        f"region = {json.dumps(region)}",
        f"parameter_overrides = {json.dumps(overrides)}",
    ]
    CONFIG.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _outputs(target: Target) -> dict[str, str]:
    client: Any = target.session.create_client("cloudformation", region_name=target.region)
    stack: dict[str, Any] = client.describe_stacks(StackName=target.stack)["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def _next(outputs: Mapping[str, str], region: str) -> str:
    admin = f"AWS_DEFAULT_REGION={region} .venv/bin/zm admin --table {outputs['TableName']}"
    return f"""
Deployed.

  MCP URL   {outputs["McpUrl"]}
  API URL   {outputs["ApiUrl"]}
  table     {outputs["TableName"]}

Next, the first person and their token, at the table itself:

  {admin} add "Your name"
  {admin} as p_… token make --label laptop --grant memory:read --grant memory:write --grant admin

Then, with the token that it prints:

  .venv/bin/zm login {outputs["ApiUrl"]}
  claude mcp add --transport http --scope user zero-memory {outputs["McpUrl"]} \\
    --header "Authorization: Bearer zmt_…"

docs/deploy.md says how to change, update and remove the stack."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
