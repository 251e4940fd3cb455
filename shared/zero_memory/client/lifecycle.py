"""`zm forget`, `close`, `revise`, `restore` and `erase`: what becomes of one memory."""

import argparse
import re
from collections.abc import Sequence

from zero_memory.client.api import call_tool
from zero_memory.client.arguments import parsed, parser, print_json, text_of
from zero_memory.client.connection import find_connection
from zero_memory.client.failure import USAGE, Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MEMORY_ID = re.compile(r"mem_[0-9A-HJKMNP-TV-Z]{26}")
_NO_REASON = "Forgotten at a terminal, without a reason given."


def forget(arguments: Sequence[str]) -> int:
    """Make a memory no longer hold."""
    options = _parser("forget", "A memory that no longer holds; it stays in history.")
    options.add_argument("reason", nargs="?", default=_NO_REASON, help="why, for those who look")
    chosen = _one(options, arguments, words="reason", so="put the reason in quotes")
    result = _call(chosen, "forget", reason=chosen.reason)
    if result is not None:
        done = "Forgotten" if result["changed"] else "It was no longer live"
        print(f"{done}: {result['id']}  (zm restore brings it back)")
    return 0


def close(arguments: Sequence[str]) -> int:
    """Close a task or a question."""
    options = _parser("close", "A task that is done or dropped, or a question that is answered.")
    options.add_argument("--outcome", help="what came of it, remembered in its place; - reads it")
    chosen = _one(options, arguments, words="outcome", so='what came of it is --outcome "…"')
    outcome = None if chosen.outcome is None else text_of(chosen.outcome)
    result = _call(chosen, "close_loop", outcome=outcome)
    if result is not None:
        done = "Closed" if result["changed"] else "It was closed already"
        print(f"{done}: {result['id']}  (zm restore opens it again)")
        if "outcome_id" in result:
            print(f"  outcome: {result['outcome_id']}")
    return 0


def revise(arguments: Sequence[str]) -> int:
    """Put a corrected wording in a memory's place."""
    options = _parser("revise", "A corrected wording in the place of a memory.")
    options.add_argument("content", help="the whole statement, or - to read it from standard input")
    chosen = _one(options, arguments, words="content", so="put the new wording in quotes")
    result = _call(chosen, "revise", content=text_of(chosen.content))
    if result is not None:
        done = "Revised" if result["changed"] else "It says so already"
        print(f"{done}: {result['id']}")
        if result["changed"]:
            print(f"  in the place of {chosen.memory_id}  (zm restore takes that one back)")
    return 0


def restore(arguments: Sequence[str]) -> int:
    """Bring a memory back, or undo one recorded change of it."""
    options = _parser("restore", "A memory that was forgotten, closed or superseded holds again.")
    options.add_argument("--audit", help="undo this one change instead; zm history names them")
    chosen = _one(options, arguments)
    result = _call(chosen, "restore_memory", audit_id=chosen.audit)
    if result is not None:
        done = "Undone" if chosen.audit else "Restored"
        state = "live" if result["live"] else "not live"
        print(f"{done if result['changed'] else 'Nothing to restore'}: {result['id']} is {state}")
        for ended in result.get("also_ended", ()):
            print(f"  {ended}, which stood in its place, ended")
        for restored in result.get("also_restored", ()):
            print(f"  {restored}, which stood in its place, holds again")
    return 0


def erase(arguments: Sequence[str]) -> int:
    """Destroy a memory."""
    options = _parser("erase", "A memory, with its words and its history, for good.")
    options.add_argument(
        "--confirm", required=True, metavar="ID", help="the same id again: nobody can undo this"
    )
    chosen = _one(options, arguments)
    result = _call(chosen, "erase_memory", confirm=chosen.confirm)
    if result is not None:
        print(f"Erased: {result['id']}")
    return 0


def _parser(command: str, description: str) -> argparse.ArgumentParser:
    options = parser(f"zm {command}", description)
    options.add_argument("memory_id", metavar="ID", help="mem_…, as zm recall and zm list print it")
    options.add_argument("--json", action="store_true", help="print the service's whole answer")
    return options


def _one(
    options: argparse.ArgumentParser, arguments: Sequence[str], *, words: str = "", so: str = ""
) -> argparse.Namespace:
    """A command line about one memory; `words` names its free text, and `so` says how to give it.

    Raises Failure for another id in the text's place, which would be taken for it without a word.
    """
    only_one = f"{options.prog} takes one ID; {so}." if so else f"{options.prog} takes one ID."
    chosen = parsed(options, arguments, more=only_one)
    if words and _MEMORY_ID.fullmatch(getattr(chosen, words) or ""):
        raise Failure(only_one, exit_code=USAGE)
    return chosen


def _call(chosen: argparse.Namespace, tool: str, **rest: object) -> "dict[str, Any] | None":
    """The tool's answer to word for a person; None when it was printed as JSON."""
    result = call_tool(find_connection(), tool, {"memory_id": chosen.memory_id, **rest})
    if not chosen.json:
        return result
    print_json(result)
    return None
