"""The ports together, as tests hand them to tools."""

from dataclasses import dataclass, field

from tests.clock import ManualClock
from tests.hashing_embedder import HashingEmbedder
from zero_memory.ports.home import EmbedderCard, HomeCard
from zero_memory.ports.search_index import SearchIndex
from zero_memory.ports.table import Table
from zero_memory.retrieval.ranking import Ranking


@dataclass(frozen=True)
class Ports:
    """`tools.services.Services`, with every port given."""

    table: Table
    index: SearchIndex
    clock: ManualClock = field(default_factory=ManualClock)
    embedder: HashingEmbedder = field(default_factory=HashingEmbedder)
    ranking: Ranking = field(default_factory=Ranking)

    @property
    def home(self) -> HomeCard:
        card = EmbedderCard(HashingEmbedder.model, HashingEmbedder.dimensions, ("en",))
        return HomeCard("sqlite", "local", card)
