"""Gestures that put a new memory in the place of one: a corrected wording, a loop's outcome."""

from collections.abc import Callable

from zero_memory.contracts.errors import conflict, validation_failed
from zero_memory.memory.canonical import digest
from zero_memory.memory.changing import must_write, visible_memory
from zero_memory.memory.linking import links_of
from zero_memory.memory.model import Meta, Passage
from zero_memory.memory.reading import load_visible, with_bodies
from zero_memory.memory.rights import Actor, Rights
from zero_memory.memory.state import must_be_loop
from zero_memory.memory.write import Destination, Draft, Submission, Written, must_fit, remember
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import LimitExceeded, Table


def revise(
    table: Table,
    clock: Clock,
    actor: Actor,
    memory_id: str,
    *,
    content: str,
    read_passage: Callable[[str], Passage],
) -> Written:
    """Put a corrected wording in a memory's place: same scope, kind, entities, links and shares.

    The same wording again changes nothing. Raises Refusal: `not_found`, `forbidden`, `conflict`
    for a memory that no longer holds, `validation_failed` for a loop that is too long, and for
    more entities, links and shares than one transaction carries over.
    """
    meta = visible_memory(table, actor.rights, memory_id)
    must_write(actor.rights, meta)
    must_fit(meta.kind, content)
    if meta.live and meta.digest == digest(meta.kind, content):
        return Written(memory_id, deduplicated=True, windows=meta.windows)
    draft = Draft(
        content,
        kind=meta.kind,
        entities=_entities(table, meta),
        supersedes=(memory_id,),
        inherited_links=tuple((each.link, each.target) for each in links_of(table, memory_id)),
        shared_to=meta.shared_to,
        gesture="revise",
        all_or_none=True,
    )
    submission = Submission(actor, draft, Destination(meta.scope, meta.owner))
    try:
        return remember(table, clock, submission, read_passage)
    except LimitExceeded:
        raise validation_failed(
            "This memory has too many entities, links and shares to carry over at once; unshare "
            "it from some scopes, or write it anew with remember and supersedes."
        ) from None


def close_with_outcome(
    table: Table,
    clock: Clock,
    actor: Actor,
    memory_id: str,
    *,
    outcome: str,
    read_passage: Callable[[str], Passage],
) -> Written:
    """Close a loop and store what came of it, as a fact in the loop's place.

    Closed already by this outcome: it is answered. Raises Refusal: `not_found`, `forbidden`,
    `validation_failed` for another kind, `conflict` for a loop that was closed without an outcome,
    or by what says something else.
    """
    meta = visible_memory(table, actor.rights, memory_id)
    must_write(actor.rights, meta)
    must_be_loop(meta)
    draft = Draft(
        outcome,
        entities=_entities(table, meta),
        supersedes=(memory_id,),
        gesture="close",
        all_or_none=True,
    )
    if not meta.live:
        closed_by = _successor(table, actor.rights, meta)
        if closed_by is None or closed_by.digest != digest(draft.kind, outcome):
            raise conflict("This loop is closed; remember its outcome on its own.")
        return Written(closed_by.memory_id, deduplicated=True, windows=closed_by.windows)
    submission = Submission(actor, draft, Destination(meta.scope, meta.owner))
    return remember(table, clock, submission, read_passage)


def _successor(table: Table, rights: Rights, meta: Meta) -> Meta | None:
    """What superseded a memory, when the caller may see it."""
    if meta.superseded_by is None:
        return None
    return load_visible(table, [meta.superseded_by], rights.read_set).get(meta.superseded_by)


def _entities(table: Table, meta: Meta) -> tuple[str, ...]:
    return tuple(name for memory in with_bodies(table, [meta]) for name in memory.body.entities)
