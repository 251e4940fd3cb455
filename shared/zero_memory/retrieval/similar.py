"""The memories nearest to one that is stored."""

from msgspec.structs import replace

from zero_memory.memory.model import Meta, SearchRecord
from zero_memory.ports.clock import Clock
from zero_memory.ports.search_index import SearchIndex
from zero_memory.ports.table import Table
from zero_memory.retrieval.gather import Query
from zero_memory.retrieval.ranking import Ranking
from zero_memory.retrieval.recall import recall
from zero_memory.retrieval.vectors import unpack
from zero_memory.scopes.visibility import ReadSet

# A long text's first tokens tell what it is about; all of them would cost a search each.
_TOKENS = 64


def similar_to(
    table: Table,
    index: SearchIndex,
    clock: Clock,
    *,
    meta: Meta,
    read_set: ReadSet,
    ranking: Ranking,
    limit: int,
) -> list[Meta]:
    """At most `limit` live memories of the read set, nearest first; never the memory itself.

    Asks with the memory's stored vector and tokens, so that nothing is embedded again. Only what
    shares a word counts: cosines of this model can't tell a near memory from a foreign one, and a
    list of strangers would teach its reader to ignore it. Neighbours do not count: the memory's own
    are about the same matter, and say other things of it.
    """
    record = table.get(SearchRecord, meta.scope, meta.memory_id)
    if record is None:
        return []
    passage = record.passage
    tokens = list(passage.tokens)[:_TOKENS]
    query = Query(passage.model, unpack(passage.windows[0].vector), tokens)
    alone = replace(ranking, neighbour_weights=())
    found = recall(table, index, clock, query=query, read_set=read_set, ranking=alone, k=limit + 1)
    others = (
        each.meta
        for each in found.ranked
        if each.meta.memory_id != meta.memory_id
        and any(leg == "lexical" for leg, _ in each.fused.legs)
    )
    return list(others)[:limit]
