"""Where imported memories go: portable names to the importer's own scopes."""

from typing import Literal

from msgspec import Struct, field

from zero_memory.contracts.errors import forbidden, not_found
from zero_memory.memory.rights import Rights, rights_of
from zero_memory.portability.names import ME, scope_path
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import Table
from zero_memory.scopes.access import NO_SUCH_SCOPE, Access, access_of
from zero_memory.scopes.founding import found
from zero_memory.scopes.model import Membership
from zero_memory.scopes.paths import Root, own_slug

_MADE: tuple[tuple[Root, Literal["project", "team"]], ...] = (("proj", "project"), ("team", "team"))


class Destinations(Struct):
    """The scopes of one importing call. Own projects and teams that are not there are made.

    `instead` takes what any record names as its own scope.
    """

    table: Table
    clock: Clock
    access: Access
    instead: Membership | None = None
    _known: dict[str, Membership | None] = field(default_factory=dict[str, "Membership | None"])

    @property
    def person(self) -> str:
        """Who imports."""
        return self.access.person

    def admit(self, made: Membership) -> None:
        """Take note of a scope that this call made."""
        if made.scope not in self.access.by_id:
            self.access = Access(self.access.person, (*self.access.memberships, made))

    def rights(self) -> Rights:
        """Everything that the importer may see and change, what this call made among it."""
        return rights_of(self.access.memberships)

    def home(self, name: str) -> Membership:
        """The scope that a record of this portable name goes to.

        Raises Refusal: `not_found`, or `forbidden` for anybody but an admin of it, since what is
        restored comes with a past that nobody else can vouch for.
        """
        membership = self.instead or self.find(name)
        if membership is None:
            raise not_found(NO_SUCH_SCOPE)
        if membership.role != "admin":
            raise forbidden(
                "Only an admin of a scope restores memories with their past into it. Ask one, "
                "import into another scope, or import the text without frontmatter."
            )
        return membership

    def find(self, name: str) -> Membership | None:
        """The scope of a portable name, made when it is the importer's own; None when unknown."""
        if name not in self._known:
            self._known[name] = self._found(name)
        return self._known[name]

    def principal(self, name: str) -> str:
        """The principal of a portable name."""
        person, dot, client = name.partition(".")
        return self.person + dot + client if person == ME else name

    def _found(self, name: str) -> Membership | None:
        path = scope_path(name, self.person)
        membership = self.access.named(path)
        if membership is not None:
            return membership
        for root, kind in _MADE:
            slug = own_slug(path, self.person, root)
            if slug is not None:
                made = found(self.table, self.clock, self.access, path, kind, name=slug, title=slug)
                self.access = access_of(self.table, self.person)
                return made or self.access.named(path)
        return None
