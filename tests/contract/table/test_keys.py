"""The keys of the table: what the schema declares, and that no value leaves its place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import fields

from tests.homes import declared_table
from tests.records import RECORD_TYPES, TEXTS, records
from zero_memory.adapters.items import decode, encode
from zero_memory.adapters.schema import (
    EXPIRY,
    PATTERNS,
    address_of,
    fields_of,
    memory_of,
    pattern_of,
    span_of,
)
from zero_memory.memory import model as memory_model
from zero_memory.memory.model import (
    AuditRecord,
    LinkOut,
    Meta,
    PendingMarker,
    SearchRecord,
    StoredBody,
    TimelineEntry,
)
from zero_memory.ports.table import LimitExceeded
from zero_memory.scopes import model as scopes_model

VIEWS = [pattern for pattern in PATTERNS if pattern.of is not None]
PARTS = TEXTS.filter(bool)


@pytest.mark.parametrize("record", RECORD_TYPES, ids=lambda record: record.__name__)
@given(data=st.data())
def test_a_record_read_back_from_its_address_equals_the_record_written(
    record: type[Any], data: st.DataObject
):
    written = data.draw(records(record))
    address, item = encode(written)
    parts = [getattr(written, name) for name in pattern_of(record).parts]
    assert address == address_of(record, parts)
    assert decode(record, fields_of(record, parts), item.attributes, dict) == written


@given(scope=PARTS, link=PARTS, target=PARTS)
def test_a_query_reads_the_rest_of_the_key_back(scope: str, link: str, target: str):
    span = span_of(LinkOut, (scope,), after=None, since=None, until=None, limit=1)
    address = address_of(LinkOut, (scope, link, target))
    assert span.fields(address.sk) == {"source": scope, "link": link, "target": target}


@given(data=st.data())
def test_two_addresses_are_equal_only_if_type_and_parts_are(data: st.DataObject):
    parts = st.lists(PARTS | st.sampled_from(["#", "A#b", "%23", "META", "L>x#y"]), min_size=3)
    one, other = (
        (record, tuple(data.draw(parts)[: len(pattern_of(record).parts)]))
        for record in data.draw(st.tuples(*[st.sampled_from(RECORD_TYPES)] * 2))
    )
    if all(len(each) == len(pattern_of(record).parts) for record, each in (one, other)):
        assert (address_of(*one) == address_of(*other)) == (one == other)


@given(scope=PARTS, other=PARTS, memory_id=PARTS)
def test_a_query_of_one_scope_spans_no_key_of_another(scope: str, other: str, memory_id: str):
    span = span_of(SearchRecord, (scope,), after=None, since=None, until=None, limit=1)
    address = address_of(SearchRecord, (other, memory_id))
    assert (address.pk == span.pk) == (scope == other)
    assert span.lower <= address.sk <= span.upper


@given(scope=PARTS, memory_id=PARTS)
def test_a_query_of_one_collection_spans_no_key_of_another(scope: str, memory_id: str):
    span = span_of(SearchRecord, (scope,), after=None, since=None, until=None, limit=1)
    marker = address_of(PendingMarker, (scope, memory_id))
    assert marker.pk == span.pk
    assert not span.lower <= marker.sk <= span.upper


def test_every_record_of_the_models_has_one_pattern():
    kept = {pattern.record for pattern in PATTERNS}
    assert len(kept) == len(PATTERNS)
    parts_of_records = {"Interval", "Body", "StoredWindow", "Passage"}
    declared = {
        kind
        for module in (memory_model, scopes_model)
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and kind.__module__ == module.__name__
        and name not in parts_of_records
    }
    assert declared <= kept


def test_a_record_expires_if_it_has_the_field_that_the_table_removes_items_by():
    named = {
        pattern.record for pattern in PATTERNS if EXPIRY in {f.name for f in fields(pattern.record)}
    }
    assert named == {pattern.record for pattern in PATTERNS if pattern.expires}


def test_no_field_has_the_name_of_a_key():
    keys = {name for pattern in PATTERNS for name in pattern.key_names}
    assert keys.isdisjoint(field.name for each in RECORD_TYPES for field in fields(each))


def test_a_view_shows_only_what_the_items_behind_it_hold():
    for view in VIEWS:
        assert view.of is not None
        assert view.attributes <= pattern_of(view.of).attributes
        assert set(pattern_of(view.of).parts) <= view.in_key


def test_the_template_declares_the_keys_and_projections_that_the_schema_needs():
    declared = declared_table()
    assert [key["AttributeName"] for key in declared["KeySchema"]] == ["pk", "sk"]
    assert declared["TimeToLiveSpecification"]["AttributeName"] == EXPIRY
    indexes = {index["IndexName"]: index for index in declared["GlobalSecondaryIndexes"]}
    assert set(indexes) == {view.index for view in VIEWS}
    for view in VIEWS:
        index = indexes[view.index]
        assert tuple(key["AttributeName"] for key in index["KeySchema"]) == view.key_names
        assert view.attributes <= set(index["Projection"]["NonKeyAttributes"])


def test_all_items_of_a_memory_name_it():
    for address in (
        address_of(Meta, ("mem_1",)),
        address_of(StoredBody, ("mem_1",)),
        address_of(AuditRecord, ("mem_1", "aud_1")),
        address_of(LinkOut, ("mem_1", "supersedes", "mem_2")),
    ):
        assert memory_of(address.pk) == "mem_1"
    assert memory_of(address_of(PendingMarker, ("scp_1", "mem_1")).pk) is None


def test_a_key_past_the_limits_is_refused():
    address_of(Meta, ("m" * (2_048 - len("M#")),))
    with pytest.raises(LimitExceeded):
        address_of(Meta, ("m" * 2_047,))
    with pytest.raises(LimitExceeded):
        address_of(AuditRecord, ("mem_1", "ü" * 512))


def test_a_wrong_number_of_key_parts_is_an_error_of_the_caller():
    with pytest.raises(ValueError, match="key parts"):
        address_of(Meta, ())
    with pytest.raises(ValueError, match="key parts"):
        address_of(TimelineEntry, ("scp_1", "knowledge", "mem_1"))
    with pytest.raises(ValueError, match="at least"):
        span_of(PendingMarker, (), after=None, since=None, until=None, limit=1)
    with pytest.raises(ValueError, match="more key parts"):
        span_of(Meta, ("mem_1", "x"), after=None, since=None, until=None, limit=1)
    with pytest.raises(ValueError, match="empty"):
        address_of(Meta, ("",))
