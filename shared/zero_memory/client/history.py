"""`zm history`: what became of one memory, and who did what when."""

import textwrap
from collections.abc import Sequence

from zero_memory.client.api import call_tool
from zero_memory.client.arguments import parsed, parser, print_json
from zero_memory.client.connection import find_connection


def main(arguments: Sequence[str]) -> int:
    """Print versions and changes."""
    options = parser("zm history", "The versions of a memory, and every change of it.")
    options.add_argument("memory_id", metavar="ID", help="mem_…, as zm recall and zm list print it")
    options.add_argument("--cursor", help="go on behind a page of changes, as it says")
    options.add_argument("--json", action="store_true", help="print the service's whole answer")
    chosen = parsed(options, arguments)
    result = call_tool(
        find_connection(),
        "memory_history",
        {"memory_id": chosen.memory_id, "cursor": chosen.cursor},
    )
    if chosen.json:
        print_json(result)
        return 0
    print("Versions, by their birth:")
    for version in result["versions"]:
        state = "live" if version["live"] else "not live"
        here = " *" if version["id"] == result["id"] else ""
        print(f"  {version['id']}  {version['created_at']}  {version['author']}  {state}{here}")
        print(textwrap.indent(version["preview"], "      "))
    if "dispute" in result:
        dispute = result["dispute"]
        print(f"Disputed since {dispute['raised_at']} by {dispute['raised_by']}:")
        print(textwrap.indent(dispute["reason"], "      "))
    print("Changes, newest first (zm restore ID --audit AUD undoes one):")
    for change in result["audit"]:
        print(f"  {change['audit_id']}  {change['at']}  {change['by']}  {change['action']}")
        if "reason" in change:
            print(textwrap.indent(change["reason"], "      "))
    if "cursor" in result:
        print(f"More: the same command with --cursor {result['cursor']}")
    return 0
