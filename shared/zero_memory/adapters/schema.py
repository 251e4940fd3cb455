"""The keys of the table: where every record type is, and every view.

A key template is literal text and fields in braces. A field stands as it is (`{scope}`; `#` and
`%` are escaped, so that no value reaches a key of another shape), as its SHA-256 where it is free
text (`{folded:digest}`), or as one of a few numbers that spread a directory (`{scope:shard}`).
Fields that stand as they are live in the key alone; all others are attributes of the item.
A record's key parts, as the port's calls take them, are its fields in the order of the templates.
"""

import hashlib
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from string import Formatter
from typing import Any, Literal, cast
from urllib.parse import unquote

from msgspec import Struct

from zero_memory.memory.ledger import ImportEntry
from zero_memory.memory.model import (
    AnswerPointer,
    AuditRecord,
    ConversationEntry,
    Dispute,
    DuplicateClaim,
    EntityName,
    IdempotentAnswer,
    IndexSweep,
    LinkIn,
    LinkOut,
    Mention,
    Meta,
    PendingMarker,
    SearchRecord,
    SharedMemory,
    StoredBody,
    TimelineEntry,
    Wording,
)
from zero_memory.ports.table import MAX_PAGE, LimitExceeded
from zero_memory.scopes.model import (
    Attachment,
    Invitation,
    LeasedCalls,
    Login,
    Member,
    Membership,
    Person,
    PersonEntry,
    PersonLogin,
    PersonToken,
    Scope,
    ScopePath,
    Token,
)

EXPIRY = "expires_at"
"""The attribute by which the table removes an item: seconds since the epoch."""

SHARDS = 8
PK_BYTES = 2_048
SK_BYTES = 1_024
_LAST = "\U0010ffff"  # sorts behind every other character

_Form = Literal["plain", "digest", "shard"]


class Address(Struct, frozen=True):
    """Where an item is, in the table or in an index."""

    pk: str
    sk: str


class _Piece(Struct, frozen=True):
    """Literal text, and the field behind it ("": none)."""

    literal: str
    field: str
    form: _Form

    def shaped(self, value: str) -> str:
        """The value as it stands in a key."""
        if not value:
            raise ValueError(f"the key part {self.field} is empty")
        if self.form == "plain":
            return _escaped(value)
        if self.form == "digest":
            return hashlib.sha256(value.encode()).hexdigest()
        return str(zlib.crc32(value.encode()) % SHARDS)


def _escaped(value: str) -> str:
    if "%" in value or "#" in value:
        return value.replace("%", "%25").replace("#", "%23")
    return value


class Template:
    """A key template, parsed."""

    def __init__(self, text: str) -> None:
        self._pieces = tuple(
            _Piece(literal, name or "", cast("_Form", form or "plain"))
            for literal, name, form, _ in Formatter().parse(text)
        )
        named = [piece for piece in self._pieces if piece.field]
        self.fields = tuple(piece.field for piece in named)
        self.plain = frozenset(piece.field for piece in named if piece.form == "plain")
        self.sharded = any(piece.form == "shard" for piece in named)
        self._shape = re.compile(
            "".join(
                re.escape(piece.literal)
                + (f"(?P<{piece.field}>[^#]+)" if piece.field in self.plain else "[^#]*")
                for piece in self._pieces
            )
        )

    def key(self, values: Mapping[str, str]) -> str:
        """The key of these values."""
        key = ""
        for piece in self._pieces:
            key += piece.literal
            if piece.field:
                key += piece.shaped(values[piece.field])
        return key

    def shard(self, number: int) -> str:
        """The key of one shard of a sharded template. Raises ValueError for none of them."""
        if number not in range(SHARDS):
            raise ValueError(f"there are {SHARDS} shards, from 0 on")
        return f"{self._pieces[0].literal}{number}"

    def values(self, key: str) -> dict[str, str]:
        """The fields that stand in a key as they are."""
        found = self._shape.fullmatch(key)
        if found is None:
            raise ValueError("the key has another shape than its template")
        values = (unquote(value) if "%" in value else value for value in found.groups())
        return dict(zip(self._shape.groupindex, values, strict=True))

    def between(
        self, parts: Sequence[str], since: str | None, until: str | None
    ) -> tuple[str, str]:
        """The first and last key, both inclusive, of those that begin with these parts."""
        text, left = "", list(parts)
        for piece in self._pieces:
            text += piece.literal
            if piece.field and left:
                text += piece.shaped(left.pop(0))
            elif piece.field:
                if piece.form != "plain" and (since is not None or until is not None):
                    raise ValueError(f"the key part {piece.field} is not ordered")
                behind = "" if piece is self._pieces[-1] else f"#{_LAST}"
                lower = text if since is None else text + _escaped(since)
                upper = text + _LAST if until is None else text + _escaped(until) + behind
                return lower, upper
        if left or since is not None or until is not None:
            raise ValueError("there are more key parts than the key has")
        return text, text


class Pattern(Struct, frozen=True, dict=True):
    """How records of one type are kept, and so which questions the table answers.

    `packed` names fields that the table never looks into: each is one binary attribute, which
    costs a fraction of the bytes and time of a map. Records that `expires` have the field `EXPIRY`,
    and are removed some time after it. A view has `of`, the record type whose items
    the secondary index `index` shows while every field of the view's key is set.
    """

    record: type[Any]
    pk: str
    sk: str
    packed: tuple[str, ...] = ()
    expires: bool = False
    of: type[Any] | None = None
    index: Literal["", "gsi1", "gsi2"] = ""

    @cached_property
    def partition(self) -> Template:
        """The partition key's template."""
        return Template(self.pk)

    @cached_property
    def sort(self) -> Template:
        """The sort key's template."""
        return Template(self.sk)

    @cached_property
    def views(self) -> tuple["Pattern", ...]:
        """The views in which this type's records stand."""
        return tuple(view for view in PATTERNS if view.of is self.record)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The fields that make the key, in the order in which the port's calls take them."""
        return tuple(dict.fromkeys(self.partition.fields + self.sort.fields))

    @cached_property
    def attributes(self) -> frozenset[str]:
        """The fields that are attributes of the item, since the key does not hold them as is."""
        return frozenset(self.record.__struct_fields__) - self.in_key

    @cached_property
    def in_key(self) -> frozenset[str]:
        """The fields that the key holds as they are."""
        return self.partition.plain | self.sort.plain

    @cached_property
    def key_names(self) -> tuple[str, str]:
        """The attributes that hold the keys in the table: `pk`, `sk`, or an index's own."""
        prefix = f"g{self.index[-1]}" if self.index else ""
        return f"{prefix}pk", f"{prefix}sk"

    def address(self, values: Mapping[str, str]) -> Address:
        """The address of these values. Raises LimitExceeded for keys past the table's limits."""
        pk, sk = self.partition.key(values), self.sort.key(values)
        if _is_longer(pk, PK_BYTES) or _is_longer(sk, SK_BYTES):
            raise LimitExceeded(f"a key is longer than {PK_BYTES:,} or {SK_BYTES:,} bytes")
        return Address(pk, sk)


def _is_longer(key: str, size: int) -> bool:
    """Whether a key has more bytes than that; no character has more than four."""
    return 4 * len(key) > size and len(key.encode()) > size


class Span(Struct, frozen=True):
    """One partition's stretch of sort keys, both ends inclusive; `after` continues a page.

    `known` are the fields that the query itself names.
    """

    pattern: Pattern
    known: Mapping[str, str]
    pk: str
    lower: str
    upper: str
    after: str | None = None
    shard: int | None = None

    def fields(self, sk: str) -> dict[str, str]:
        """The fields that a record of this span has from its keys."""
        return {**self.known, **self.pattern.sort.values(sk)}

    def last_part(self, sk: str) -> str:
        """The last key part of the record behind a sort key, which must hold it as it is."""
        return self.pattern.sort.values(sk)[self.pattern.parts[-1]]

    def next(self, last: str | None) -> str | None:
        """What continues behind the sort key `last`; None there: this partition is read."""
        if self.shard is None:
            return last
        if last is not None:
            return f"{self.shard}:{last}"
        return f"{self.shard + 1}:" if self.shard + 1 < SHARDS else None


PATTERNS = (
    # A memory
    Pattern(Meta, "M#{memory_id}", "META"),
    Pattern(StoredBody, "M#{memory_id}", "BODY"),
    Pattern(AuditRecord, "M#{memory_id}", "A#{audit_id}"),
    Pattern(LinkOut, "M#{source}", "L>{link}#{target}"),
    Pattern(LinkIn, "M#{target}", "L<{link}#{source}"),
    Pattern(Dispute, "M#{memory_id}", "X#{dispute_id}"),
    Pattern(AnswerPointer, "M#{memory_id}", "I#{principal}#{tool}#{key:digest}", expires=True),
    # What a scope holds
    Pattern(SearchRecord, "S#{scope}", "R#{memory_id}", packed=("passage",)),
    Pattern(SharedMemory, "S#{scope}", "SH#{memory_id}"),
    Pattern(PendingMarker, "S#{scope}", "P#{memory_id}"),
    Pattern(Member, "S#{scope}", "MB#{person}"),
    Pattern(EntityName, "S#{scope}", "EN#{folded:digest}"),
    Pattern(Mention, "E#{scope}#{folded:digest}", "M#{memory_id}"),
    # How far a schedule has come
    Pattern(IndexSweep, "SWEEP#{index}", "SWEEP", expires=True),
    # Who says this already
    Pattern(DuplicateClaim, "D#{scope}#{digest}", "CLAIM"),
    Pattern(Wording, "W#{owner}#{folded}", "M#{memory_id}"),
    Pattern(IdempotentAnswer, "I#{principal}#{tool}#{key:digest}", "ANSWER", expires=True),
    # People and scopes; the directory is spread, and asked for without parts
    Pattern(Scope, "SCOPES#{scope:shard}", "S#{scope}"),
    Pattern(ScopePath, "PATH#{path}", "PATH"),
    Pattern(Person, "U#{person}", "PERSON"),
    Pattern(PersonEntry, "PEOPLE#{person:shard}", "P#{person}"),
    Pattern(Membership, "U#{person}", "MS#{scope}"),
    Pattern(PersonToken, "U#{person}", "T#{public_id}"),
    Pattern(ImportEntry, "U#{person}", "IM#{scope}#{path:digest}"),
    Pattern(Token, "T#{public_id}", "TOKEN"),
    Pattern(Login, "L#{issuer:digest}#{subject:digest}", "LOGIN"),
    Pattern(PersonLogin, "U#{person}", "L#{issuer:digest}#{subject:digest}"),
    Pattern(Invitation, "V#{public_id}", "INVITATION", expires=True),
    Pattern(Attachment, "TH#{key:digest}", "ATTACHMENT", expires=True),
    Pattern(LeasedCalls, "Q#{principal}", "W#{window}", expires=True),
    # Views
    Pattern(TimelineEntry, "S#{scope}#{timeline}", "M#{memory_id}", of=Meta, index="gsi1"),
    Pattern(ConversationEntry, "C#{conversation:digest}", "M#{memory_id}", of=Meta, index="gsi2"),
)

_BY_RECORD: Mapping[type[Any], Pattern] = {pattern.record: pattern for pattern in PATTERNS}
_MEMORY = _BY_RECORD[Meta].partition


def pattern_of(record: type[Any]) -> Pattern:
    """The pattern of a record type. Raises KeyError for a type that the table does not keep."""
    return _BY_RECORD[record]


def fields_of(record: type[Any], parts: Sequence[str]) -> dict[str, str]:
    """The fields that the key parts of one record are."""
    pattern = pattern_of(record)
    if pattern.of is not None or len(parts) != len(pattern.parts):
        raise ValueError(f"{record.__name__} is read by its key parts {pattern.parts}")
    return dict(zip(pattern.parts, parts, strict=True))


def address_of(record: type[Any], parts: Sequence[str]) -> Address:
    """The address of one record. Raises LimitExceeded for keys past the table's limits."""
    address, _ = located(record, parts)
    return address


def located(record: type[Any], parts: Sequence[str]) -> tuple[Address, Mapping[str, str]]:
    """The address of one record, and the fields that its key parts are.

    Raises LimitExceeded for keys past the table's limits.
    """
    known = fields_of(record, parts)
    return pattern_of(record).address(known), known


def span_of(
    record: type[Any],
    parts: Sequence[str],
    *,
    after: str | None,
    since: str | None,
    until: str | None,
    limit: int,
) -> Span:
    """The stretch of keys that a query reads, from the port's own parameters.

    Raises ValueError for what they can't be, as for an `after` that no page of the query gave.
    """
    if not 1 <= limit <= MAX_PAGE:
        raise ValueError(f"a page has 1 to {MAX_PAGE:,} records, not {limit}")
    pattern = pattern_of(record)
    if pattern.partition.sharded:
        shard, _, sk = (after or "0:").partition(":")
        lower, upper = pattern.sort.between(parts, since, until)
        pk = pattern.partition.shard(int(shard))
        return _begun(Span(pattern, {}, pk, lower, upper, sk or None, int(shard)))
    leading = len(pattern.partition.fields)
    if len(parts) < leading:
        raise ValueError(f"{record.__name__} is queried by {pattern.partition.fields} at least")
    known = dict(zip(pattern.partition.fields, parts, strict=False))
    lower, upper = pattern.sort.between(parts[leading:], since, until)
    return _begun(Span(pattern, known, pattern.partition.key(known), lower, upper, after))


def _begun(span: Span) -> Span:
    """The same, when a record of it could be where it goes on."""
    if span.after is None:
        return span
    span.fields(span.after)
    within = span.lower <= span.after <= span.upper
    if not within or len(span.after.encode()) > SK_BYTES:
        raise ValueError("a page goes on only behind another one of its query")
    return span


def memory_of(pk: str) -> str | None:
    """The memory whose items a partition holds, or None: what a change of the table is about."""
    try:
        return _MEMORY.values(pk)["memory_id"]
    except ValueError:
        return None
