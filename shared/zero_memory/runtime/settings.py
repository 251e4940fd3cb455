"""Every knob of the service, read once from the environment (prefix `ZM_`)."""

from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from zero_memory.places import data_folder


class Settings(BaseSettings):
    """The service's settings. In the cloud the template sets them, on a machine `zm serve` does."""

    model_config = SettingsConfigDict(env_prefix="ZM_", frozen=True, extra="ignore")

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
    search: Literal["local", "none"] = Field(
        default="local",
        description="Which search index: the local files, or none (exact, from the table).",
    )
    allowed_hosts: tuple[str, ...] = Field(
        default=("127.0.0.1", "localhost", "[::1]"),
        description="Host names that requests may be addressed to; empty: any (behind an API).",
    )
    allowed_origins: tuple[str, ...] = Field(
        default=(),
        description="Origins of web pages that may call, beside those of the allowed hosts.",
    )
    log_level: str = Field(default="INFO", description="The least level that is logged.")
    embedder_threads: int = Field(
        default=0, ge=0, description="Threads that one text is embedded with; 0: all cores."
    )
    search_none_limit: int = Field(
        default=5_000,
        ge=1,
        description="The most memories of a read set that search `none` scores from the table.",
    )
