"""What project hints say: spellings of one repository meet, different repositories do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zero_memory.scopes.hints import Hint, read_hint
from zero_memory.scopes.paths import own_slug, shared_path


def _hint(text: str, machine: str = "desk") -> Hint:
    hint = read_hint(text, machine)
    assert hint is not None
    return hint


def _identity(hint: Hint) -> str:
    """What the project of a hint with one mark is known by."""
    (mark,) = hint.marks
    return mark.identity


@pytest.mark.parametrize(
    "remote",
    [
        "git@github.com:acme/api.git",
        "git@github.com:acme/api",
        "github.com:acme/api.git",
        "ssh://git@github.com/acme/api.git",
        "ssh://git@github.com:22/acme/api",
        "ssh://git@ssh.github.com:443/acme/api.git",
        "git+ssh://git@github.com/acme/api.git",
        "git://github.com/acme/api.git",
        "https://github.com/acme/api",
        "https://github.com/acme/api.git",
        "https://github.com/acme/api/",
        "https://www.github.com/acme/api",
        "http://github.com:8080/acme/api",
        "HTTPS://GitHub.com/Acme/API.git",
        "https://somebody:word@github.com/acme/api.git",
        "https://github.com/acme/api/tree/main/src",
        "https://github.com/acme/api?tab=readme#top",
        "github.com/acme/api",
        "  git@github.com:acme/api.git\n",
    ],
)
def test_spellings_of_one_remote_meet(remote: str):
    hint = _hint(remote)
    assert _identity(hint) == "remote:github.com/acme/api"
    assert hint.slug == "api"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("git@gitlab.com:group/sub/web.git", "https://gitlab.com/group/sub/web/-/merge_requests/1"),
        ("git@ssh.dev.azure.com:v3/org/site/web", "https://org@dev.azure.com/org/site/_git/web"),
        ("ssh://git@[::1]:2222/acme/web.git", "https://[::1]/acme/web"),
        ("git@git.example.org:web.git", "https://git.example.org/web"),
        ("file:///home/me/src/web", "/home/me/src/web"),
        ("file:///C:/Users/me/web", "c:\\users\\Me\\web"),
        ("/home/me/src/web/", "/home/me/./src//web"),
        ("C:\\Users\\me\\src\\web", "c:/users/me/src/web"),
    ],
)
def test_spellings_of_one_place_meet(one: str, other: str):
    assert _identity(_hint(one)) == _identity(_hint(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("git@github.com:acme/web.git", "git@github.com:other/web.git"),
        ("git@github.com:acme/web.git", "git@gitlab.com:acme/web.git"),
        ("git@gitlab.com:a/b/web.git", "git@gitlab.com:a/c/web.git"),
        ("/home/me/a/web", "/home/me/b/web"),
        ("/home/me/a/web", "/home/me/a/Web"),
        ("/home/me/a/web", "/home/me/a\\web"),
    ],
)
def test_different_repositories_of_one_name_stay_apart(one: str, other: str):
    assert _identity(_hint(one)) != _identity(_hint(other))


def test_a_path_means_another_place_on_another_machine():
    assert _identity(_hint("/home/me/web", "desk")) != _identity(_hint("/home/me/web", "laptop"))


def test_the_identity_of_a_path_does_not_tell_the_path():
    assert "me" not in _identity(_hint("/home/me/quarterly")).split(":")
    assert "quarterly" not in _identity(_hint("/home/me/quarterly"))


@pytest.mark.parametrize(
    "remote",
    [
        "https://me:hunter2@github.com/acme/api",
        "https://hunter2@github.com/acme/api",
        "https://me:hun/hunter2@github.com/acme/api",
        "https://me:hun@hunter2@github.com/acme/api",
        "ssh://me:hunter2@github.com/acme/api",
        "me:hunter2@github.com:acme/api",
        "me:hunter2@github.com/acme/api",
    ],
)
def test_of_a_password_in_a_remote_nothing_stays(remote: str):
    assert _identity(_hint(remote)) == "remote:github.com/acme/api"


@pytest.mark.parametrize(
    "odd",
    [
        "http:/u:{}@h/a",
        "http:u:{}@h/a",
        "//u:{}@h",
        "//u:p/{}@h",
        "/u:{}@h",
        "~/u:{}@h",
        "C:\\u:{}@h",
        "C:/u:{}@h",
        "C:u:{}@h",
        "file:/u:{}@h",
        "file:///u%3A{}%40h",
    ],
)
def test_of_a_password_in_a_misspelt_remote_or_a_path_nothing_stays(odd: str):
    one, other = (read_hint(odd.format(password), "desk") for password in ("Hunter2", "other"))
    assert one == other
    assert "hunter2" not in repr(one).lower()


def test_of_a_password_before_a_name_nothing_stays():
    assert _hint("me:hunter2@desk") == Hint((), "desk")


def test_a_checkout_is_its_remote_and_its_place():
    remote, place = _hint("git@github.com:acme/api.git"), _hint("/home/me/work")
    both = _hint("https://github.com/acme/api\n/home/me/work")
    assert both == Hint((*remote.marks, *place.marks), "api", checkout=True)
    assert _hint("no remote\n/home/me/work") == Hint(place.marks, "work", checkout=True)


def test_a_checkout_of_which_a_part_says_nothing_is_the_other_part():
    remote, place = _hint("git@github.com:acme/api.git"), _hint("/home/me/work")
    assert _hint("git@github.com:acme/api.git\n.") == remote
    assert _hint("some words\n/home/me/work") == place
    assert _hint("https://github.com/\n/home/me/work") == place
    assert read_hint("no remote\n/", "desk") == Hint((), "no remote")


def test_of_a_password_in_a_checkout_nothing_stays():
    one, other = (
        _hint(f"https://me:{password}@github.com/acme/api\n/home/me:{password}@h/api")
        for password in ("Hunter2", "other")
    )
    assert one == other


@pytest.mark.parametrize(
    "nothing",
    [
        "", "   ", "/", "//", ".", "./", "..", "../..", "~", "~/", "\\", "C:", "C:\\", "c:/",
        "---", "!?", "…", "file:///", "https://github.com", "https://github.com/", "ssh://",
        "https://[bad/x", "/home/me/..", "./web", "../web", "/home/me/…", "git@github.com:/",
    ],
)  # fmt: skip
def test_what_names_nothing_is_no_hint(nothing: str):
    assert read_hint(nothing, "desk") is None


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("My App", "my-app"),
        ("api_v2", "api-v2"),
        ("Zürich", "zurich"),
        ("проект", "proekt"),
        ("東京", "dongjing"),
        ("acme/api", "acme-api"),
        ("x" * 100, "x" * 60),
        ("a" * 59 + " b", "a" * 59),
    ],
)
def test_names_become_slugs_in_ascii(name: str, slug: str):
    assert _hint(name) == Hint((), name)
    assert _hint(name).slug == slug


@given(st.text() | st.from_regex(r"[a-z]{0,5}[:@/\\.~]{0,3}[a-zA-Z0-9./\\:@~-]{0,30}"))
def test_any_hint_names_nothing_or_something_with_a_path(text: str):
    hint = read_hint(text, "desk")
    if hint is not None:
        assert own_slug(shared_path("proj", "p_1", hint.slug), "p_1") == hint.slug
        assert all(mark.identity.startswith(mark.sort) for mark in hint.marks)
