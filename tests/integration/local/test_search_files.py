"""The search files are derived: the service builds them again when they are gone or old."""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.contract.memory.damage import damage_search_record
from tests.integration.client.test_commands import zm
from tests.service import Service, running
from zero_memory.adapters.sqlite import SqliteTable

FACTS = ("The staging database is rebuilt on Mondays", "Releases are cut from main")


def remember(service: Service, content: str) -> str:
    answer = service.call("remember", {"content": content, "scope": "core"})
    assert answer.status_code == 200
    return answer.json()["id"]


def finds(service: Service, query: str) -> list[str]:
    answer = service.call("recall", {"query": query}).json()
    assert not answer["degraded"]
    return [hit["id"] for hit in answer["hits"]]


def wait_until_settled(home: Path) -> None:
    """Until no pending marker is left, so that what is found is found by the index."""
    deadline = time.monotonic() + 30
    with closing(sqlite3.connect(home / "table.sqlite3")) as table:
        while table.execute("SELECT 1 FROM items WHERE pk LIKE 'S#%' AND sk LIKE 'P#%'").fetchone():
            assert time.monotonic() < deadline
            time.sleep(0.05)


def delete(home: Path, before: Path) -> None:
    shutil.rmtree(home / "index")


def put_back(home: Path, before: Path) -> None:
    delete(home, before)
    shutil.copytree(before, home / "index")


def test_search_files_removed_under_a_running_service_are_missed_and_come_with_the_next(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    with running(home) as service:
        early = remember(service, FACTS[0])
        wait_until_settled(home)
        shutil.rmtree(home / "index")
        late = remember(service, FACTS[1])
        answer = service.call("recall", {"query": FACTS[1]}).json()
        assert late in [hit["id"] for hit in answer["hits"]]
        assert "restart it" in answer["degraded_reason"]
        service.stop()
    with running(home) as service:
        assert finds(service, FACTS[0])[0] == early
        assert finds(service, FACTS[1])[0] == late


def overwrite_database(home: Path, before: Path) -> None:
    (home / "index" / "index.sqlite3").write_bytes(os.urandom(9_000))


def overwrite_vectors(home: Path, before: Path) -> None:
    for vectors in (home / "index").glob("*.vectors"):
        vectors.write_bytes(os.urandom(99))


@pytest.mark.parametrize("harm", [delete, put_back, overwrite_database, overwrite_vectors])
def test_search_files_that_are_gone_or_old_are_built_again(
    tmp_path: Path, harm: Callable[[Path, Path], None]
) -> None:
    home, before = tmp_path / "home", tmp_path / "before"
    with running(home) as service:
        early = remember(service, FACTS[0])
        wait_until_settled(home)
        service.stop()
    shutil.copytree(home / "index", before)
    with running(home) as service:
        late = remember(service, FACTS[1])
        wait_until_settled(home)
        service.stop()
    harm(home, before)
    with running(home) as service:
        assert finds(service, FACTS[0])[0] == early
        assert finds(service, FACTS[1])[0] == late


def test_a_damaged_memory_keeps_none_of_the_others_out_of_new_search_files(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with running(home) as service:
        odd, *whole = (remember(service, fact) for fact in FACTS)
        wait_until_settled(home)
        service.stop()
    with closing(SqliteTable(home / "table.sqlite3")) as table:
        damage_search_record(table, odd)
    shutil.rmtree(home / "index")
    with running(home) as service:
        assert finds(service, FACTS[1]) == whole


def test_a_backup_of_the_table_is_searched_as_it_was(tmp_path: Path) -> None:
    home, backup = tmp_path / "home", tmp_path / "table.sqlite3"
    with running(home) as service:
        early = remember(service, FACTS[0])
        wait_until_settled(home)
        service.stop()
    shutil.copy(home / "table.sqlite3", backup)
    with running(home) as service:
        service.call("forget", {"memory_id": early, "reason": "It was a mistake."})
        remember(service, FACTS[1])
        wait_until_settled(home)
        service.stop()
    shutil.copy(backup, home / "table.sqlite3")
    with running(home) as service:
        assert finds(service, FACTS[0]) == [early]


@pytest.mark.parametrize("harm", [delete, overwrite_database, overwrite_vectors])
def test_an_operator_builds_them_anew_while_the_service_is_stopped(
    tmp_path: Path, harm: Callable[[Path, Path], None]
) -> None:
    home = tmp_path / "home"
    with running(home) as service:
        early = remember(service, FACTS[0])
        refused = zm("admin", "--home", str(home), "reindex", environment={**os.environ})
        assert refused.returncode == 1
        assert "stop it first" in refused.stderr
        assert "not finished" not in refused.stderr
        wait_until_settled(home)
        service.stop()
    harm(home, home)
    done = zm("admin", "--home", str(home), "reindex", environment={**os.environ})
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "Done: 1 memories, 0 embedded again"
    with running(home) as service:
        assert finds(service, FACTS[0]) == [early]
