"""The ports together, as tests hand them to tools."""

from dataclasses import dataclass, field
from pathlib import Path

from tests.clock import ManualClock
from tests.hashing_embedder import HashingEmbedder
from zero_memory.adapters.files import FileArtifacts
from zero_memory.ports.artifacts import Artifacts
from zero_memory.ports.embedder import Embedder
from zero_memory.ports.home import EmbedderCard, HomeCard
from zero_memory.ports.search_index import SearchIndex
from zero_memory.ports.table import Table
from zero_memory.retrieval.ranking import Ranking

NOWHERE = Path("/dev/null/artifacts")
"""No folder can be made there."""


@dataclass(frozen=True)
class Ports:
    """`tools.services.Services`, with every port given."""

    table: Table
    index: SearchIndex
    clock: ManualClock = field(default_factory=ManualClock)
    embedder: Embedder = field(default_factory=HashingEmbedder)
    ranking: Ranking = field(default_factory=Ranking)
    artifacts: Artifacts = field(default_factory=lambda: FileArtifacts(NOWHERE))

    @property
    def home(self) -> HomeCard:
        card = EmbedderCard(HashingEmbedder.model, HashingEmbedder.dimensions, ("en",))
        return HomeCard("sqlite", "local", card)
