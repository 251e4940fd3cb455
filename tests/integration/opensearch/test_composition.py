"""The settings put a domain behind the search port, with the table behind it."""

from pathlib import Path

import numpy as np

from zero_memory.adapters.bundled_model import CARD
from zero_memory.ports.search_index import SearchFilter
from zero_memory.runtime.bootstrap import Composition
from zero_memory.runtime.settings import Settings


def test_a_domain_answers_and_the_table_does_while_it_cannot(
    opensearch_url: str, tmp_path: Path
) -> None:
    reasons: list[str | None] = []
    for endpoint in (opensearch_url, "http://127.0.0.1:9"):
        composed = Composition(
            Settings(data_dir=tmp_path, search="domain", search_endpoint=endpoint)
        )
        assert composed.home.search == "domain"
        if endpoint == opensearch_url:
            assert composed.derived_index is not None
            with composed.derived_index.replacing():
                pass
        vector = np.zeros(CARD.dimensions, np.float32)
        answer = composed.index.search(SearchFilter(("scp_A",)), vector=vector, tokens=[], limit=1)
        reasons.append(answer.incomplete)
    assert reasons[0] is None
    assert "the newest memories were searched" in (reasons[1] or "")
