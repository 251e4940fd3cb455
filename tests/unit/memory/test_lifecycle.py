"""The pure steps of a memory's life."""

import pytest

from tests.records import meta
from zero_memory.contracts.errors import ErrorCode, Refusal
from zero_memory.memory.lifecycle import MAX_LIVES, invalidate, revive


def test_a_memory_has_so_many_lives_and_no_more():
    memory = meta()
    for at in range(MAX_LIVES - 1):
        memory = revive(invalidate(memory, at=at, reason=None), at=at)
    assert len(memory.alive) == MAX_LIVES
    with pytest.raises(Refusal) as refusal:
        revive(invalidate(memory, at=100, reason=None), at=101)
    assert refusal.value.code is ErrorCode.CONFLICT


def test_no_life_ends_before_it_begins():
    ended = invalidate(meta(), at=0, reason=None)
    assert ended.alive[-1].end == ended.alive[-1].start
