"""A handler process over a home that others use too: one request a line in, one answer a line out.

`python -m tests.contract.isolation.process TABLE`. A request is `{"at": ms, "tool": name or null,
"token": …, "body": …, "headers": …}`; without a tool it goes to the MCP endpoint.
"""

import json
import sys
from pathlib import Path

from tests.clock import ManualClock
from tests.contract.isolation.edge import HANDLERS, PROTOCOL, Edge, send
from zero_memory.adapters.sqlite import SqliteTable
from zero_memory.adapters.table_index import TableIndex
from zero_memory.runtime import bootstrap


def main() -> None:
    path = Path(sys.argv[1])
    table, clock = SqliteTable(path), ManualClock()
    composed = Edge(table, TableIndex(table, limit=1_000), clock, path.parent)
    bootstrap._composition = composed  # pyright: ignore[reportPrivateUsage]
    for line in sys.stdin:
        asked = json.loads(line)
        clock.at = asked["at"]
        tool = asked["tool"]
        handler = PROTOCOL if tool is None else HANDLERS[tool]
        where = "/mcp" if tool is None else f"/tools/{tool}"
        answer = send(handler, where, asked["token"], asked["body"], asked["headers"])
        sys.stdout.write(json.dumps([answer.status, dict(answer.headers), answer.text]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
