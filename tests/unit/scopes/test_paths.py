"""Scope paths: numbers tell equal names apart, and no path of one person is another's."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from zero_memory.scopes.paths import own_slug, paths_for, shared_path, slug_of

SLUGS = st.text().map(slug_of).filter(bool)


def test_equal_names_get_numbers():
    paths = islice(paths_for("proj", "p_1", "web"), 3)
    assert list(paths) == ["proj.p_1.web", "proj.p_1.web-2", "proj.p_1.web-3"]


@given(SLUGS)
def test_numbered_paths_differ_and_are_well_formed(slug: str):
    paths = list(islice(paths_for("proj", "p_1", slug), 12))
    assert len(set(paths)) == 12
    assert all(own_slug(path, "p_1") for path in paths)


@given(st.text())
def test_a_slug_of_a_slug_is_the_slug(name: str):
    assert slug_of(slug_of(name)) == slug_of(name)


@given(SLUGS)
def test_a_path_under_another_persons_id_is_not_ones_own(slug: str):
    assert own_slug(shared_path("proj", "p_2", slug), "p_1") is None
    assert own_slug(shared_path("team", "p_1", slug), "p_1") is None


@given(st.text(alphabet="abc-.P _/é", min_size=1))
def test_only_a_slug_ends_an_own_path(text: str):
    found = own_slug(f"proj.p_1.{text}", "p_1")
    assert found == (text if text == slug_of(text) else None) or "--" in text
