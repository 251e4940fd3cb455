"""Threads: what a client echoes so that stateless calls belong to one conversation.

A thread selects state and proves nothing: rows are kept under the principal, so that another
account's thread leads nowhere. Minting one writes nothing. That of a conversation is a hash of
principal and conversation, the same for good. That of a call without a conversation is fresh, and
carries the project that the call attached, so that a read with a hint needs no write either; a row
takes over when it is renewed. It is masked by the principal, and so leads nobody else anywhere.
"""

import re
from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct
from ulid import ULID

from zero_memory.ports.table import Absent, AttributeIs, ConditionFailed, Put, Table, ref
from zero_memory.scopes.access import Access
from zero_memory.scopes.caller import Caller
from zero_memory.scopes.model import Attachment, Membership

LASTING_MS = 24 * 3_600_000
RENEWED_AFTER_MS = 3_600_000

_ULID = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
_THREAD = re.compile(rf"thr_(?P<birth>{_ULID})(?P<project>{_ULID})?")


def thread_of(principal: str, sort: str, conversation: str) -> str:
    """The thread of a principal's conversation, of this sort of conversation ids."""
    digest = sha256(f"{principal}\0{sort}\0{conversation}".encode()).digest()
    return f"thr_{ULID.from_bytes(digest[:16])}"


def fresh_thread(principal: str, now: int, project: Membership | None) -> str:
    """A thread that no conversation had, attached to a project or to none."""
    carried = "" if project is None else _masked(principal, project.scope.removeprefix("scp_"))
    return f"thr_{ULID.from_timestamp(now)}{carried}"


def _masked(principal: str, carried: str) -> str:
    """A scope's ULID as a principal's threads carry it, and back."""
    mask = sha256(f"{principal}\0carried".encode()).digest()
    masked = (one ^ other for one, other in zip(ULID.from_str(carried).bytes, mask, strict=False))
    return str(ULID.from_bytes(bytes(masked)))


def is_thread(text: str) -> bool:
    """Whether this could be a thread of ours."""
    return _THREAD.fullmatch(text) is not None


class _Place(Struct, frozen=True):
    """What one thread is attached to.

    `row` is the stored row, lapsed or not; `scope` is the project's id until `until`
    (milliseconds).
    """

    key: str
    row: Attachment | None
    scope: str = ""
    until: int = 0


def attach(
    table: Table,
    caller: Caller,
    access: Access,
    threads: Sequence[str],
    *,
    hinted: Membership | None,
    now: int,
) -> Membership | None:
    """The project that the first attached of these threads is attached to.

    Those that are attached to nothing that the caller may still read are attached to `hinted`;
    those last renewed more than an hour ago are renewed.
    """
    keys = {f"{caller.principal}#{thread}": thread for thread in threads}
    while True:
        rows = table.get_many([ref(Attachment, key) for key in keys])
        places = [
            _place(caller.principal, key, keys[key], row)
            for key, row in zip(keys, rows, strict=True)
        ]
        attached: list[Membership] = []
        writes: list[Put] = []
        for place in places:
            project = _project(access, place, now)
            if project is not None:
                attached.append(project)
            if project is None:
                project = hinted
            elif place.until - now >= LASTING_MS - RENEWED_AFTER_MS:
                continue
            if project is not None:
                writes.append(_write(place, caller, project, now))
        try:
            if writes:
                table.transact(writes)
        except ConditionFailed:
            continue
        return attached[0] if attached else hinted


def _place(principal: str, key: str, thread: str, row: Attachment | None) -> _Place:
    if row is not None:
        return _Place(key, row, row.scope, row.expires_at * 1_000)
    shape = _THREAD.fullmatch(thread)
    if shape is None or shape["project"] is None:
        return _Place(key, None)
    birth = ULID.from_str(shape["birth"]).milliseconds
    project = _masked(principal, shape["project"])
    return _Place(key, None, f"scp_{project}", birth + LASTING_MS)


def _project(access: Access, place: _Place, now: int) -> Membership | None:
    project = access.by_id.get(place.scope)
    lapsed = not now < place.until <= now + LASTING_MS
    return None if project is None or project.kind != "project" or lapsed else project


def _write(place: _Place, caller: Caller, project: Membership, now: int) -> Put:
    return Put(
        Attachment(place.key, caller.person, project.scope, (now + LASTING_MS) // 1_000),
        Absent() if place.row is None else AttributeIs("expires_at", place.row.expires_at),
    )
