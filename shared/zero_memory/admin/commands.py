"""`zm admin`: people, their quotas, on their behalf their tokens and scopes; the search index.

Works at the table itself, with the service running or not: the local home's file, or a DynamoDB
table with the credentials of AWS's usual chain. Whoever can read either may do all of this anyway.
A running service notices within 5 s.
"""

import argparse
import json
import re
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointResolutionError,
    NoCredentialsError,
    NoRegionError,
    ProfileNotFound,
)
from msgspec.structs import asdict

from zero_memory.adapters.local_index import LocalIndex
from zero_memory.adapters.sqlite import DamagedFile, NewerSchema, SqliteTable
from zero_memory.client.arguments import parsed, parser, path_of
from zero_memory.client.failure import USAGE, Failure
from zero_memory.client.people import print_answer, request, scope_parser, token_parser
from zero_memory.client.wording import at_a_terminal
from zero_memory.contracts.errors import Refusal
from zero_memory.contracts.shapes import PERSON_ID
from zero_memory.memory.guard import refuse_secrets
from zero_memory.places import TABLE_FILE, home_folder
from zero_memory.ports.search_index import IndexUnavailable
from zero_memory.ports.table import MAX_PAGE, Table, TableUnavailable
from zero_memory.retrieval.reindexing import Progress, rebuild, reindex
from zero_memory.runtime.arguments import parse_arguments
from zero_memory.runtime.bootstrap import Composition
from zero_memory.runtime.settings import Settings
from zero_memory.scopes.access import access_of
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.identity import list_people, make_person, set_disabled, set_quota
from zero_memory.scopes.logins import find_login, link_login, unlink_login
from zero_memory.scopes.model import GRANTS, Person
from zero_memory.tools.catalogue import PEOPLES_TOOLS, TOOLS

_TOLD_EVERY_S = 2.0
_DIGITS = 9


def main(arguments: Sequence[str]) -> int:
    """Run one command. Raises Failure."""
    asked, rest = _parser().parse_known_args(arguments)
    if rest and asked.command != "as":
        raise Failure(f"zm admin {asked.command} takes no more arguments.", exit_code=USAGE)
    composition = _composition(asked)
    try:
        with nullcontext() if asked.table is None else _in_the_cloud(asked.table):
            table = composition.table
            if isinstance(table, SqliteTable):
                with closing(table):
                    return _run(composition, asked)
            return _run(composition, asked)
    except Refusal as refusal:
        raise Failure(at_a_terminal(refusal.message, refusal.details)) from refusal
    except (NewerSchema, DamagedFile, TableUnavailable) as away:
        raise Failure(f"{asked.table or asked.home} can't be used: {away}.") from away


@contextmanager
def _in_the_cloud(table: str) -> Generator[None]:
    """Words what AWS and its library have against a command."""
    try:
        yield
    except NoCredentialsError as none:
        raise Failure("No AWS credentials: sign in to AWS, or set AWS_PROFILE.") from none
    except ClientError as refused:
        said = refused.response.get("Error", {})
        why = f"{said.get('Code', 'refused')}: {said.get('Message', '')}"
        raise Failure(f"{table} can't be used: AWS answers {why}") from refused
    except ProfileNotFound as none:
        raise Failure(f"{none}: check AWS_PROFILE.") from none
    except (NoRegionError, EndpointResolutionError) as none:  # the rules of a service miss it
        raise Failure("No AWS region: set AWS_DEFAULT_REGION or AWS_PROFILE.") from none
    except BotoCoreError as failed:
        raise Failure(f"{table} can't be used: {failed}") from failed


def _parser() -> argparse.ArgumentParser:
    options = parser("zm admin", "For whoever runs the service, at the table itself.")
    where = options.add_mutually_exclusive_group()
    where.add_argument(
        "--home",
        type=lambda text: Path(path_of(text)),
        default=Path(home_folder()),
        help="%(default)s",
    )
    where.add_argument("--table", help="a DynamoDB table, by your AWS credentials")
    options.add_argument(
        "--search-endpoint", metavar="URL", help="the table's OpenSearch domain, for reindex"
    )
    options.add_argument("--json", action="store_true", help="print one line of JSON")
    commands = options.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add = commands.add_parser("add", help="make a person")
    add.add_argument("name", nargs="?", default="", help="what others see")
    people = commands.add_parser("people", help="list people, a page at a time")
    people.add_argument("--after", help="continue behind a page, as it says")
    people.add_argument("--limit", type=_page, default=100, metavar="N", help="%(default)s")
    for name, does in (
        ("disable", "shut a person out: every token of theirs fails"),
        ("enable", "let a person in again"),
        ("scopes", "list the scopes that a person is in"),
    ):
        commands.add_parser(name, help=does).add_argument("person", type=_person)
    quota = commands.add_parser("quota", help="how many calls a minute a person may make")
    quota.add_argument("person", type=_person)
    quota.add_argument("calls", type=_calls, help="a number, or `default`")
    for name, does in (
        ("link", "have somebody sign in as a person: ISSUER is the user pool's URL"),
        ("unlink", "end that they sign in as this person"),
    ):
        login = commands.add_parser(name, help=does)
        login.add_argument("person", type=_person)
        _add_login(login)
    _add_login(commands.add_parser("find", help="whom somebody signs in as"))
    commands.add_parser("reindex", help="build the search index anew from the table")
    for name, command in commands.choices.items():
        if name == "as":  # what follows has options of its own
            continue
        command.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="print one line of JSON"
        )
    acting = commands.add_parser("as", help="act for a person: `scope …` or `token …`")
    acting.add_argument("person", type=_person)
    acting.add_argument("kind", choices=("scope", "token"))
    acting.add_argument("words", nargs=argparse.REMAINDER, help="as `zm scope` and `zm token`")
    return options


def _add_login(options: argparse.ArgumentParser) -> None:
    options.add_argument("issuer", help="the user pool's URL, as the stack's output Issuer says it")
    options.add_argument("subject", help="who signs in, by the issuer's own id (`sub`)")


def _person(text: str) -> str:
    if re.search(PERSON_ID, text) is None:
        raise argparse.ArgumentTypeError("a person is p_ and 26 characters; people lists them")
    return text


def _page(text: str) -> int:
    if not 1 <= (size := _number(text)) <= MAX_PAGE:
        raise argparse.ArgumentTypeError(f"a page has 1 to {MAX_PAGE:,} people")
    return size


def _calls(text: str) -> int | None:
    return None if text == "default" else _number(text)


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > _DIGITS:
        raise argparse.ArgumentTypeError(f"a number has 1 to {_DIGITS} digits")
    return int(text)


def _composition(asked: argparse.Namespace) -> Composition:
    if asked.table is not None:
        endpoint = asked.search_endpoint
        return Composition(
            Settings(
                home="aws",
                table_name=asked.table,
                search="domain" if endpoint else "none",
                search_endpoint=endpoint or "",
            )
        )
    if not (asked.home / TABLE_FILE).exists():
        raise Failure(
            f"There is no home in {asked.home}. Start it once with: zm serve", exit_code=USAGE
        )
    return Composition(Settings(home="local", data_dir=asked.home))


def _run(composition: Composition, asked: argparse.Namespace) -> int:
    table = composition.table
    match asked.command:
        case "add":
            refuse_secrets([("name", asked.name)])
            _print([_card(make_person(table, composition.clock, asked.name))], asked)
        case "people":
            _list(table, asked)
        case "disable" | "enable":
            disabled = asked.command == "disable"
            _print([_card(set_disabled(table, asked.person, disabled=disabled))], asked)
        case "quota":
            _print([_card(set_quota(table, asked.person, asked.calls))], asked)
        case "link" | "unlink":
            change = link_login if asked.command == "link" else unlink_login
            change(table, asked.person, asked.issuer, asked.subject)
        case "find":
            _print([_card(find_login(table, asked.issuer, asked.subject))], asked)
        case "scopes":
            memberships = access_of(table, asked.person).memberships
            _print(({"path": each.path, "role": each.role} for each in memberships), asked)
        case "reindex":
            return _reindex(composition, asked)
        case _:
            _act(composition, asked)
    return 0


def _list(table: Table, asked: argparse.Namespace) -> None:
    try:
        page = list_people(table, after=asked.after, limit=asked.limit)
    except ValueError:
        raise Failure("--after takes what a page before it ended with.", exit_code=USAGE) from None
    _print(map(_card, page.records), asked)
    if page.next is not None and not asked.json:
        print(f"More: --after {page.next}")
    elif page.next is not None:
        print(json.dumps({"after": page.next}))


def _reindex(composition: Composition, asked: argparse.Namespace) -> int:
    """Build the index anew, saying how far it is; 1 when memories are left out, which are named."""
    table = composition.table
    delivered = table.acknowledged() if isinstance(table, SqliteTable) else 0
    done = Progress()
    told = time.monotonic()
    try:
        index = composition.derived_index
    except IndexUnavailable as away:  # as while a service has it: nothing was begun
        raise Failure(str(away)) from away
    try:
        with ExitStack() as stack:
            if isinstance(index, LocalIndex):
                stack.callback(index.close)
            for done in _building(composition):
                if time.monotonic() >= told + _TOLD_EVERY_S:
                    told = time.monotonic()
                    _tell(done, asked, finished=False)
            if isinstance(index, LocalIndex):
                index.mark_applied(delivered)
    except (IndexUnavailable, TableUnavailable) as away:
        raise Failure(f"{away} The new index is not finished: run this again.") from away
    _tell(done, asked, finished=True)
    return 1 if done.refused else 0


def _building(composition: Composition) -> Iterator[Progress]:
    index = composition.derived_index
    if index is None:
        return rebuild(composition.table, composition.index, composition.embedder)
    return reindex(composition.table, composition.embedder, index)


def _tell(done: Progress, asked: argparse.Namespace, *, finished: bool) -> None:
    if asked.json:
        print(json.dumps({**asdict(done), "finished": finished}), flush=True)
        return
    print(
        f"{'Done' if finished else 'So far'}: {done.indexed:,} memories, "
        f"{done.embedded:,} embedded again",
        flush=True,
    )
    if finished and done.refused:
        print(f"Not indexed: {', '.join(done.refused)}. Recall does not find these.")


def _act(composition: Composition, asked: argparse.Namespace) -> None:
    """Run one of the tools by which people manage their own, in somebody's name."""
    prog = f"zm admin as {asked.person} {asked.kind}"
    words = parsed({"scope": scope_parser, "token": token_parser}[asked.kind](prog), asked.words)
    name, arguments = request(words)
    access_of(composition.table, asked.person)
    (tool,) = (each for each in (*PEOPLES_TOOLS, *TOOLS) if each.name == name)
    caller = Caller(asked.person, asked.person, frozenset(GRANTS))
    answer = tool.run(composition, caller, parse_arguments(tool.input, _said(arguments)))
    print_answer(answer.model_dump(mode="json"), as_json=asked.json or words.json)


def _said(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _card(person: Person) -> dict[str, Any]:
    return {
        "person": person.person,
        "name": person.name,
        "disabled": person.disabled,
        "calls_a_minute": person.calls_a_minute,
    }


def _print(rows: Iterable[Mapping[str, Any]], asked: argparse.Namespace) -> None:
    for row in rows:
        if asked.json:
            print(json.dumps(row, ensure_ascii=False))
            continue
        flags = (name for name, value in row.items() if value is True)
        values = (str(value) for value in row.values() if value not in {None, True, False, ""})
        print("  ".join((*values, *flags)))
