"""What the local index promises beyond the port: its files."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.contract.search_index.documents import NORTH, SCOPES, direction, document
from tests.samples import REPOSITORY
from zero_memory.adapters.local_index import LocalIndex
from zero_memory.ports.search_index import (
    DocumentRefused,
    IndexedWindow,
    IndexUnavailable,
    SearchFilter,
)

Open = Callable[..., LocalIndex]


@pytest.fixture
def reopen(tmp_path: Path) -> Generator[Open]:
    """Opens the index of one folder, after closing it when it is open."""
    opened: list[LocalIndex] = []

    def again(*, open_scopes: int = 64) -> LocalIndex:
        while opened:
            opened.pop().close()
        opened.append(LocalIndex(tmp_path / "index", open_scopes=open_scopes))
        return opened[0]

    yield again
    for index in opened:
        index.close()


def found(index: LocalIndex, *scopes: str) -> list[str]:
    where = SearchFilter(scopes or SCOPES)
    answer = index.search(where, vector=NORTH, tokens=["cache"], limit=1_000)
    assert [match.memory_id for match in answer.lexical] == sorted(
        match.memory_id for match in answer.semantic
    )
    return [match.memory_id for match in answer.lexical]


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_what_was_applied_is_there_after_a_restart(reopen: Open) -> None:
    reopen().apply([document(), document("mem_2", visible_in=("scp_B",), alive=((1, 5),))])
    index = reopen()
    assert found(index) == ["mem_1"]
    then = SearchFilter(("scp_B",), alive_at=3)
    assert index.search(then, vector=NORTH, tokens=[], limit=9).semantic[0].memory_id == "mem_2"


def test_it_grows_past_its_first_room(reopen: Open) -> None:
    index = reopen()
    names = [f"mem_{number:05}" for number in range(2_500)]
    for start in range(0, len(names), 500):
        index.apply([document(name) for name in names[start : start + 500]])
    answer = index.search(
        SearchFilter(("scp_A",)), vector=NORTH, tokens=["cache"], limit=len(names)
    )
    assert [match.memory_id for match in answer.semantic] == names
    assert len(reopen().facets(SearchFilter(("scp_A",)))) == 1


def test_a_killed_process_loses_nothing_that_apply_returned_from(
    tmp_path: Path, reopen: Open
) -> None:
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from tests.contract.search_index.documents import document
        from zero_memory.adapters.local_index import LocalIndex
        index = LocalIndex(Path(sys.argv[1]))
        for number in range(10_000):
            index.apply([document(f"mem_{number:05}")])
            print(f"mem_{number:05}", flush=True)
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "index")],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
    ) as process:
        assert process.stdout is not None
        acknowledged = [process.stdout.readline().strip() for _ in range(30)]
        process.kill()
        acknowledged += process.stdout.read().split()
    index = reopen()
    assert set(acknowledged) <= set(found(index))
    index.apply([document("mem_after")])
    assert "mem_after" in found(reopen())


def test_a_full_disk_is_said_and_with_room_again_it_goes_on(tmp_path: Path) -> None:
    small = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    mount = f"mount -t tmpfs -o size=1m none '{tmp_path}'"
    if shutil.which("unshare") is None or subprocess.run([*small, mount], check=False).returncode:
        pytest.skip("this system lets nobody make a small disk")
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from tests.contract.search_index.documents import direction, document
        from zero_memory.adapters.local_index import LocalIndex
        from zero_memory.ports.search_index import IndexedWindow, IndexUnavailable, SearchFilter

        def apply(name):
            index.apply([document(name, windows=(IndexedWindow(0, 9, direction(*range(1_000))),))])

        index = LocalIndex(Path(sys.argv[1]) / "index")
        apply("mem_1")
        filler = Path(sys.argv[1]) / "filler"
        try:
            filler.write_bytes(bytes(2**20))
        except OSError:
            pass
        try:
            apply("mem_2")
        except IndexUnavailable:
            print("full")
        filler.unlink()
        apply("mem_3")
        print(index.facets(SearchFilter(("scp_A",))))
        """
    )
    done = subprocess.run(
        [*small, f'{mount} && exec "$0" -c "$1" "$2"', sys.executable, script, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "full\n{'fact': 2}\n")


def test_what_stands_behind_the_committed_vectors_is_dropped(tmp_path: Path, reopen: Open) -> None:
    reopen().apply([document()])
    (vectors,) = (tmp_path / "index").glob("*.vectors")
    size = NORTH.nbytes
    index = reopen()
    index.close()
    with vectors.open("r+b") as file:
        file.seek(size)
        file.write(b"\xff" * size)
    index = reopen()
    assert vectors.read_bytes() == NORTH.tobytes()
    assert found(index) == ["mem_1"]


def test_a_new_file_of_vectors_has_its_name_on_disk_when_apply_returns(
    tmp_path: Path, reopen: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, sync = reopen(), os.fsync
    synced: list[tuple[int, set[str]]] = []

    def watch(descriptor: int) -> None:
        names = {path.name for path in (tmp_path / "index").glob("*.vectors")}
        synced.append((os.fstat(descriptor).st_ino, names))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    index.apply([document()])
    assert ((tmp_path / "index").stat().st_ino, {"1.vectors"}) in synced


def lose_vectors(folder: Path) -> None:
    (vectors,) = folder.glob("*.vectors")
    os.truncate(vectors, NORTH.nbytes - 1)


def remove_vectors(folder: Path) -> None:
    (vectors,) = folder.glob("*.vectors")
    vectors.unlink()


def overwrite(folder: Path) -> None:
    (folder / "index.sqlite3").write_bytes(b"not a database" * 1_000)


def be_another_database(folder: Path) -> None:
    (folder / "index.sqlite3").unlink()
    changed(folder, "CREATE TABLE x (y)")


def be_of_another_version(folder: Path) -> None:
    changed(folder, "UPDATE about SET value = '99' WHERE name = 'format'")


def changed(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "index.sqlite3")) as db, db:
        db.execute(statement)


@pytest.mark.parametrize(
    "harm", [lose_vectors, remove_vectors, overwrite, be_another_database, be_of_another_version]
)
def test_files_that_are_damaged_or_of_another_version_are_begun_anew(
    tmp_path: Path, reopen: Open, caplog: pytest.LogCaptureFixture, harm: Callable[[Path], None]
) -> None:
    index = reopen()
    index.apply([document()])
    index.mark_applied(7)
    index.close()
    harm(tmp_path / "index")
    index = reopen()
    assert (index.applied, list(index.stored(after="", limit=9))) == (0, [])
    assert "begun anew" in caplog.text
    index.apply([document()])
    assert len(index.stored(after="", limit=9)) == 1


def test_files_that_may_not_be_read_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "index" / "index.sqlite3").mkdir(parents=True)
    with pytest.raises(IndexUnavailable, match="zm admin reindex"):
        LocalIndex(tmp_path / "index")


def test_a_second_process_is_told_that_the_files_are_taken(tmp_path: Path, reopen: Open) -> None:
    reopen()
    with pytest.raises(IndexUnavailable, match="Another process"):
        LocalIndex(tmp_path / "index")


def test_a_failed_write_changes_nothing(reopen: Open) -> None:
    index = reopen()
    index.apply([document()])
    with pytest.raises(DocumentRefused):
        index.apply([document("mem_2"), document("mem_3", model="model@2")])
    assert found(index) == ["mem_1"]
    index.apply([document("mem_4")])
    assert found(index) == ["mem_1", "mem_4"]
    assert found(reopen()) == ["mem_1", "mem_4"]


def test_few_scopes_are_kept_open_and_all_are_searched(reopen: Open) -> None:
    index = reopen(open_scopes=2)
    scopes = tuple(f"scp_{number}" for number in range(9))
    for scope in scopes:
        index.apply([document(f"mem_{scope}", visible_in=(scope,))])
    assert found(index, *scopes) == [f"mem_{scope}" for scope in scopes]
    for scope in scopes:
        assert found(index, scope) == [f"mem_{scope}"]


def test_a_scope_that_holds_nothing_leaves_no_file(tmp_path: Path, reopen: Open) -> None:
    index = reopen()
    index.apply([document()])
    before = sorted((tmp_path / "index").iterdir())
    assert found(index, "scp_unknown") == []
    assert sorted((tmp_path / "index").iterdir()) == before


def test_erasing_leaves_no_byte_in_any_file(tmp_path: Path, reopen: Open) -> None:
    index = reopen()
    secret = document(
        "mem_secret",
        visible_in=("scp_A", "scp_B"),
        tokens={"unmistakable": 1, "cache": 1},
        windows=(IndexedWindow(0, 9, direction(0.1, 0.2, 0.3, 0.4)),),
    )
    others = [document(f"mem_{number}", tokens={"cache": 1}) for number in range(50)]
    index.apply([*others[:25], secret, *others[25:]])
    index.apply([document("mem_secret", 2, visible_in=("scp_C",), windows=secret.windows)])
    index.erase(["mem_secret"])
    left = everything(tmp_path / "index")
    assert b"mem_secret" not in left
    assert b"unmistakable" not in left
    assert secret.windows[0].vector.tobytes() not in left
    assert found(index) == sorted(each.memory_id for each in others)


def test_a_memory_that_moves_leaves_its_vectors_behind_in_no_file(
    tmp_path: Path, reopen: Open
) -> None:
    index = reopen()
    index.apply([document()])
    (first,) = (tmp_path / "index").glob("*.vectors")
    index.apply([document(revision=2, visible_in=("scp_B",))])
    assert not np.frombuffer(first.read_bytes(), np.uint8).any()


def test_files_are_for_their_owner_alone(tmp_path: Path, reopen: Open) -> None:
    reopen().apply([document()])
    folder = tmp_path / "index"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_the_index_knows_the_last_change_that_is_in_it(reopen: Open) -> None:
    index = reopen()
    assert index.applied == 0
    index.mark_applied(42)
    assert reopen().applied == 42
