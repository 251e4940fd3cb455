"""The port to the programs that people sign in with."""

from collections.abc import Sequence
from typing import Protocol


class OAuthClients(Protocol):
    """Public clients: without a secret, proven by PKCE and by where the answer is sent."""

    def register(
        self, name: str, redirect_uris: Sequence[str], scopes: Sequence[str]
    ) -> str | None:
        """A client's id; the same for the same name and URIs. None when there is no room.

        Raises ClientsUnavailable.
        """
        ...


class ClientsUnavailable(Exception):
    """The registry did not answer within its time and retries."""
