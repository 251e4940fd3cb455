"""Unit vectors as bytes: int8 behind a float32 scale, and cosines over them.

What `unpack` gives *is* the vector of a window, in every home. The scale is chosen so that it has
unit length, and a dot product stays a cosine.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_SCALE = np.dtype("<f4")
SCALE_BYTES = _SCALE.itemsize
"""Bytes of a packed vector beside one for each number."""

_LEVELS = 127


def pack(vector: NDArray[np.float32]) -> bytes:
    """A vector as 4 bytes of scale (little-endian float32) and a signed byte for each number.

    `pack(unpack(packed)) == packed`. Raises ValueError for a vector without direction.
    """
    peak = np.abs(vector).max(initial=0)
    if not 0 < peak < np.inf:
        raise ValueError("a vector must have a direction")
    levels = np.rint(vector * (_LEVELS / peak)).astype(np.int8)
    scale = 1 / np.linalg.norm(levels.astype(np.float64))
    return np.array(scale, _SCALE).tobytes() + levels.tobytes()


def unpack(packed: bytes) -> NDArray[np.float32]:
    """The vector behind these bytes, shape (len(packed) - 4,)."""
    return unpack_all((packed,))[0]


def unpack_all(packed: Sequence[bytes]) -> NDArray[np.float32]:
    """Vectors of one dimension, shape (len(packed), dimensions)."""
    rows = np.frombuffer(b"".join(packed), np.uint8).reshape(len(packed), -1)
    scales = np.ascontiguousarray(rows[:, :SCALE_BYTES]).view(_SCALE)
    return rows[:, SCALE_BYTES:].view(np.int8) * scales.astype(np.float32)


def cosines(query: NDArray[np.float32], packed: Sequence[bytes]) -> NDArray[np.float32]:
    """The cosine of a unit-length query to each packed vector, shape (len(packed),)."""
    return unpack_all(packed) @ query
