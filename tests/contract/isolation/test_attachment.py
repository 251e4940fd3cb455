"""Which project a repository is, at the edge, by the hints that `zm` makes of real ones."""

from pathlib import Path

import pytest

from tests.contract.isolation.agents import Agent
from tests.contract.isolation.conftest import Arrive
from tests.git import git, without_own_settings
from zero_memory.client.project import project_hint


@pytest.fixture(autouse=True)
def no_git_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    without_own_settings(monkeypatch)


@pytest.fixture
def ada(arrive: Arrive) -> Agent:
    return arrive()


def repository(folder: Path, remote: str | None = None) -> Path:
    """A repository with a commit and a folder in it."""
    (folder / "src" / "deep").mkdir(parents=True)
    git(folder, "init")
    git(folder, "commit", "--allow-empty", "-m", "first")
    if remote is not None:
        git(folder, "remote", "add", "origin", remote)
    return folder


def hint_in(folder: Path) -> str:
    """What `zm` sends when it is called there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        hint = project_hint()
    assert hint is not None
    return hint


def writes_in(agent: Agent, folder: Path) -> str:
    return agent.writes(f"Learnt in {folder}", project_hint=hint_in(folder))


@pytest.mark.parametrize(
    "remotes",
    [
        ("git@github.com:acme/web.git", "https://github.com/zenith/web.git"),
        ("https://github.com/acme/web", "https://gitlab.com/acme/web"),
        (None, None),
    ],
)
def test_two_repositories_called_web_stay_apart(
    ada: Agent, tmp_path: Path, remotes: tuple[str | None, ...]
) -> None:
    one, other = (
        repository(tmp_path / str(number) / "web", remote) for number, remote in enumerate(remotes)
    )
    scopes = [writes_in(ada, folder) for folder in (one, other, one, other)]
    assert scopes[:2] == scopes[2:]
    assert scopes[0] != scopes[1]
    thread = ada.call("recall", query="x", project_hint=hint_in(one))["session"]["thread"]
    assert ada.writes("Again", thread=thread) == scopes[0]
    found = ada.call("recall", query="Learnt", project_hint=hint_in(other))
    assert {hit["scope"] for hit in found["hits"]} == {scopes[1]}


def test_people_who_share_no_project_have_one_each_of_the_same_repository(
    arrive: Arrive, tmp_path: Path
) -> None:
    web = repository(tmp_path / "web", "git@github.com:acme/web.git")
    ada, ben = arrive(), arrive()
    assert writes_in(ada, web) == ada.path("web")
    assert writes_in(ben, web) == ben.path("web")


@pytest.mark.parametrize("remote", [None, "git@github.com:acme/api.git"])
def test_a_worktree_and_a_subfolder_are_the_repository(
    ada: Agent, tmp_path: Path, remote: str | None
) -> None:
    api = repository(tmp_path / "api", remote)
    git(api, "worktree", "add", str(tmp_path / "elsewhere" / "tree"))
    git(api, "worktree", "add", str(api / ".worktrees" / "inside"))
    (tmp_path / "elsewhere" / "tree" / "src").mkdir()
    folders = (
        tmp_path / "elsewhere" / "tree" / "src",
        api / ".worktrees" / "inside",
        api / "src" / "deep",
        api,
    )
    assert {writes_in(ada, folder) for folder in folders} == {ada.path("api")}


def test_ssh_and_https_remotes_and_the_checkout_are_one_project_once_linked(
    ada: Agent, tmp_path: Path
) -> None:
    remotes = (
        "git@github.com:acme/api.git",
        "https://github.com/acme/api",
        "ssh://git@ssh.github.com:443/Acme/api.git",
        "https://ada:secret@github.com/acme/api.git/",
    )
    clones = [
        repository(tmp_path / str(number) / "api", remote) for number, remote in enumerate(remotes)
    ]
    assert {writes_in(ada, folder) for folder in clones} == {ada.path("api")}
    assert ada.writes("By its path", project_hint=str(clones[0])) == ada.path("api")
    assert ada.writes("By its name", project_hint="api") == ada.path("api")


def test_reading_another_repository_never_moves_where_one_writes(
    ada: Agent, tmp_path: Path
) -> None:
    web = repository(tmp_path / "web", "git@github.com:acme/web.git")
    api = repository(tmp_path / "api", "git@github.com:acme/api.git")
    writes_in(ada, api)
    made = ada.call("remember", content="Made", project_hint=hint_in(web))
    thread = made["session"]["thread"]
    for tool, arguments in (
        ("recall", {"query": "x"}),
        ("entities", {}),
        ("list_memories", {}),
        ("describe_scope", {}),
        ("recall", {"query": "x", "scopes": ["*"]}),
    ):
        ada.call(tool, thread=thread, project_hint=hint_in(api), **arguments)
        assert ada.writes(f"Still in web after {tool}", thread=thread) == ada.path("web")
    assert writes_in(ada, api) == ada.path("api")
    assert ada.writes("And still", thread=thread) == ada.path("web")
