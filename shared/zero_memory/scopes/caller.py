"""Who calls. Decided once, at the entry point; a parameter everywhere below."""

from msgspec import Struct

from zero_memory.scopes.model import Grant


class Caller(Struct, frozen=True):
    """An authenticated principal, acting for a person.

    `transport_session` is the `Mcp-Session-Id` of the 2025 revisions, when there is one; it
    selects state and grants nothing. `client` is what the client calls itself; `machine` is what it
    calls the machine that it runs on, under which paths are remembered. `calls_a_minute` is the
    person's own quota, when they have one.
    """

    person: str
    principal: str
    grants: frozenset[Grant]
    client: str | None = None
    machine: str = ""
    transport_session: str | None = None
    calls_a_minute: int | None = None
