"""What memories speak of: entities of a scope, met by their folded names."""

from collections.abc import Mapping, Sequence

from zero_memory.memory.canonical import fold, fold_name, speaks_of
from zero_memory.memory.model import EntityName, Mention
from zero_memory.ports.table import Action, Put, Table, ref

# One page of names bounds what anchoring a text costs, however many a scope has.
_NAMES_READ = 1_000
MAX_ENTITIES = 32


def distinct_names(names: Sequence[str]) -> dict[str, str]:
    """These names by their folded forms, the first spelling of each; nameless ones are left out."""
    distinct: dict[str, str] = {}
    for name in names:
        folded = fold_name(name)
        if folded:
            distinct.setdefault(folded, name.strip())
    return distinct


def spoken_of(table: Table, scope: str, text: str) -> dict[str, str]:
    """The scope's entities whose name the text speaks, at most 32, by their folded forms."""
    folded_text = fold(text)
    known = table.query(EntityName, scope, limit=_NAMES_READ).records
    spoken = (entity for entity in known if speaks_of(folded_text, entity.folded))
    longest_first = sorted(spoken, key=lambda entity: (-len(entity.folded), entity.folded))
    return {entity.folded: entity.name for entity in longest_first[:MAX_ENTITIES]}


def register(table: Table, scope: str, entities: dict[str, str]) -> None:
    """Make these entities known to the scope; one that no memory follows is harmless."""
    refs = [ref(EntityName, scope, folded) for folded in entities]
    known = {entity.folded for entity in table.get_many(refs) if entity is not None}
    fresh = [
        Put(EntityName(scope, folded, name))
        for folded, name in entities.items()
        if folded not in known
    ]
    if fresh:
        table.transact(fresh)


def mentions(scope: str, memory_id: str, entities: Mapping[str, str]) -> list[Action]:
    """Put what finds a memory by each of its entities."""
    return [
        Put(
            Mention(
                scope=scope,
                folded=folded,
                memory_id=memory_id,
                name=name,
                others=tuple(other for other in entities.values() if other != name),
            )
        )
        for folded, name in entities.items()
    ]
