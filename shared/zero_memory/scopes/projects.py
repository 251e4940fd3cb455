"""From a project hint to a project: finding it, knowing it again, and making it at first use.

What a person's project is known by stands in their membership, so that a hint is resolved from
the access that each request has read anyway. Remotes are told apart exactly. A path or remote that
is new is taken for the person's own project of the same name only while that project has none of
its sort: the checkout of a project first met by its remote, the remote of one first met by its
path. Nothing is guessed into a project that somebody else owns, where others would read it.
"""

from msgspec import Struct
from msgspec.structs import replace

from zero_memory.contracts.errors import validation_failed
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import ConditionFailed, Put, RevisionIs, Table
from zero_memory.scopes.access import Access, access_of
from zero_memory.scopes.founding import found
from zero_memory.scopes.hints import Hint, read_hint
from zero_memory.scopes.model import Membership
from zero_memory.scopes.paths import looks_like_path, own_slug, paths_for, slug_of_path

PATHS = 24
"""The most paths that a project is known by, for one person; the oldest are forgotten first."""

UNRESOLVABLE = "project_hint_unresolvable:"


class _Reached(Struct, frozen=True):
    """What a hint reaches: one project, or several by their name. `hint` is None for a path."""

    hint: Hint | None
    projects: tuple[Membership, ...]

    @property
    def project(self) -> Membership | None:
        return self.projects[0] if len(self.projects) == 1 else None


def find_project(access: Access, text: str, machine: str) -> Membership | None:
    """The project that a hint reaches; None when it reaches none, or several by their name."""
    return _reach(access, text, machine).project


def open_project(table: Table, clock: Clock, access: Access, text: str, machine: str) -> Membership:
    """The project that a hint reaches, made when there is none, and known by the hint from now on.

    Raises validation_failed (`project_hint_unresolvable:`) for a hint that names nothing, and for
    one that reaches several projects by their name.
    """
    taken: set[str] = set()
    while True:
        reached = _reach(access, text, machine)
        hint, project = reached.hint, reached.project
        if project is not None and (hint is None or _knows(project, hint)):
            return project
        if hint is None:
            raise validation_failed(
                f"{UNRESOLVABLE} this hint names no project of yours. Send the git remote, the "
                "repository's root path or the project's name, or pass a scope instead."
            )
        if project is None and reached.projects:
            paths = sorted(each.path for each in reached.projects)
            raise validation_failed(
                f"{UNRESOLVABLE} several projects have this name. Send the git remote or the "
                "repository's root path, or instead of a hint pass one of these as scope: "
                f"{', '.join(paths)}.",
                {"candidates": paths},
            )
        opened = (
            _make(table, clock, access, hint, taken)
            if project is None
            else _link(table, project, hint)
        )
        if opened is not None:
            return opened
        access = access_of(table, access.person)


def open_own_path(table: Table, clock: Clock, access: Access, path: str) -> Membership | None:
    """The project of a path under the caller's own id, made when there is none.

    None when the path has another shape, or leads to a project that the caller is no longer in.
    """
    slug = own_slug(path, access.person)
    if slug is None:
        return None
    made = found(table, clock, access, path, "project", name=slug, title=slug)
    return made or access_of(table, access.person).by_path.get(path)


def _knows(project: Membership, hint: Hint) -> bool:
    return not hint.identity or hint.identity in project.known_by


def _reach(access: Access, text: str, machine: str) -> _Reached:
    if looks_like_path(text.strip()):
        project = access.by_path.get(text.strip())
        return _Reached(None, (project,) if project and project.kind == "project" else ())
    hint = read_hint(text, machine)
    if hint is None:
        return _Reached(None, ())
    known = access.by_identity.get(hint.identity)
    if known is not None:
        return _Reached(hint, (known,))
    slug = hint.slug
    named = [
        each
        for each in access.memberships
        if each.kind == "project" and slug in {each.name, slug_of_path(each.path)}
    ]
    own = tuple(each for each in named if each.owner == access.person)
    if not hint.identity:
        return _Reached(hint, own or tuple(named))
    vacant = (
        each for each in own if not any(known.startswith(hint.sort) for known in each.known_by)
    )
    return _Reached(hint, tuple(vacant))


def _make(
    table: Table, clock: Clock, access: Access, hint: Hint, taken: set[str]
) -> Membership | None:
    """A new project at the first free path of the hint's name; None when another was faster."""
    path = next(
        path
        for path in paths_for("proj", access.person, hint.slug)
        if path not in access.by_path and path not in taken
    )
    made = found(
        table,
        clock,
        access,
        path,
        "project",
        name=hint.slug,
        title=hint.name,
        known_by=(hint.identity,) if hint.identity else (),
    )
    if made is None:
        taken.add(path)
    return made


def _link(table: Table, project: Membership, hint: Hint) -> Membership | None:
    """The project, known by the hint too; None when it changed meanwhile."""
    known_by = (*project.known_by, hint.identity)
    paths = [known for known in known_by if known.startswith("path:")]
    forgotten = paths[:-PATHS]
    kept = tuple(known for known in known_by if known not in forgotten)
    linked = replace(project, known_by=kept, revision=project.revision + 1)
    try:
        table.transact([Put(linked, RevisionIs(project.revision))])
    except ConditionFailed:
        return None
    return linked
