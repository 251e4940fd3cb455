"""Every knob of the service, read once from the environment (prefix `ZM_`)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, convert, field

from zero_memory.places import data_folder

_PREFIX = "ZM_"
_LISTS = frozenset(("allowed_hosts", "allowed_origins", "oauth_redirect_uris"))

Names = tuple[str, ...]
"""Names; in the environment with commas between them."""

Positive = Annotated[int, Meta(ge=1)]


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """The service's settings. In the cloud the template sets them, on a machine `zm serve` does."""

    home: Literal["local", "aws"] = "local"
    """Where the table lives: SQLite here, or DynamoDB."""

    data_dir: Path = field(default_factory=lambda: Path(data_folder()))
    """The local home's folder: table and index."""

    table_name: str = ""
    """The DynamoDB table's name."""

    artifacts_bucket: str = ""
    """The S3 bucket of exports and uploads, each kept for a day."""

    parking_queue_url: str = ""
    """The SQS queue of memories that could not be indexed, to be looked at again."""

    search: Literal["local", "domain", "none"] = "local"
    """Which search index: the local files, an OpenSearch domain, or none (exact, from the
    table)."""

    search_endpoint: str = ""
    """The OpenSearch domain's URL. Requests to an https one are signed."""

    search_engine: Literal["lucene", "faiss"] = "lucene"
    """What keeps the graph of vectors in OpenSearch, for an index that is made."""

    search_fallback_limit: Positive = 500
    """The most memories that recall scores from the table while the search index does not
    answer."""

    allowed_hosts: Names = ("127.0.0.1", "localhost", "[::1]")
    """Host names that requests may be addressed to; empty: any (behind an API)."""

    allowed_origins: Names = ()
    """Origins of web pages that may call, beside those of the allowed hosts."""

    public_url: str = ""
    """Where clients reach the service, when that is not the Host of their requests."""

    oauth_issuer: str = ""
    """The Cognito user pool that people sign in at, by its issuer's URL; empty: personal access
    tokens alone."""

    oauth_login_url: str = ""
    """The user pool's own domain, where clients send people to sign in."""

    oauth_user_pool: str = ""
    """The user pool's id, where clients register."""

    oauth_redirect_uris: Names = ()
    """Where clients may have codes sent to, beside any place on their own machine."""

    oauth_sign_up: bool = False
    """Whether who signs in and was linked to nobody becomes a new person."""

    calls_a_minute: Positive = 60_000
    """The most calls of one principal in a minute, over all processes, but for people with a
    quota of their own. The template sets fewer, since there each call costs."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO"
    """The least level that is logged."""

    embedder_threads: Annotated[int, Meta(ge=0)] = 0
    """Threads that one text is embedded with; 0: all cores."""

    sweep_memories: Positive = 2_000
    """The most memories that one run of the schedule compares with the index."""

    search_none_limit: Positive = 5_000
    """The most memories of a read set that search `none` scores from the table."""


def read_settings(environment: Mapping[str, str] = os.environ, **given: Any) -> Settings:
    """The settings of an environment, under those given. Raises msgspec.ValidationError.

    Read by hand, since pydantic-settings imports asyncio and would cost a cold start more than
    everything else of ours (docs/decisions.md).
    """
    found: dict[str, Any] = {
        name: environment[_PREFIX + name.upper()]
        for name in Settings.__struct_fields__
        if _PREFIX + name.upper() in environment
    }
    lists = {name: _split(found[name]) for name in _LISTS & found.keys()}
    # Not strict: a variable is text, whatever it says.
    return convert(found | lists | given, Settings, strict=False, dec_hook=_made)


def _split(value: str) -> Names:
    return tuple(name for part in value.split(",") if (name := part.strip()))


def _made(kind: type[Any], value: Any) -> Any:
    """What msgspec does not know of itself: a path."""
    return kind(value)
