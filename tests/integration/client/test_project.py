"""Which project a working directory is, as git tells it."""

import os
import subprocess
from pathlib import Path

import pytest

from zero_memory.client.project import project_hint, without_credentials


@pytest.fixture(autouse=True)
def no_git_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    git(folder, "init")
    monkeypatch.chdir(folder / "src")
    return folder


def test_outside_of_a_repository_there_is_no_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    assert project_hint() is None


def test_a_repository_without_remote_is_its_root(repository: Path) -> None:
    assert project_hint() == str(repository.resolve())


def test_origin_comes_before_other_remotes(repository: Path) -> None:
    git(repository, "remote", "add", "fork", "https://example.com/fork.git")
    assert project_hint() == "https://example.com/fork.git"

    git(repository, "remote", "add", "origin", "git@example.com:acme/api.git")
    assert project_hint() == "git@example.com:acme/api.git"


def test_a_worktree_is_the_repository_that_it_belongs_to(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "commit", "--allow-empty", "-m", "first")
    git(repository, "worktree", "add", str(tmp_path / "tree"))
    monkeypatch.chdir(tmp_path / "tree")

    assert project_hint() == str(repository.resolve())


def test_a_remote_in_an_included_file_is_found(repository: Path, tmp_path: Path) -> None:
    included = tmp_path / "included"
    included.write_text('[remote "origin"]\n\turl = https://example.com/a.git\n', encoding="utf-8")
    git(repository, "config", "include.path", str(included))

    assert project_hint() == "https://example.com/a.git"


def test_without_git_there_is_no_hint(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    assert project_hint() is None


@pytest.mark.parametrize(
    ("remote", "sent"),
    [
        ("https://me:ghp_secret@github.com/acme/api.git", "https://github.com/acme/api.git"),
        ("https://ghp_secret@github.com/acme/api", "https://github.com/acme/api"),
        ("HTTPS://me:p@ss@github.com/acme/api", "HTTPS://github.com/acme/api"),
        ("https://github.com/acme/api?access_token=secret#x", "https://github.com/acme/api"),
        ("ssh://git:secret@example.com:22/acme/api", "ssh://example.com:22/acme/api"),
        ("git@github.com:acme/api.git", "git@github.com:acme/api.git"),
        ("/srv/git/api.git", "/srv/git/api.git"),
        ("https://example.com/a@b/api", "https://example.com/a@b/api"),
    ],
)
def test_no_credential_leaves_with_a_remote(remote: str, sent: str) -> None:
    assert without_credentials(remote) == sent
