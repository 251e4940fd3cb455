"""Files that are too large for a request or an answer, as a port.

A key is `<person>/<name>`, of letters, digits, `.`, `-` and `_`. What is kept is a copy made for
somebody to fetch, or to be read once: it is gone a day later, whatever happens.
"""

from typing import Protocol

MAX_BYTES = 64 * 1024 * 1024
"""The longest artifact that is read back: what a function can hold beside all else."""


class ArtifactTooLong(Exception):
    """An artifact past `MAX_BYTES`."""


class ArtifactsUnavailable(Exception):
    """The store did not answer within its time and retries."""


class Artifacts(Protocol):
    """A store of files by key. Safe to call from several threads and processes.

    Every call raises ArtifactsUnavailable, and ValueError for a key of another shape.
    """

    def put(self, key: str, content: bytes) -> None:
        """Keep a file, in place of what is there."""
        ...

    def get(self, key: str) -> bytes | None:
        """The file, or None when there is none. Raises ArtifactTooLong."""
        ...

    def delete(self, key: str) -> None:
        """Remove a file; none there is no failure."""
        ...

    def clear(self) -> None:
        """Remove every file, whosever it is, unfinished ones too; one put meanwhile may stay."""
        ...

    def link(self, key: str) -> str:
        """A URL from which whoever has it can fetch the file: `https`, or `file` on this machine.

        It works for 15 minutes at least.
        """
        ...

    def open_upload(self, key: str) -> str:
        """A URL to which whoever has it can put the file: `https`, or `file` on this machine.

        It works for 15 minutes at least.
        """
        ...
