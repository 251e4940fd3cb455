"""Every knob of the service, read once from the environment (prefix `ZM_`)."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from zero_memory.places import data_folder

_PREFIX = "ZM_"


def _split(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return tuple(name for part in value.split(",") if (name := part.strip()))


Names = Annotated[tuple[str, ...], BeforeValidator(_split)]
"""Names; in the environment with commas between them."""


class Settings(BaseModel):
    """The service's settings. In the cloud the template sets them, on a machine `zm serve` does."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    home: Literal["local", "aws"] = Field(
        default="local", description="Where the table lives: SQLite here, or DynamoDB."
    )
    data_dir: Path = Field(
        default_factory=lambda: Path(data_folder()),
        description="The local home's folder: table and index.",
    )
    table_name: str = Field(default="", description="The DynamoDB table's name.")
    artifacts_bucket: str = Field(
        default="", description="The S3 bucket of exports and uploads, each kept for a day."
    )
    parking_queue_url: str = Field(
        default="",
        description="The SQS queue of memories that could not be indexed, to be looked at again.",
    )
    search: Literal["local", "domain", "none"] = Field(
        default="local",
        description="Which search index: the local files, an OpenSearch domain, or none (exact, "
        "from the table).",
    )
    search_endpoint: str = Field(
        default="",
        description="The OpenSearch domain's URL. Requests to an https one are signed.",
    )
    search_engine: Literal["lucene", "faiss"] = Field(
        default="lucene",
        description="What keeps the graph of vectors in OpenSearch, for an index that is made.",
    )
    search_fallback_limit: int = Field(
        default=500,
        ge=1,
        description="The most memories that recall scores from the table while the search index "
        "does not answer.",
    )
    allowed_hosts: Names = Field(
        default=("127.0.0.1", "localhost", "[::1]"),
        description="Host names that requests may be addressed to; empty: any (behind an API).",
    )
    allowed_origins: Names = Field(
        default=(),
        description="Origins of web pages that may call, beside those of the allowed hosts.",
    )
    public_url: str = Field(
        default="",
        description="Where clients reach the service, when that is not the Host of their requests.",
    )
    oauth_issuer: str = Field(
        default="",
        description="The Cognito user pool that people sign in at, by its issuer's URL; empty: "
        "personal access tokens alone.",
    )
    oauth_login_url: str = Field(
        default="", description="The user pool's own domain, where clients send people to sign in."
    )
    oauth_user_pool: str = Field(
        default="", description="The user pool's id, where clients register."
    )
    oauth_redirect_uris: Names = Field(
        default=(),
        description="Where clients may have codes sent to, beside any place on their own machine.",
    )
    oauth_sign_up: bool = Field(
        default=False,
        description="Whether who signs in and was linked to nobody becomes a new person.",
    )
    calls_a_minute: int = Field(
        default=60_000,
        ge=1,
        description="The most calls of one principal in a minute, over all processes, but for "
        "people with a quota of their own. The template sets fewer, since there each call costs.",
    )
    log_level: str = Field(default="INFO", description="The least level that is logged.")
    embedder_threads: int = Field(
        default=0, ge=0, description="Threads that one text is embedded with; 0: all cores."
    )
    sweep_memories: int = Field(
        default=2_000,
        ge=1,
        description="The most memories that one run of the schedule compares with the index.",
    )
    search_none_limit: int = Field(
        default=5_000,
        ge=1,
        description="The most memories of a read set that search `none` scores from the table.",
    )


def read_settings(environment: Mapping[str, str] = os.environ, **given: Any) -> Settings:
    """The settings of an environment, under those given. Raises pydantic.ValidationError.

    Read by hand, since pydantic-settings imports asyncio and would cost a cold start more than
    everything else of ours (docs/decisions.md).
    """
    found = {
        name: environment[_PREFIX + name.upper()]
        for name in Settings.model_fields
        if _PREFIX + name.upper() in environment
    }
    return Settings.model_validate(found | given)
