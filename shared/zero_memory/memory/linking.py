"""Linking memories that are stored."""

from zero_memory.contracts.errors import conflict, validation_failed
from zero_memory.contracts.kinds import LinkType
from zero_memory.memory.changing import Outcome, Plan, change_memory, must_write, visible_memory
from zero_memory.memory.lifecycle import Change, LinkStep, invalidate, touch
from zero_memory.memory.model import LinkOut, Meta
from zero_memory.memory.rights import Actor
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Check, Present, RevisionIs, Table, ref

MAX_LINKS_OF_A_MEMORY = 16
"""A revision copies them, with all else that it writes, in one transaction of 100 actions."""


def link(
    table: Table,
    clock: Clock,
    actor: Actor,
    *,
    source: str,
    target: str,
    link_type: LinkType,
    reason: str | None = None,
) -> Outcome:
    """Link one memory to another; a link that is there changes nothing.

    `supersedes` retires the target. Raises Refusal: as `change_memory` (of the source, and of a
    target that is superseded), `not_found` for a target that the caller may not see, and
    `validation_failed` for a memory with itself, or with more than 16 links.
    """
    if source == target:
        raise validation_failed("A memory is not linked to itself; check the ids.")
    if link_type == "supersedes":
        return _supersede(table, clock, actor, successor=source, target=target, reason=reason)

    def plan(meta: Meta, now: int) -> Plan | None:
        del now
        visible_memory(table, actor.rights, target)
        links = links_of(table, source)
        if any((each.link, each.target) == (link_type, target) for each in links):
            return None
        if len(links) >= MAX_LINKS_OF_A_MEMORY:
            raise validation_failed(
                f"A memory links to at most {MAX_LINKS_OF_A_MEMORY} others; link from the others."
            )
        step = LinkStep(link_type, target, added=True)
        return Plan(
            Change(meta, touch(meta), "link", reason, link=step),
            also=(Check(ref(Meta, target), Present()),),
        )

    return change_memory(table, clock, actor, source, plan)


def links_of(table: Table, memory_id: str) -> list[LinkOut]:
    """The links from a memory to others, but for those to what it superseded."""
    kinds: tuple[LinkType, ...] = ("relates_to", "contradicts", "derived_from")
    return [
        each
        for kind in kinds
        for each in table.query(LinkOut, memory_id, kind, limit=1_000).records
    ]


def _supersede(
    table: Table, clock: Clock, actor: Actor, *, successor: str, target: str, reason: str | None
) -> Outcome:
    def plan(meta: Meta, now: int) -> Plan | None:
        by = visible_memory(table, actor.rights, successor)
        must_write(actor.rights, by)
        if meta.superseded_by == successor:
            return None
        if not meta.live or not by.live:
            raise conflict(
                "Both memories must hold for one to supersede the other; restore what doesn't."
            )
        ended = invalidate(meta, at=now, reason=None, superseded_by=successor)
        return Plan(
            Change(meta, ended, "supersede", reason),
            also=(Check(ref(Meta, successor), RevisionIs(by.revision)),),
        )

    return change_memory(table, clock, actor, target, plan)
