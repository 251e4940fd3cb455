"""The port to an OAuth issuer: what one of its access tokens says."""

from typing import Protocol

from msgspec import Struct


class Claims(Struct, frozen=True):
    """What an access token says, as its issuer signed it.

    `subject` is who signed in, unique with `issuer` alone. `scopes` are as the issuer names them.
    `audiences` are the resources that the token was asked for; empty when it names none.
    `expires_at` is in milliseconds.
    """

    issuer: str
    subject: str
    scopes: tuple[str, ...]
    audiences: tuple[str, ...]
    expires_at: int


class IssuerUnavailable(Exception):
    """The issuer's keys could not be had within their time, and none are at hand."""


class AccessTokens(Protocol):
    """Access tokens of one issuer. Safe in threads."""

    def read(self, token: str) -> Claims | None:
        """What a token of this issuer says, expired or not; None for anything else.

        Raises IssuerUnavailable.
        """
        ...
