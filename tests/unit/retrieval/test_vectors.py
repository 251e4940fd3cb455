import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from zero_memory.retrieval.vectors import cosines, pack, unpack, unpack_all


def unit(numbers: list[float]) -> NDArray[np.float32]:
    vector = np.array(numbers, np.float32)
    return vector / np.linalg.norm(vector).astype(np.float32)


vectors = (
    st.lists(st.floats(-1, 1, width=32), min_size=8, max_size=8)
    .filter(lambda numbers: max(map(abs, numbers)) > 1e-3)
    .map(unit)
)


@given(vectors)
def test_an_unpacked_vector_has_unit_length_and_is_near_the_original(
    vector: NDArray[np.float32],
) -> None:
    unpacked = unpack(pack(vector))
    assert np.linalg.norm(unpacked) == pytest.approx(1, abs=1e-5)
    assert float(unpacked @ vector) > 0.999


@given(vectors)
def test_packing_again_changes_no_byte(vector: NDArray[np.float32]) -> None:
    packed = pack(vector)
    assert pack(unpack(packed)) == packed
    assert len(packed) == 4 + len(vector)


@given(st.lists(vectors, min_size=1, max_size=5), vectors)
def test_cosines_are_those_of_the_unpacked_vectors(
    rows: list[NDArray[np.float32]], query: NDArray[np.float32]
) -> None:
    packed = [pack(row) for row in rows]
    one_by_one = [float(unpack(each) @ query) for each in packed]
    assert cosines(query, packed) == pytest.approx(one_by_one, abs=1e-6)
    assert unpack_all(packed).shape == (len(rows), len(query))


@pytest.mark.parametrize("hopeless", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_a_vector_without_direction_is_refused(hopeless: list[float]) -> None:
    with pytest.raises(ValueError, match="direction"):
        pack(np.array(hopeless, np.float32))
