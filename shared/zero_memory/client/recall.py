"""`zm recall`: search at a terminal."""

import json
import textwrap
from collections.abc import Sequence

from zero_memory.client.api import call_tool
from zero_memory.client.arguments import parser
from zero_memory.client.connection import find_connection
from zero_memory.client.project import project_hint


def main(arguments: Sequence[str]) -> int:
    """Print the hits of a query, best first."""
    options = parser("zm recall", "Search what is remembered.")
    options.add_argument("query")
    options.add_argument("-k", type=int, default=8, help="how many hits at most (%(default)s)")
    options.add_argument("--scope", action="append", help="search only here; * is all (repeatable)")
    options.add_argument(
        "--project", help="git remote, path or name (default: that of the working directory)"
    )
    options.add_argument("--json", action="store_true", help="print the service's whole answer")
    chosen = options.parse_args(arguments)
    result = call_tool(
        find_connection(),
        "recall",
        {
            "query": chosen.query,
            "k": chosen.k,
            "scopes": chosen.scope,
            "project_hint": chosen.project or project_hint(),
        },
    )
    if chosen.json:
        print(json.dumps(result, ensure_ascii=False))
        return 0
    for hit in result["hits"]:
        print(f"{hit['id']}  {hit['kind']}  {hit['scope']}  {hit['age']}")
        print(textwrap.indent(hit["excerpt"], "    "))
    if not result["hits"]:
        print("Nothing found.")
    if "note" in result:
        print(result["note"])
    if result["degraded"]:
        print(f"Degraded: {result['degraded_reason']}")
    return 0
