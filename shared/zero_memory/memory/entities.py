"""What memories speak of: entities of a scope, met by their folded names."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from zero_memory.contracts.model import MAX_ENTITIES
from zero_memory.memory.canonical import fold_name, speaks_of
from zero_memory.memory.model import EntityName, Mention
from zero_memory.ports.table import Action, DamagedRecord, Put, Table, ref

_NAMES_READ = 1_000
_WORDS_LOOKED_UP = 64
_WORDS_OF_A_NAME = 4


def distinct_names(names: Sequence[str]) -> dict[str, str]:
    """These names by their folded forms, the first spelling of each; nameless ones are left out."""
    distinct: dict[str, str] = {}
    for name in names:
        folded = fold_name(name)
        if folded:
            distinct.setdefault(folded, name.strip())
    return distinct


def spoken_of(table: Table, scope: str, text: str) -> dict[str, str]:
    """The scope's entities whose name the text speaks, by their folded forms.

    Of more than `MAX_ENTITIES` the longest names.
    """
    folded_text = fold_name(text)
    known = known_names(table, scope, folded_text)
    spoken = (entity for entity in known if speaks_of(folded_text, entity.folded))
    longest_first = sorted(spoken, key=lambda entity: (-len(entity.folded), entity.folded))
    return {entity.folded: entity.name for entity in longest_first[:MAX_ENTITIES]}


def known_names(table: Table, scope: str, folded_text: str) -> list[EntityName]:
    """The scope's entities that a text may speak of, at a bounded cost.

    All of them, up to 1,000. Of more, so many, whichever they are, and those that up to four of the
    text's first 64 words name; these alone while any of the scope's is damaged.
    """
    known: dict[str, EntityName] = {}
    with suppress(DamagedRecord):
        page = table.query(EntityName, scope, limit=_NAMES_READ)
        known = {entity.folded: entity for entity in page.records}
        if page.next is None:
            return list(known.values())
    named = _named(table, scope, _runs(folded_text.split()))
    return list((known | {each.folded: each for each in named}).values())


def _named(table: Table, scope: str, names: Sequence[str]) -> list[EntityName]:
    """The entities of these folded names, but for damaged ones."""
    try:
        found = table.get_many([ref(EntityName, scope, name) for name in names])
    except DamagedRecord:
        if len(names) == 1:
            return []
        middle = len(names) // 2
        return [
            *_named(table, scope, names[:middle]),
            *_named(table, scope, names[middle:]),
        ]
    return [each for each in found if each is not None]


def _runs(words: Sequence[str]) -> list[str]:
    words = words[:_WORDS_LOOKED_UP]
    ends = range(1, _WORDS_OF_A_NAME + 1)
    runs = (" ".join(words[at : at + end]) for at in range(len(words)) for end in ends)
    return list(dict.fromkeys(runs))


def register(table: Table, scope: str, entities: dict[str, str]) -> None:
    """Make these entities known to the scope; one that no memory follows is harmless."""
    known = {entity.folded for entity in _named(table, scope, list(entities))}
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
