"""The ids of a source's table and columns, as a replica keeps them."""

from __future__ import annotations

import json

import pyarrow as pa

from headrace.sinks.replicas.lake import Column, TableSchema
from headrace.sinks.replicas.source_columns import (
    is_replaced,
    lacking,
    property_of,
    with_ids,
    without_ids,
)


def schema(table: str = "s.t", number: str = "7", **ids: str) -> TableSchema:
    columns = tuple(Column(name, pa.int32(), id=each) for name, each in ids.items())
    return TableSchema(columns, (), source=table, source_id=number)


def plain(*names: str) -> TableSchema:
    return TableSchema(tuple(Column(name, pa.int32()) for name in names), ())


def test_a_replica_has_the_ids_that_it_kept() -> None:
    ids_property = property_of(schema(a="1", b="2"))
    identified_schema = with_ids(plain("a", "b", "c"), ids_property, schema())
    assert [column.id for column in identified_schema.columns] == ["1", "2", ""]
    assert not is_replaced(identified_schema, schema())


def test_columns_that_the_property_does_not_name_are_foreign_and_stay_so() -> None:
    ids_property = property_of(schema(a="1", b=""))
    for text in (ids_property, without_ids(ids_property)):
        identified_schema = with_ids(plain("a", "b", "c", "__deleted"), text, schema())
        assert [column.name for column in identified_schema.columns if column.is_foreign] == ["c"]
    assert json.loads(property_of(identified_schema, ids_property))["columns"] == {
        "a": "1",
        "b": "",
        "__deleted": "",
    }


def test_a_replica_has_the_order_of_its_source() -> None:
    ids_property = property_of(schema(a="", b="", c=""))
    identified_schema = with_ids(
        plain("foreign", "b", "c", "__deleted", "a"), ids_property, schema()
    )
    assert identified_schema.names == ("a", "b", "c", "foreign", "__deleted")


def test_columns_that_the_replica_lost_are_named() -> None:
    ids_property = property_of(schema(a="1", b=""))
    assert lacking(plain("a", "c"), ids_property) == ["b"]
    assert lacking(plain("a", "b"), ids_property) == lacking(plain("a"), "") == []


def test_a_replica_that_is_filled_again_may_be_of_another_table() -> None:
    ids_property = without_ids(property_of(schema(a="1")))
    assert not is_replaced(
        with_ids(plain("a"), ids_property, schema(number="8")), schema(number="8")
    )
    assert without_ids("") == ""


def test_an_id_that_a_change_does_not_have_stays() -> None:
    ids_property = property_of(schema(a="", b="3"), property_of(schema(a="1", b="2")))
    assert json.loads(ids_property)["columns"] == {"a": "1", "b": "3"}


def test_a_table_that_was_made_again_has_none_of_the_former_ids() -> None:
    former = property_of(schema(a="1"))
    identified_schema = with_ids(plain("a"), former, schema(number="8"))
    assert identified_schema.columns[0].id == ""
    assert is_replaced(identified_schema, schema(number="8"))
    assert json.loads(property_of(schema(number="8", b="1"), former))["columns"] == {"b": "1"}


def test_a_second_table_that_goes_into_the_same_replica_changes_no_id() -> None:
    former = property_of(schema(a="1"))
    other = schema("s.other", "8", a="5")
    assert property_of(other, former) == former
    identified_schema = with_ids(plain("a"), former, other)
    assert identified_schema.columns[0].id == ""
    assert not is_replaced(identified_schema, other)


def test_a_source_without_ids_keeps_no_property() -> None:
    assert property_of(plain("a")) == ""
