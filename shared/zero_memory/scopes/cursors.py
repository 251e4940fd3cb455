"""Cursors that only their receiver can use, for the query that they came from."""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping

from zero_memory.contracts.errors import unauthorized, validation_failed
from zero_memory.ports.table import Table
from zero_memory.scopes.access import ACCOUNT_GONE
from zero_memory.scopes.model import Person

_SEAL_BYTES = 16


def seal(position: str, *, key: bytes, query: Mapping[str, object]) -> str:
    """A cursor for a position of a query, sealed with the person's key."""
    raw = position.encode()
    return base64.urlsafe_b64encode(_mac(raw, key, query) + raw).decode().rstrip("=")


def unseal(cursor: str, *, key: bytes, query: Mapping[str, object]) -> str:
    """The position that a cursor holds.

    Raises Refusal `validation_failed` for one that was made for somebody else, for another query,
    or by hand.
    """
    try:
        sealed = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        raw = sealed[_SEAL_BYTES:]
        if hmac.compare_digest(sealed[:_SEAL_BYTES], _mac(raw, key, query)):
            return raw.decode()
    except ValueError:
        pass
    raise validation_failed(
        "This cursor belongs to another query; pass the one that this query's last page gave, "
        "with the same arguments, or leave it out to begin anew."
    )


def _mac(raw: bytes, key: bytes, query: Mapping[str, object]) -> bytes:
    bound = json.dumps(query, sort_keys=True).encode() + b"\n" + raw
    return hmac.new(key, bound, hashlib.sha256).digest()[:_SEAL_BYTES]


def seal_key_of(table: Table, person: str) -> bytes:
    """The key that this person's cursors are sealed with. Raises `unauthorized` when gone."""
    found = table.get(Person, person)
    if found is None:
        raise unauthorized(ACCOUNT_GONE)
    return found.seal_key
