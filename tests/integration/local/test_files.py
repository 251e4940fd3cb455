"""Small files of the home that are replaced whole."""

from pathlib import Path

import pytest

from zero_memory.local.files import write_atomically


def test_where_nothing_can_be_written_the_file_itself_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gone" / "serve.json"

    with pytest.raises(FileNotFoundError) as failed:
        write_atomically(path, "{}")

    assert failed.value.filename == str(path)
