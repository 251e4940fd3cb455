"""`zm "fact"`: quick capture."""

import os
from collections.abc import Sequence

from zero_memory.client.api import call_tool
from zero_memory.client.arguments import parser, print_json, text_of, too_many
from zero_memory.client.commands import nearest
from zero_memory.client.connection import find_connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_IN_QUOTES = "Put the statement in quotes."


def main(arguments: Sequence[str]) -> int:
    """Remember one statement; prints where it went."""
    return _capture("zm", arguments)


def remember(arguments: Sequence[str]) -> int:
    """The same, by the name that the service's tool has."""
    return _capture("zm remember", arguments)


def _capture(prog: str, arguments: Sequence[str]) -> int:
    options = parser(prog, "Remember one statement.")
    options.add_argument("fact", help="what to remember, or - to read it from standard input")
    kind = options.add_mutually_exclusive_group()
    kind.add_argument("--kind", help="fact, decision, preference, convention, gotcha, reference, …")
    kind.add_argument("--task", action="store_const", dest="kind", const="task", help="a task")
    options.add_argument("--scope", help="a scope's path, core, or personal")
    options.add_argument(
        "--project", help="git remote, path or name (default: that of the working directory)"
    )
    options.add_argument("--json", action="store_true", help="print the service's whole answer")
    chosen, left = options.parse_known_args(arguments)
    if left:
        meant = nearest(chosen.fact) if prog == "zm" else None
        raise too_many(options, left, _IN_QUOTES if meant is None else _meant(chosen.fact, meant))
    result = call_tool(
        find_connection(),
        "remember",
        {
            "content": text_of(chosen.fact),
            "kind": chosen.kind,
            "scope": chosen.scope,
            "project_hint": chosen.project or (None if chosen.scope else _project()),
            "agent_name": "zm",
            "idempotency_key": os.urandom(16).hex(),
        },
    )
    if chosen.json:
        print_json(result)
    else:
        _tell(result)
    return 0


def _meant(word: str, command: str) -> str:
    return (
        f"There is no command “{word}”; did you mean zm {command}? "
        "A statement to remember goes in quotes."
    )


def _tell(result: "dict[str, Any]") -> None:
    done = "Already known" if result["deduplicated"] else "Remembered"
    print(f"{done} in {result['scope']}: {result['id']}")
    if "newly" in result["session"]:
        print(f"  {result['session']['line']}")
    for advice in ("routing_reason", "status_hint"):
        if advice in result:
            print(f"  {result[advice]}")
    for similar in result["similar_existing"]:
        print(f"  similar: {similar['id']} ({similar['age']}) {similar['preview']}")
    if result["similar_existing"]:
        print("  If this takes the place of one of these, let that one go: zm forget ID")


def _project() -> str | None:
    from zero_memory.client.project import project_hint  # starts a process; not with --scope

    return project_hint()
