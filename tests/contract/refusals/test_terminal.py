"""What `zm` says in place of refusals that name what only an agent has."""

import re

from tests.contract.refusals.source import wordings
from zero_memory.client.wording import AT_A_TERMINAL, at_a_terminal

AGENTS_OWN = re.compile(
    r"project_hint\b(?!_)|\bthread\b|describe_scope|list_memories|memory_history|restore_memory"
)
NOT_OF_A_COMMAND = (
    "A memory is shared to a project",
    "Pass either scope or project_hint",
    "confirm must be the path",
    "There is no such memory; recall or",
)
"""Refusals of tools that no command of `zm` calls."""


def test_each_is_known_by_how_a_refusal_of_the_source_begins() -> None:
    texts = [each.text for each in wordings()]
    for beginning in AT_A_TERMINAL:
        assert [text for text in texts if text.startswith(beginning)], beginning


def test_no_refusal_reaches_a_terminal_that_names_what_only_an_agent_has() -> None:
    for wording in wordings():
        if wording.text.startswith(NOT_OF_A_COMMAND):
            continue
        said = at_a_terminal(wording.text, {"candidates": ["proj.a.b"]})
        assert AGENTS_OWN.search(said.replace("project_hint_unresolvable", "")) is None, said


def test_candidates_are_named_and_what_is_clear_anyway_stays() -> None:
    several = "project_hint_unresolvable: several projects have this name."
    assert "--scope one of these: a, b." in at_a_terminal(several, {"candidates": ["a", "b"]})
    assert at_a_terminal("The disk is full.") == "The disk is full."
