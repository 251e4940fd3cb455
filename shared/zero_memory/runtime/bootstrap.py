"""The composition root: which adapter stands behind which port, made at first use."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from zero_memory.adapters.bundled_model import CARD
from zero_memory.adapters.clock import SystemClock
from zero_memory.places import TABLE_FILE
from zero_memory.ports.artifacts import Artifacts
from zero_memory.ports.clock import Clock
from zero_memory.ports.home import HomeCard
from zero_memory.ports.table import Table
from zero_memory.runtime.settings import Settings, read_settings

if TYPE_CHECKING:
    from zero_memory.ports.access_tokens import AccessTokens
    from zero_memory.ports.embedder import Embedder
    from zero_memory.ports.oauth_clients import OAuthClients
    from zero_memory.ports.parking import Parking
    from zero_memory.ports.search_index import DerivedIndex, SearchIndex
    from zero_memory.retrieval.ranking import Ranking

T = TypeVar("T")


class _Once(Generic[T]):
    """Makes a thing at the first call and answers it ever after, whichever thread asks."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: T | None = None
        self._lock = threading.Lock()

    def __call__(self) -> T:
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made


class Composition:
    """The ports of one process. A vendor's library is imported by the port that needs it."""

    def __init__(self, settings: Settings, parking: "Parking | None" = None) -> None:
        self.settings = settings
        self._own_parking = parking
        self._clock = SystemClock()
        self._table = _Once(lambda: _table(settings))
        self._derived = _Once(lambda: _derived(settings))
        self._index = _Once(lambda: _index(settings, self._table(), self.derived_index))
        self._embedder = _Once(lambda: _embedder(settings))
        self._artifacts = _Once(lambda: _artifacts(settings))
        self._parking = _Once(lambda: _parking(settings))
        self._ranking = _Once(_ranking)
        self._access_tokens = _Once(lambda: _access_tokens(settings, self.clock))
        self._oauth_clients = _Once(lambda: _oauth_clients(settings))

    @property
    def clock(self) -> Clock:
        """The machine's clock."""
        return self._clock

    @property
    def table(self) -> Table:
        """SQLite on a machine, DynamoDB in the cloud."""
        return self._table()

    @property
    def index(self) -> "SearchIndex":
        """The local search files or a domain of OpenSearch, with the table behind; or it alone."""
        return self._index()

    @property
    def derived_index(self) -> "DerivedIndex | None":
        """The index that is kept beside the table; None when the table alone is searched."""
        return None if self.settings.search == "none" else self._derived()

    @property
    def embedder(self) -> "Embedder":
        """The bundled ONNX model."""
        return self._embedder()

    @property
    def artifacts(self) -> Artifacts:
        """Files in the home, or objects of a bucket."""
        return self._artifacts()

    @property
    def parking(self) -> "Parking | None":
        """A queue, or what the process was composed with: on a machine its stream's failures."""
        return self._parking() if self.settings.parking_queue_url else self._own_parking

    @property
    def access_tokens(self) -> "AccessTokens":
        """Those of the issuer that people sign in at."""
        return self._access_tokens()

    @property
    def oauth_clients(self) -> "OAuthClients":
        """The clients of the user pool."""
        return self._oauth_clients()

    @property
    def ranking(self) -> "Ranking":
        """The ranking that measured best (tests/bench/retrieval.py)."""
        return self._ranking()

    @property
    def home(self) -> HomeCard:
        """What the settings put behind the ports."""
        table = "dynamodb" if self.settings.home == "aws" else "sqlite"
        return HomeCard(table=table, search=self.settings.search, embedder=CARD)


def _table(settings: Settings) -> Table:
    if settings.home == "aws":
        from zero_memory.adapters.dynamodb import DynamoTable, dynamodb_client

        return DynamoTable(dynamodb_client(), settings.table_name)
    from zero_memory.adapters.sqlite import SqliteTable

    return SqliteTable(settings.data_dir / TABLE_FILE)


def _derived(settings: Settings) -> "DerivedIndex":
    if settings.search == "domain":
        from zero_memory.adapters.opensearch_client import domain_client
        from zero_memory.adapters.opensearch_index import OpenSearchIndex

        return OpenSearchIndex(
            domain_client(settings.search_endpoint),
            model=CARD.model,
            dimensions=CARD.dimensions,
            engine=settings.search_engine,
        )
    from zero_memory.adapters.local_index import LocalIndex

    return LocalIndex(settings.data_dir / "index", model=CARD.model)


def _index(settings: Settings, table: Table, derived: "DerivedIndex | None") -> "SearchIndex":
    from zero_memory.adapters.table_index import TableIndex

    if derived is None:
        return TableIndex(table, limit=settings.search_none_limit, model=CARD.model)
    from zero_memory.adapters.fallback_index import FallbackIndex

    behind = TableIndex(table, limit=settings.search_fallback_limit, model=CARD.model)
    return FallbackIndex(derived, behind)


def _embedder(settings: Settings) -> "Embedder":
    from zero_memory.adapters.onnx import OnnxEmbedder
    from zero_memory.resources import model_folder

    return OnnxEmbedder(model_folder(), threads=settings.embedder_threads)


def _artifacts(settings: Settings) -> Artifacts:
    if settings.home == "aws":
        from zero_memory.adapters.s3 import S3Artifacts, s3_client

        return S3Artifacts(s3_client(), settings.artifacts_bucket)
    from zero_memory.adapters.files import FileArtifacts

    return FileArtifacts(settings.data_dir / "artifacts")


def _parking(settings: Settings) -> "Parking":
    from zero_memory.adapters.sqs import SqsParking, sqs_client

    return SqsParking(sqs_client(), settings.parking_queue_url)


def _access_tokens(settings: Settings, clock: Clock) -> "AccessTokens":
    # Brings cryptography along, 150 ms of import: only who signs in pays for it.
    from zero_memory.adapters.access_tokens import SignedAccessTokens

    return SignedAccessTokens(settings.oauth_issuer, clock)


def _oauth_clients(settings: Settings) -> "OAuthClients":
    from zero_memory.adapters.cognito import CognitoClients, cognito_client

    return CognitoClients(cognito_client(), settings.oauth_user_pool)


def _ranking() -> "Ranking":
    from zero_memory.retrieval.ranking import Ranking

    return Ranking()


_composition: Composition | None = None
_composing = threading.Lock()


def use(settings: Settings, parking: "Parking | None" = None) -> Composition:
    """Compose the process by these settings, in place of the environment's.

    `parking` is where the indexer leaves what it cannot do when the settings name no queue.
    """
    global _composition  # noqa: PLW0603 - one composition a process
    with _composing:
        _composition = Composition(settings, parking)
        return _composition


def services() -> Composition:
    """The process's ports, composed from the environment unless `use` came first."""
    composed = _composition
    return composed if composed is not None else use(read_settings())
