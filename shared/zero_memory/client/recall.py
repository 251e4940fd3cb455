"""`zm recall`: search at a terminal."""

import textwrap
from collections.abc import Sequence

from zero_memory.client.api import DAMAGED, call_tool
from zero_memory.client.arguments import add_place, parsed, parser, print_json
from zero_memory.client.connection import find_connection
from zero_memory.client.project import project_hint
from zero_memory.client.wording import searched_everywhere

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main(arguments: Sequence[str]) -> int:
    """Print the hits of a query, best first, or the memory that it is the id of."""
    options = parser("zm recall", "Search what is remembered.")
    options.add_argument("query", help="a question or topic; the id of a memory prints it whole")
    options.add_argument("-k", type=int, default=8, help="how many hits at most (%(default)s)")
    add_place(options)
    options.add_argument("--json", action="store_true", help="print the service's whole answer")
    chosen = parsed(options, arguments, more="Put the question in quotes.")
    hint = chosen.project or project_hint()
    result = call_tool(
        find_connection(),
        "recall",
        {"query": chosen.query, "k": chosen.k, "scopes": chosen.scope, "project_hint": hint},
    )
    if chosen.json:
        print_json(result)
        return 0
    by_id = not result["degraded"] and "unreadable" in result
    if by_id or result["memories"] or result["missing"]:
        _print_whole(result)
    else:
        _print_hits(result)
        if chosen.scope is None and result["session"]["attached_project"] is None:
            print(searched_everywhere(hint))
    for damaged in result.get("unreadable", ()):
        print(f"{damaged}  {DAMAGED}")
    return 0


def _print_hits(result: "dict[str, Any]") -> None:
    for hit in result["hits"]:
        _print_head(hit)
        print(textwrap.indent(hit["excerpt"], "    "))
    if not result["hits"]:
        print("Nothing found.")
    if "note" in result:
        print(result["note"])
    if result["degraded"]:
        print(f"Degraded: {result['degraded_reason']}")


def _print_whole(result: "dict[str, Any]") -> None:
    for memory in result["memories"]:
        _print_head(memory)
        print(textwrap.indent(memory["content"], "    "))
        if "original" in memory:
            print(textwrap.indent(memory["original"], "    | "))
        by = memory["author"] + (f" ({memory['agent_name']})" if "agent_name" in memory else "")
        print(f"  by {by}, {memory['created_at']}")
        if memory["entities"]:
            print(f"  about {', '.join(memory['entities'])}")
        if "invalidated_at" in memory:
            why = f": {memory['invalidated_reason']}" if "invalidated_reason" in memory else ""
            print(f"  ended {memory['invalidated_at']}{why}")
    for missing in result["missing"]:
        print(f"{missing}  There is no such memory.")


def _print_head(memory: "dict[str, Any]") -> None:
    words = [memory["id"], memory["kind"], memory["scope"], memory["age"]]
    if memory.get("disputed"):
        words.append("disputed")
    if "superseded_by" in memory:
        words.append(f"superseded by {memory['superseded_by']}")
    elif not memory.get("live", True):
        words.append("not live")
    print("  ".join(words))
