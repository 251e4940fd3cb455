"""Artifacts in a bucket, which forgets them after a day by its own rule (template.yaml)."""

from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Any

from botocore.config import Config
from botocore.exceptions import (
    ClientError,
    ConnectionError,  # noqa: A004
    HTTPClientError,
    IncompleteReadError,
)

from zero_memory.adapters.artifact_keys import checked
from zero_memory.adapters.aws_session import aws_session
from zero_memory.ports.artifacts import MAX_BYTES, ArtifactsUnavailable, ArtifactTooLong

CONFIG = Config(
    connect_timeout=1,
    read_timeout=5,
    retries={"mode": "standard", "total_max_attempts": 3},
    # Links lead to the region's own host name, signed: the global one would answer with a redirect,
    # which no signature survives. The rules of endpoints know none for us-east-1 anyway.
    signature_version="s3v4",
    s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"},
)

LINK_S = 15 * 60


def s3_client() -> Any:
    """A client by the environment's region and credentials, with timeouts and bounded retries."""
    session: Any = aws_session()
    return session.create_client("s3", config=CONFIG)


class S3Artifacts:
    """`ports.artifacts.Artifacts` in a bucket that the template made."""

    def __init__(self, client: Any, bucket: str) -> None:
        self._client = client
        self._bucket = bucket

    def put(self, key: str, content: bytes) -> None:
        """See the port."""
        with _translated():
            self._client.put_object(**self._at(key), Body=content)

    def get(self, key: str) -> bytes | None:
        """See the port."""
        with _translated():
            try:
                found = self._client.get_object(**self._at(key))
            except self._client.exceptions.NoSuchKey:
                return None
            # A body that is entered itself gives its raw stream, which counts nothing.
            with closing(found["Body"]) as body:
                if found["ContentLength"] > MAX_BYTES:
                    raise ArtifactTooLong(f"an artifact has at most {MAX_BYTES:,} bytes")
                return body.read()

    def delete(self, key: str) -> None:
        """See the port."""
        with _translated():
            self._client.delete_object(**self._at(key))

    def clear(self) -> None:
        """See the port. What a day brought is there: each thousand is a listing and a deletion."""
        with _translated():
            pages = self._client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self._bucket):
                found = [{"Key": each["Key"]} for each in page.get("Contents", ())]
                if found:
                    deletion = {"Objects": found, "Quiet": True}
                    answer = self._client.delete_objects(Bucket=self._bucket, Delete=deletion)
                    if answer.get("Errors"):
                        raise ArtifactsUnavailable("S3 does not delete some of the files")

    def link(self, key: str) -> str:
        """See the port."""
        return self._signed("get_object", key)

    def open_upload(self, key: str) -> str:
        """See the port."""
        return self._signed("put_object", key)

    def _signed(self, call: str, key: str) -> str:
        return self._client.generate_presigned_url(call, Params=self._at(key), ExpiresIn=LINK_S)

    def _at(self, key: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": checked(key)}


@contextmanager
def _translated() -> Generator[None]:
    """S3's errors as the port's. One that is about the request itself stays what it is."""
    try:
        yield
    except ClientError as error:
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500:  # noqa: PLR2004
            raise ArtifactsUnavailable("S3 does not take the request") from error
        raise
    except (ConnectionError, HTTPClientError, IncompleteReadError) as error:
        raise ArtifactsUnavailable(f"S3 does not answer: {type(error).__name__}") from error
