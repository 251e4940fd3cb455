"""The worlds notice when any one filter is gone: each is taken out here, and they must fail.

Visibility is applied in the index query and again on the record. Where both stand before the same
answer, taking out one alone shows nothing, by design; those two are taken out together.
"""

from collections.abc import Callable, Sequence

import pytest

from tests.contract.isolation.edge import Edge, edge
from tests.contract.isolation.test_worlds import STEPS
from tests.contract.isolation.world import World
from zero_memory.memory import changing, graph, history, listing, reading, write
from zero_memory.memory.model import Kind, Meta
from zero_memory.ports.table import Table, ref
from zero_memory.retrieval import gather
from zero_memory.scopes import cursors as scope_cursors
from zero_memory.scopes.model import Scope
from zero_memory.scopes.visibility import ReadSet
from zero_memory.tools import describe_scope, memory_history, recall

TRIED = 40
"""How many worlds may pass before a missing filter must have been noticed."""

Break = Callable[[pytest.MonkeyPatch, Edge], None]


def anything(*_: object) -> bool:
    return True


def load_all(table: Table, memory_ids: Sequence[str], read_set: ReadSet) -> dict[str, Meta]:
    found = table.get_many([ref(Meta, each) for each in dict.fromkeys(memory_ids)])
    return {meta.memory_id: meta for meta in found if meta is not None}


def load_all_readable(
    table: Table, memory_ids: Sequence[str], read_set: ReadSet
) -> tuple[dict[str, Meta], list[str]]:
    return load_all(table, memory_ids, read_set), []


def everywhere(at: Edge) -> Callable[[ReadSet], tuple[str, ...]]:
    """A filter that lets every scope of the home through."""

    def every_scope(read_set: ReadSet) -> tuple[str, ...]:
        scopes: list[str] = []
        after = None
        while True:
            page = at.table.query(Scope, after=after, limit=1_000)
            scopes += [each.scope for each in page.records]
            after = page.next
            if after is None:
                return tuple(sorted(scopes))

    return every_scope


def index_filter(patch: pytest.MonkeyPatch, at: Edge) -> None:
    patch.setattr(gather, "scope_filter", everywhere(at))


def record_filter(patch: pytest.MonkeyPatch, at: Edge) -> None:
    patch.setattr(reading, "visible", anything)


def record_filter_of_search(patch: pytest.MonkeyPatch, at: Edge) -> None:
    patch.setattr(gather, "scope_filter", everywhere(at))
    patch.setattr(gather, "load_readable", load_all_readable)


def ids(patch: pytest.MonkeyPatch, at: Edge) -> None:
    patch.setattr(recall, "load_readable", load_all_readable)


def lists(patch: pytest.MonkeyPatch, at: Edge) -> None:
    patch.setattr(listing, "scope_filter", everywhere(at))
    patch.setattr(listing, "load_readable", load_all_readable)


def counts(patch: pytest.MonkeyPatch, at: Edge) -> None:
    def of_the_first_scope(table: Table, _scope: str) -> dict[Kind, str]:
        return listing.count_live(table, everywhere(at)(ReadSet({}))[0])

    patch.setattr(describe_scope, "count_live", of_the_first_scope)


def cursors(patch: pytest.MonkeyPatch, at: Edge) -> None:
    patch.setattr(scope_cursors.hmac, "compare_digest", anything)


def supersede_targets(patch: pytest.MonkeyPatch, at: Edge) -> None:
    patch.setattr(write, "visible", anything)


def entities(patch: pytest.MonkeyPatch, at: Edge) -> None:
    patch.setattr(graph, "scope_filter", everywhere(at))
    patch.setattr(graph, "load_readable", load_all_readable)


def changes(patch: pytest.MonkeyPatch, at: Edge) -> None:
    patch.setattr(changing, "load_visible", load_all)


def links(patch: pytest.MonkeyPatch, at: Edge) -> None:
    patch.setattr(history, "load_readable", load_all_readable)


def audit(patch: pytest.MonkeyPatch, at: Edge) -> None:
    patch.setattr(memory_history, "load_readable", load_all_readable)


def successors(patch: pytest.MonkeyPatch, at: Edge) -> None:
    def unfiltered(table: Table, metas: Sequence[Meta], read_set: ReadSet) -> dict[str, str]:
        return {each.memory_id: each.superseded_by for each in metas if each.superseded_by}

    patch.setattr(recall, "seen_successors", unfiltered)


BREAKS: tuple[Break, ...] = (
    index_filter,
    record_filter,
    record_filter_of_search,
    ids,
    lists,
    counts,
    cursors,
    supersede_targets,
    entities,
    changes,
    links,
    audit,
    successors,
)


@pytest.mark.parametrize("broken", BREAKS, ids=[each.__name__ for each in BREAKS])
def test_a_missing_filter_is_noticed(broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    noticed = False
    for seed in range(TRIED):
        with edge("sqlite, local index") as at, monkeypatch.context() as patch:
            broken(patch, at)
            try:
                world = World(at, seed)
                world.happen(STEPS)
                world.ask_everything()
                world.strangers_change_nothing()
            except AssertionError:
                noticed = True
                break
    assert noticed
