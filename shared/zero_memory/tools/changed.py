"""The answer of tools that change a memory's state."""

from zero_memory.contracts.memory import StateResult
from zero_memory.contracts.sharing import SharingResult
from zero_memory.memory.changing import Outcome, visible_memory
from zero_memory.memory.rights import Rights
from zero_memory.ports.table import Table
from zero_memory.scopes.visibility import hidden_places, seen_in, shown_places


def state_result(outcome: Outcome, rights: Rights) -> StateResult:
    """A memory's state after a change, as the caller sees it."""
    meta, audit = outcome.meta, outcome.audit
    return StateResult(
        id=meta.memory_id,
        scope=rights.read_set.paths[meta.scope],
        live=meta.live,
        revision=meta.revision,
        audit_id=audit.audit_id if audit else None,
        also_ended=[each.memory_id for each in outcome.others if not each.live] or None,
        also_restored=[each.memory_id for each in outcome.others if each.live] or None,
        changed=audit is not None,
    )


def sharing_result(outcome: Outcome, rights: Rights) -> SharingResult:
    """Where a memory is shared to after a change, as far as the caller may know."""
    meta, audit = outcome.meta, outcome.audit
    return SharingResult(
        id=meta.memory_id,
        shared_to=shown_places(meta.shared_to, rights.read_set),
        shared_elsewhere=hidden_places(meta.scope, meta.shared_to, rights.read_set),
        audit_id=audit.audit_id if audit else None,
        changed=audit is not None,
    )


def path_of(table: Table, memory_id: str, rights: Rights) -> str:
    """The path of the scope through which the caller sees a memory. Raises Refusal `not_found`."""
    meta = visible_memory(table, rights, memory_id)
    return seen_in(meta.scope, meta.shared_to, rights.read_set) or ""
