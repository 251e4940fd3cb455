"""`zm scope` and `zm token`: one's own scopes and access tokens.

The command lines are read here for `zm admin` too, which acts for anybody, at the table itself.
"""

import argparse
from collections.abc import Mapping, Sequence

from zero_memory.client.api import call_tool
from zero_memory.client.arguments import parsed, parser, print_json
from zero_memory.client.connection import find_connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROLES = ("reader", "writer", "admin")
GRANTS = ("memory:read", "memory:write", "rules:approve", "admin")
_QUOTE_NAMES = "Put a name of several words in quotes."
_FOR_AGENTS = ("memory:read", "memory:write")


def scope(arguments: Sequence[str]) -> int:
    """Change one's scopes."""
    return _ask(parsed(scope_parser("zm scope"), arguments, more=_QUOTE_NAMES))


def token(arguments: Sequence[str]) -> int:
    """List, make and end one's tokens."""
    return _ask(parsed(token_parser("zm token"), arguments))


def _ask(asked: argparse.Namespace) -> int:
    """Ask the service, and print what it answers."""
    tool, wanted = request(asked)
    print_answer(call_tool(find_connection(), tool, wanted), as_json=asked.json)
    return 0


def scope_parser(prog: str) -> argparse.ArgumentParser:
    """The command line about scopes."""
    options = parser(prog, "Who is in your scopes; zm status lists them.")
    actions = options.add_subparsers(dest="action", required=True, metavar="ACTION")
    members = _action(actions, "members", "who is in a scope, as what", "scope")
    members.add_argument("--cursor", help="go on behind a page, as it says")
    _action(actions, "team", "make a team", "name")
    _action(actions, "invite", "make a code that lets one person in", "scope", "role")
    _action(actions, "accept", "join the scope that a code invites into", "code")
    _action(actions, "role", "give a member another role", "scope", "person", "role")
    _action(actions, "remove", "take a member out; what they wrote stays", "scope", "person")
    _action(actions, "leave", "leave a scope; what you wrote stays", "scope")
    _action(actions, "hand-over", "make another member the owner", "scope", "person")
    _action(actions, "rename", "give a scope another name", "scope", "name")
    return options


def token_parser(prog: str) -> argparse.ArgumentParser:
    """The command line about access tokens."""
    options = parser(prog, "Your access tokens.")
    actions = options.add_subparsers(dest="action", required=True, metavar="ACTION")
    _action(actions, "list", "list them, without their secrets")
    make = _action(actions, "make", "make one; it is shown this once")
    make.add_argument("--label", default="", help="what it is for")
    make.add_argument(
        "--grant",
        action="append",
        choices=GRANTS,
        help="what it may do (repeatable; memory:read and memory:write)",
    )
    make.add_argument("--days", type=int, help="how long it lasts (for good)")
    _action(actions, "revoke", "end one, within 5 s everywhere", "public_id")
    return options


def request(asked: argparse.Namespace) -> "tuple[str, dict[str, Any]]":
    """The tool that a command line calls, and its arguments."""
    values = {name: value for name, value in vars(asked).items() if name not in {"json", "action"}}
    if asked.action in {"list", "make", "revoke"}:
        if asked.action == "make":
            values["grants"] = values.pop("grant") or _FOR_AGENTS
        return "manage_tokens", {"action": asked.action, **values}
    if asked.action == "members":
        return "describe_scope", values
    action = {"team": "make_team", "role": "set_role", "hand-over": "hand_over"}.get(asked.action)
    return "manage_scope", {"action": action or asked.action, **values}


def print_answer(answer: "Mapping[str, Any]", *, as_json: bool) -> None:
    """What a person reads of an answer, or its JSON on one line."""
    if as_json:
        print_json(answer)
        return
    for described in answer.get("scopes", ()):
        _print_members(described)
    if answer.get("token"):
        print(f"{answer['token']}\nIt is shown this once.")
        for made in answer["tokens"]:
            print(f"To end it: zm token revoke {made['public_id']}")
    elif "tokens" in answer:
        _print_tokens(answer["tokens"])
    elif answer.get("code"):
        print(f"{answer['code']}\nIt is shown this once.")
    elif "scope" in answer:
        role = f", as {answer['role']}" if answer.get("role") else ""
        print(f"Done: {answer['scope']}{role}")


def _print_tokens(tokens: "Sequence[Mapping[str, Any]]") -> None:
    rows = [("id", "lasts", "may", "label")]
    rows += [
        (token["public_id"], _lasts(token), ", ".join(token["grants"]), token["label"])
        for token in tokens
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _lasts(token: "Mapping[str, Any]") -> str:
    """Until when a token is taken, by the day."""
    if token.get("revoked_at"):
        return f"revoked {token['revoked_at'][:10]}"
    return f"until {token['expires_at'][:10]}" if token.get("expires_at") else "for good"


def _print_members(described: "Mapping[str, Any]") -> None:
    for member in described["members"]:
        owner = "owner" if member["person"] == described["owner"] else ""
        words = (member["person"], member["role"], owner, member["name"])
        print("  ".join(word for word in words if word))
    if described.get("cursor"):
        print(f"More: the same command with --cursor {described['cursor']}")


def _action(actions: "Any", name: str, does: str, *needs: str) -> argparse.ArgumentParser:
    options = actions.add_parser(name, help=does, description=does)
    options.add_argument("--json", action="store_true", help="print one line of JSON")
    for need in needs:
        options.add_argument(need, choices=ROLES if need == "role" else None)
    return options
