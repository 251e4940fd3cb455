"""`zm list`: live memories, newest first."""

import textwrap
from collections.abc import Sequence

from zero_memory.client.api import DAMAGED, call_tool
from zero_memory.client.arguments import add_place, parsed, parser, print_json
from zero_memory.client.connection import find_connection
from zero_memory.client.project import project_hint
from zero_memory.client.wording import searched_everywhere


def main(arguments: Sequence[str]) -> int:
    """Print one page."""
    options = parser("zm list", "Live memories, newest first; to find something use zm recall.")
    add_place(options)
    options.add_argument("--kind", action="append", help="only this kind (repeatable)")
    options.add_argument("--entity", help="only what mentions it")
    options.add_argument("--since", help="only from then on, as in 2026-01-31 (UTC)")
    options.add_argument("--until", help="only until then; a date is in it, to its end")
    options.add_argument("--limit", type=int, default=20, help="how many at most (%(default)s)")
    options.add_argument("--cursor", help="go on behind a page, as it says")
    options.add_argument("--json", action="store_true", help="print the service's whole answer")
    chosen = parsed(options, arguments)
    hint = chosen.project or project_hint()
    result = call_tool(
        find_connection(),
        "list_memories",
        {
            "scopes": chosen.scope,
            "project_hint": hint,
            "kinds": chosen.kind,
            "entity": chosen.entity,
            "since": chosen.since,
            "until": chosen.until,
            "limit": chosen.limit,
            "cursor": chosen.cursor,
        },
    )
    if chosen.json:
        print_json(result)
        return 0
    for memory in result["memories"]:
        disputed = "  disputed" if memory.get("disputed") else ""
        print(f"{memory['id']}  {memory['kind']}  {memory['scope']}  {memory['age']}{disputed}")
        print(textwrap.indent(memory["preview"], "    "))
    for damaged in result.get("unreadable", ()):
        print(f"{damaged}  {DAMAGED}")
    if "cursor" in result:
        print(f"More: the same command with --cursor {result['cursor']}")
    elif not result["memories"] and "unreadable" not in result:
        print("Nothing here.")
    if chosen.scope is None and result["session"]["attached_project"] is None:
        print(searched_everywhere(hint))
    return 0
