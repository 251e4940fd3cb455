import pytest

from zero_memory.mcp.instructions import SEGMENTS, instructions_for
from zero_memory.mcp.revision import ClientInfo

WHOLE = "\n\n".join(SEGMENTS)


def test_the_first_segment_is_a_router_that_fits_where_only_250_characters_are_shown() -> None:
    assert len(SEGMENTS[0]) <= 250
    for word in ("recall", "remember", "project_hint", "thread"):
        assert word in SEGMENTS[0]


@pytest.mark.parametrize(
    ("name", "version", "limit"),
    [
        ("claude-code", "2.1.197", 2_048),
        ("claude-code", "2.1.332", 4_096),
        ("claude-code", "next", 2_048),
    ],
)
def test_a_client_that_cuts_gets_whole_segments_up_to_its_cut(
    name: str, version: str, limit: int
) -> None:
    told = instructions_for(ClientInfo(name, version))
    assert len(told) <= limit
    assert told.split("\n\n") == list(SEGMENTS[: told.count("\n\n") + 1])
    assert len(told) == len(WHOLE) or len(told) > limit / 2


@pytest.mark.parametrize(
    "client", [None, ClientInfo("codex-mcp-client", "0.171.0"), ClientInfo("gemini-cli", "1")]
)
def test_other_clients_get_all(client: ClientInfo | None) -> None:
    assert instructions_for(client) == WHOLE
