"""The answer of tools that change a memory's state."""

from zero_memory.contracts.memory import StateResult
from zero_memory.memory.changing import Outcome
from zero_memory.memory.rights import Rights


def state_result(outcome: Outcome, rights: Rights) -> StateResult:
    """A memory's state after a change, as the caller sees it."""
    meta, audit = outcome.meta, outcome.audit
    return StateResult(
        id=meta.memory_id,
        scope=rights.read_set.paths[meta.scope],
        live=meta.live,
        revision=meta.revision,
        audit_id=audit.audit_id if audit else None,
        changed=audit is not None,
    )
