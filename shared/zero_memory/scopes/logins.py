"""Signing in: which person an OAuth issuer's subject is, and what their token lets them do."""

import re

from zero_memory.contracts.errors import (
    Refusal,
    conflict,
    forbidden,
    not_found,
    unauthorized,
    validation_failed,
)
from zero_memory.ports.access_tokens import Claims
from zero_memory.ports.clock import Clock
from zero_memory.ports.table import (
    Absent,
    Check,
    ConditionFailed,
    Delete,
    Present,
    Put,
    Table,
    ref,
)
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.identity import new_person
from zero_memory.scopes.model import GRANTS, Grant, Login, Person, PersonLogin

RESOURCE_SERVER = "zero-memory"
"""What an issuer calls this service; its scopes are `zero-memory/<grant>`."""

OFFERED: tuple[Grant, ...] = ("memory:read", "memory:write")
"""What clients that register themselves may ask for. Nobody is asked for consent, so that the rest
is for personal access tokens."""

ISSUER_LENGTH = 2_000
SUBJECT_LENGTH = 255
"""Of OpenID Connect Core, section 2."""

_ISSUER = re.compile(
    r"(?:https://[a-z0-9.-]+|http://(?:127\.0\.0\.1|localhost))"  # on this machine without TLS
    r"(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~%!$&'()*+,;=:@-]+)*"
)


def scope_of(grant: Grant) -> str:
    """What an issuer calls a grant."""
    return f"{RESOURCE_SERVER}/{grant}"


def sign_in(
    table: Table, clock: Clock, claims: Claims | None, *, resource: str, sign_up: bool
) -> Caller:
    """Who calls with an access token that says this (None: it is none of the issuer's).

    A token that names audiences must name `resource`; each must hold one of our scopes, which no
    other service has. With `sign_up`, a subject that nobody was linked to becomes a new person.
    Raises unauthorized for a token that does not do, forbidden for a subject without a person, and
    for a disabled one.
    """
    if claims is None or claims.expires_at <= clock.now():
        raise _refused()
    if claims.audiences and resource not in claims.audiences:
        raise _refused()
    grants: frozenset[Grant] = frozenset(
        grant for grant in GRANTS if scope_of(grant) in claims.scopes
    )
    if not grants:
        raise _refused()
    person = _person(table, claims.issuer, claims.subject)
    if person is None and sign_up and _login(table, claims.issuer, claims.subject) is None:
        _make(table, clock, claims)
        person = _person(table, claims.issuer, claims.subject)
    if person is None or person.disabled:
        raise forbidden(
            "You signed in, but not as anybody who may use this service. Ask whoever runs it to "
            "let you in."
        )
    return Caller(person.person, person.person, grants, calls_a_minute=person.calls_a_minute)


def link_login(table: Table, person: str, issuer: str, subject: str) -> None:
    """Have an issuer's subject sign in as this person.

    Linking again changes nothing. Raises validation_failed for what no issuer says, not_found, and
    conflict for somebody else's.
    """
    if not _is_issuer(issuer):
        raise validation_failed(
            "An issuer is an https URL as its tokens name it: without user, query, fragment or a "
            "slash at its end. For a user pool it is the stack's output Issuer."
        )
    if not _is_subject(subject):
        raise validation_failed(
            f"Pass the issuer's own id of who signs in (`sub`) as subject: 1 to {SUBJECT_LENGTH} "
            "printable ASCII characters."
        )
    try:
        table.transact([Check(ref(Person, person), Present()), *_linked(person, issuer, subject)])
    except ConditionFailed as failed:
        known = _login(table, issuer, subject)
        if known is None:
            raise not_found("There is no such person; zm admin people lists them.") from failed
        if known.person != person:
            raise conflict(
                "This subject signs in as another person; unlink it from them first."
            ) from failed


def unlink_login(table: Table, person: str, issuer: str, subject: str) -> None:
    """End that a subject signs in as this person; the next request fails. Raises not_found."""
    known = _login(table, issuer, subject)
    if known is None or known.person != person:
        raise not_found("This person has no such sign-in; check issuer and subject.")
    table.transact(
        [Delete(ref(Login, issuer, subject)), Delete(ref(PersonLogin, person, issuer, subject))]
    )


def find_login(table: Table, issuer: str, subject: str) -> Person:
    """Whom an issuer's subject signs in as. Raises not_found."""
    person = _person(table, issuer, subject)
    if person is None:
        raise not_found("Nobody signs in so: check issuer and subject, or link them to a person.")
    return person


def _is_issuer(text: str) -> bool:
    """Whether tokens may name their issuer so, by RFC 8414; what signs in here adds to its path."""
    return len(text) <= ISSUER_LENGTH and _ISSUER.fullmatch(text) is not None


def _is_subject(text: str) -> bool:
    return 0 < len(text) <= SUBJECT_LENGTH and text.isascii() and text.isprintable()


def _refused() -> Refusal:
    return unauthorized(
        "This needs a valid access token for this service: it is unknown, expired or for another "
        "one. Sign in again."
    )


def _person(table: Table, issuer: str, subject: str) -> Person | None:
    login = _login(table, issuer, subject)
    return login and table.get(Person, login.person)


def _login(table: Table, issuer: str, subject: str) -> Login | None:
    """How an issuer's subject signs in; None, too, for words that can be neither's."""
    if not issuer or not subject or not f"{issuer}{subject}".isprintable():
        return None
    return table.get(Login, issuer, subject)


def _make(table: Table, clock: Clock, claims: Claims) -> None:
    """A new person who signs in so, unless another request was faster."""
    person, founding = new_person(clock.now())
    try:
        table.transact([*founding, *_linked(person.person, claims.issuer, claims.subject)])
    except ConditionFailed:
        return


def _linked(person: str, issuer: str, subject: str) -> list[Put]:
    return [
        Put(Login(issuer, subject, person), Absent()),
        Put(PersonLogin(person, issuer, subject)),
    ]
