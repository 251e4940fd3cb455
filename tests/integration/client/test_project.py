"""Which project a working directory is, as git tells it."""

from pathlib import Path

import pytest

from tests.git import git, without_own_settings
from zero_memory.client.project import project_hint, without_credentials


@pytest.fixture(autouse=True)
def no_git_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    without_own_settings(monkeypatch)


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
    assert project_hint() == f"no remote\n{repository.resolve()}"


def test_origin_comes_before_other_remotes(repository: Path) -> None:
    git(repository, "remote", "add", "fork", "https://example.com/fork.git")
    assert project_hint() == f"https://example.com/fork.git\n{repository.resolve()}"

    git(repository, "remote", "add", "origin", "git@example.com:acme/api.git")
    assert project_hint() == f"git@example.com:acme/api.git\n{repository.resolve()}"


def test_a_hint_is_as_long_as_the_service_takes(repository: Path) -> None:
    far = f"https://example.com/{'a' * 990}"
    git(repository, "remote", "add", "origin", far)
    assert project_hint() == far


def test_a_worktree_is_the_repository_that_it_belongs_to(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(repository, "commit", "--allow-empty", "-m", "first")
    git(repository, "worktree", "add", str(tmp_path / "tree"))
    monkeypatch.chdir(tmp_path / "tree")

    assert project_hint() == f"no remote\n{repository.resolve()}"


@pytest.mark.parametrize("bare", ["shop.git", "shop/.bare"])
def test_all_worktrees_of_a_bare_repository_are_one(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bare: str
) -> None:
    git(repository, "commit", "--allow-empty", "-m", "first")
    git(tmp_path, "clone", "--bare", str(repository), bare)
    git(tmp_path / bare, "remote", "remove", "origin")
    hints: set[str | None] = set()
    for branch in ("one", "two"):
        git(tmp_path / bare, "worktree", "add", str(tmp_path / "trees" / branch), "-b", branch)
        monkeypatch.chdir(tmp_path / "trees" / branch)
        hints.add(project_hint())

    assert hints == {f"no remote\n{tmp_path.resolve() / 'shop'}"}


def test_a_submodule_is_a_repository_of_its_own(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "part")
    git(tmp_path / "part", "commit", "--allow-empty", "-m", "first")
    added = ("submodule", "add", str(tmp_path / "part"), "part")
    git(repository, "-c", "protocol.file.allow=always", *added)
    git(repository / "part", "remote", "remove", "origin")
    monkeypatch.chdir(repository / "part")

    assert project_hint() == f"no remote\n{repository.resolve() / 'part'}"


def test_the_short_name_of_a_host_is_written_out(repository: Path) -> None:
    git(repository, "config", "url.git@example.com:.insteadOf", "work:")
    git(repository, "remote", "add", "origin", "work:acme/api.git")

    assert project_hint() == f"git@example.com:acme/api.git\n{repository.resolve()}"


def test_a_remote_in_an_included_file_is_found(repository: Path, tmp_path: Path) -> None:
    included = tmp_path / "included"
    included.write_text('[remote "origin"]\n\turl = https://example.com/a.git\n', encoding="utf-8")
    git(repository, "config", "include.path", str(included))

    assert project_hint() == f"https://example.com/a.git\n{repository.resolve()}"


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
