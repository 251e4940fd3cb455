"""Vectors in a file, row after row, mapped into memory."""

import mmap
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_NUMBER = np.dtype("<f4")
_LEAST_ROWS = 1_024


class DamagedVectors(OSError):
    """A file of vectors is not there, or holds fewer than were stored in it."""


def recover(path: Path, dimensions: int, rows: int) -> None:
    """Drop what stands behind the first `rows` rows of a file that nobody has open.

    Raises DamagedVectors when it holds fewer.
    """
    size = rows * dimensions * _NUMBER.itemsize
    if not path.exists() or path.stat().st_size < size:
        raise DamagedVectors
    os.truncate(path, size)


class VectorFile:
    """A file of float32 rows that grows at its end; who uses it knows how many rows count.

    It is mapped whole, with room to grow, since mapping it anew after a write would fault every
    page in again (20 ms for 100,000 rows). Its holder serialises the writes; reads need no lock.
    """

    def __init__(self, path: Path, dimensions: int, rows: int) -> None:
        self._path = path
        self._dimensions = dimensions
        self._stride = dimensions * _NUMBER.itemsize
        if not path.exists():
            path.touch(0o600)
            _keep_names(path.parent)
        self._map = self._mapped(rows)

    def rows(self, count: int) -> NDArray[np.float32]:
        """The first `count` rows; they stay valid whatever happens to the file."""
        numbers = np.frombuffer(self._map, _NUMBER, count * self._dimensions)
        return numbers.reshape(count, self._dimensions)

    def write(self, first: int, vectors: NDArray[np.float32]) -> None:
        """Write rows from `first` on; on disk when this returns."""
        end = first + len(vectors)
        if end * self._stride > len(self._map):
            self._map = self._mapped(end)
        self._put(first * self._stride, vectors.astype(_NUMBER).tobytes())

    def clear(self, first: int, count: int) -> None:
        """Write zeros over rows; on disk when this returns."""
        self._put(first * self._stride, bytes(count * self._stride))

    def _put(self, begin: int, data: bytes) -> None:
        # Through the file: what a full disk has no room for would end the process in the map.
        with self._path.open("r+b") as file:
            file.seek(begin)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def _mapped(self, rows: int) -> mmap.mmap:
        with self._path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            if size < rows * self._stride or size == 0:
                size = max(_LEAST_ROWS, rows + rows // 2) * self._stride
                file.truncate(size)
            return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)


def _keep_names(folder: Path) -> None:
    """Put the names of a folder's files on disk: a file that was synced may be nameless there."""
    if os.name == "posix":  # elsewhere folders cannot be opened, and names need nothing
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
