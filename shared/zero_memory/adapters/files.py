"""Artifacts as files below one folder of this machine, for its owner alone."""

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from zero_memory.adapters.artifact_keys import checked
from zero_memory.ports.artifacts import MAX_BYTES, ArtifactsUnavailable, ArtifactTooLong

KEPT_S = 24 * 3600


class FileArtifacts:
    """`ports.artifacts.Artifacts` in a folder (mode 0700; files 0600)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()

    def put(self, key: str, content: bytes) -> None:
        """See the port."""
        path = self._path(key)
        try:
            self._make_folders(path)
            descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                Path(draft).replace(path)
            except BaseException:
                Path(draft).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise _unavailable(error) from error

    def get(self, key: str) -> bytes | None:
        """See the port."""
        path = self._path(key)
        try:
            if path.stat().st_size > MAX_BYTES:
                raise ArtifactTooLong(f"an artifact has at most {MAX_BYTES:,} bytes")
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unavailable(error) from error

    def delete(self, key: str) -> None:
        """See the port."""
        try:
            self._path(key).unlink(missing_ok=True)
        except OSError as error:
            raise _unavailable(error) from error

    def clear(self) -> None:
        """See the port."""
        try:
            for file in self._folder.glob("*/*"):
                file.unlink(missing_ok=True)
        except OSError as error:
            raise _unavailable(error) from error
        for folder in self._folder.glob("*"):
            with suppress(OSError):  # a new file came in, or another process was faster
                folder.rmdir()

    def remove_expired(self) -> None:
        """Remove what has been kept for a day, unfinished files too.

        Raises ArtifactsUnavailable.
        """
        now = time.time()
        try:
            for old in self._folder.glob("*/*"):
                with suppress(FileNotFoundError):  # another process was faster
                    if now - old.stat().st_mtime > KEPT_S:
                        old.unlink()
        except OSError as error:
            raise _unavailable(error) from error

    def link(self, key: str) -> str:
        """See the port."""
        return self._path(key).as_uri()

    def open_upload(self, key: str) -> str:
        """See the port."""
        path = self._path(key)
        try:
            self._make_folders(path)
        except OSError as error:
            raise _unavailable(error) from error
        return path.as_uri()

    def _path(self, key: str) -> Path:
        return self._folder / checked(key)

    def _make_folders(self, path: Path) -> None:
        for folder in (self._folder, path.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _unavailable(error: OSError) -> ArtifactsUnavailable:
    return ArtifactsUnavailable(f"the folder of artifacts does not answer: {type(error).__name__}")
