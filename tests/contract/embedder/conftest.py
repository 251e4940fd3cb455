"""Every embedder that the contract holds for."""

import pytest

from tests.hashing_embedder import HashingEmbedder
from zero_memory.adapters.onnx import OnnxEmbedder
from zero_memory.ports.embedder import Embedder
from zero_memory.resources import model_folder


@pytest.fixture(scope="session", params=["onnx", "hashing"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "hashing":
        return HashingEmbedder()
    return OnnxEmbedder(model_folder())
