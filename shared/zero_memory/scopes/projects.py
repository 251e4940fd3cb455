"""From a project hint to a project: finding it, knowing it again, and making it at first use.

What a person's project is known by stands in their membership, so that a hint is resolved from
the access that each request has read anyway. Remotes are told apart exactly. A folder keeps its
project when it gets its first remote, or another one of the same name.

What is new is taken for the person's own project of the same name only while that project has none
of its sort: the checkout of a project first met by its remote, the remote of one first met by its
path. A checkout says that it has no remote, or which, and where it lies; so it is not taken for a
project that has what it lacks, or that lies elsewhere on the same machine. Nothing is guessed into
a project that somebody else owns, where others would read it.
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from zero_memory.contracts.errors import validation_failed
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import ConditionFailed, Put, RevisionIs, Table
from zero_memory.scopes.access import Access, access_of
from zero_memory.scopes.founding import found
from zero_memory.scopes.hints import REMOTE, Hint, Mark, read_hint
from zero_memory.scopes.model import Membership
from zero_memory.scopes.paths import looks_like_path, own_slug, paths_for, slug_of_path

PATHS = 24
"""The most paths that a project is known by, for one person; the oldest are forgotten first."""

UNRESOLVABLE = "project_hint_unresolvable:"


Astray = Literal["unknown", "several", "nothing"]
"""Why a hint reaches no project: none is known by it, several are called so, or it names none."""

Newly = Literal["made", "taken"]
"""How a hint comes to a project that was not known by it: it is made, or it is called the same."""


class Reached(Struct, frozen=True):
    """What a hint reaches: one project, or several by their name. `hint` is None for a path.

    `taken`: for what it is called alone, though the hint says more.
    """

    hint: Hint | None
    projects: tuple[Membership, ...]
    taken: bool = False

    @property
    def project(self) -> Membership | None:
        """The project, None when the hint reaches none, or several."""
        return self.projects[0] if len(self.projects) == 1 else None

    @property
    def astray(self) -> Astray | None:
        """Why this is no project, None when it is one."""
        if self.project is not None:
            return None
        if self.hint is None:
            return "nothing"
        return "several" if self.projects else "unknown"

    @property
    def newly(self) -> Newly | None:
        """How a write comes to the project, None when it is known by the hint."""
        if self.project is None:
            return "made"
        return "taken" if self.taken else None


def open_project(table: Table, clock: Clock, access: Access, text: str, machine: str) -> Membership:
    """The project that a hint reaches, made when there is none, and known by the hint from now on.

    Raises validation_failed (`project_hint_unresolvable:`) for a hint that names nothing, and for
    one that reaches several projects by their name.
    """
    taken: set[str] = set()
    while True:
        reached = reach(access, text, machine)
        hint, project = reached.hint, reached.project
        new = () if hint is None else _unknown(access, hint)
        if project is not None and not new:
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
            else _link(table, project, new)
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


def reach(access: Access, text: str, machine: str) -> Reached:
    """What a hint reaches among the projects that a person is in; nothing is made or linked."""
    if looks_like_path(text.strip()):
        project = access.by_path.get(text.strip())
        return Reached(None, (project,) if project and project.kind == "project" else ())
    hint = read_hint(text, machine)
    if hint is None:
        return Reached(None, ())
    known = _known(access, hint)
    if known is not None:
        return Reached(hint, (known,))
    named = [each for each in access.memberships if _is_called(each, hint.slug)]
    own = tuple(each for each in named if each.owner == access.person)
    if not hint.marks:
        return Reached(hint, own or tuple(named))
    vacant = tuple(each for each in own if not _has_another(each, hint))
    if len(vacant) > 1 and (hint.checkout or _is_remote(hint.marks[0])):
        return Reached(hint, ())  # it can't be told better: it gets a project of its own
    return Reached(hint, vacant, taken=True)


def _known(access: Access, hint: Hint) -> Membership | None:
    """The project that a mark of the hint is known of, the strongest that has one.

    A folder that has another remote than its project is that project's still while its name is.
    """
    for mark in hint.marks:
        project = access.by_identity.get(mark.identity)
        if project is None:
            continue
        others = (known for known in project.known_by if known != mark.identity)
        has_another = any(known.startswith(hint.marks[0].sort) for known in others)
        if mark == hint.marks[0] or _is_called(project, hint.slug) or not has_another:
            return project
    return None


def _has_another(project: Membership, hint: Hint) -> bool:
    """Whether a project is known by something that stands in the place of a mark of the hint."""
    sorts = [mark.sort for mark in hint.marks]
    if hint.checkout:
        sorts.append(REMOTE)  # it has another one, or none
    return any(known.startswith(sort) for known in project.known_by for sort in sorts)


def _is_called(project: Membership, slug: str) -> bool:
    return project.kind == "project" and slug in {project.name, slug_of_path(project.path)}


def _is_remote(mark: Mark) -> bool:
    return mark.sort == REMOTE


def _unknown(access: Access, hint: Hint) -> tuple[str, ...]:
    """What the hint says that no project of the person's is known by."""
    said = (mark.identity for mark in hint.marks)
    return tuple(identity for identity in said if identity not in access.by_identity)


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
        known_by=_unknown(access, hint),
    )
    if made is None:
        taken.add(path)
    return made


def _link(table: Table, project: Membership, marks: tuple[str, ...]) -> Membership | None:
    """The project, known by these too; None when it changed meanwhile."""
    known_by = (*project.known_by, *marks)
    paths = [known for known in known_by if known.startswith("path:")]
    forgotten = paths[:-PATHS]
    kept = tuple(known for known in known_by if known not in forgotten)
    linked = replace(project, known_by=kept, revision=project.revision + 1)
    try:
        table.transact([Put(linked, RevisionIs(project.revision))])
    except ConditionFailed:
        return None
    return linked
