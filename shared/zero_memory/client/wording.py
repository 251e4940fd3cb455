"""What the service tells agents, in a terminal's own words.

Its messages name tools and their arguments, which nobody has at a terminal. Each is known by how it
begins, which a test holds against the service's source; all others are shown as they are.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

AT_A_TERMINAL = {
    "scope_target_required:": (
        "scope_target_required: nothing says where this belongs, as this is no git repository. "
        "Give --scope (core, personal or a path) or --project (a name, git remote or folder)."
    ),
    "project_hint_unresolvable: this": (
        "project_hint_unresolvable: no project of yours is known so. Give --project a git remote, "
        "a repository's root or a name, or give --scope."
    ),
    "project_hint_unresolvable: several": (
        "project_hint_unresolvable: several projects have this name. Give --scope one of these: {}."
    ),
    "There is no such scope": (
        "There is no such scope among yours. zm status lists them; core and personal always work."
    ),
    "There is no such memory;": (
        "There is no such memory among yours; zm recall and zm list print the ids."
    ),
    "This memory has no such audit record;": (
        "This memory has no such audit record; zm history ID lists them."
    ),
    "This memory has another past here": (
        "This memory has another past here, which is kept; zm history ID shows it."
    ),
    "Only an admin of this scope": (
        "Only an admin of this scope may do this. zm scope members SCOPE names them."
    ),
    "Only its owner can": (
        "Only its owner can hand a scope over. zm scope members SCOPE names them."
    ),
    "There is no such member": (
        "There is no such member. zm scope members SCOPE names who is in a scope."
    ),
    "You are in this scope already;": (
        "You are in this scope already; zm scope members SCOPE shows your role."
    ),
}
"""A terminal's words, by how the service's begin; `{}` is for the candidates that it names."""


def at_a_terminal(message: str, details: "Mapping[str, Any] | None" = None) -> str:
    """What a person at a terminal is told in place of a message of the service."""
    for beginning, words in AT_A_TERMINAL.items():
        if message.startswith(beginning):
            candidates = (details or {}).get("candidates", ())
            return words.format(", ".join(map(str, candidates)))
    return message


def searched_everywhere(hint: str | None) -> str:
    """What is said of an answer from all scopes, where none and no project was known."""
    if hint is None:
        return (
            "Outside of a repository this looks through all scopes that you may read: "
            "--project or --scope narrow it."
        )
    return (
        "No project is known here yet (the first memory makes one), so this looked through all "
        "scopes that you may read."
    )
