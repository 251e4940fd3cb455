"""`zm "fact"`: quick capture."""

import os
from collections.abc import Sequence

from zero_memory.client.api import call_tool
from zero_memory.client.arguments import parser, print_json, text_of
from zero_memory.client.connection import find_connection


def main(arguments: Sequence[str]) -> int:
    """Remember one statement; prints where it went."""
    options = parser("zm", "Remember one statement.")
    options.add_argument("fact", help="what to remember, or - to read it from standard input")
    kind = options.add_mutually_exclusive_group()
    kind.add_argument("--kind", help="fact, decision, preference, convention, gotcha, reference, …")
    kind.add_argument("--task", action="store_const", dest="kind", const="task", help="a task")
    options.add_argument("--scope", help="a scope's path, core, or personal")
    options.add_argument(
        "--project", help="git remote, path or name (default: that of the working directory)"
    )
    options.add_argument("--json", action="store_true", help="print the service's whole answer")
    chosen = options.parse_args(arguments)
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
        return 0
    done = "Already known" if result["deduplicated"] else "Remembered"
    print(f"{done} in {result['scope']}: {result['id']}")
    if "newly" in result["session"]:
        print(f"  {result['session']['line']}")
    for advice in ("routing_reason", "hint", "anchor_hint", "status_hint"):
        if advice in result:
            print(f"  {result[advice]}")
    for similar in result["similar_existing"]:
        print(f"  similar: {similar['id']} ({similar['age']}) {similar['preview']}")
    return 0


def _project() -> str | None:
    from zero_memory.client.project import project_hint  # starts a process; not with --scope

    return project_hint()
