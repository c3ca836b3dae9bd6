"""Columns of fields of MongoDB's documents in parts of replicas."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from bson import Binary, Decimal128, Int64, ObjectId, Timestamp, UuidRepresentation

from tests.servers.mongodb import MongoDatabase
from tests.sinks.replicas.changes.change_readers import DELETE, INSERT, UPDATE, MongoChanges

pytestmark = pytest.mark.mongodb
SCHEMA = (
    "_id INT, name STRING, total DECIMAL(10,2), count BIGINT, small SMALLINT, ratio DOUBLE, "
    "flag BOOLEAN, placed TIMESTAMP, seen TIMESTAMP_NTZ, born DATE, raw BINARY, any VARIANT, "
    "address STRUCT<city: STRING, zip: TINYINT>, lines ARRAY<STRUCT<sku: STRING, count: INT>>, "
    "tags MAP<STRING, STRING>"
)
FULL: dict[str, Any] = {
    "_id": 1,
    "name": "é",
    "total": Decimal128("7.50"),
    "count": Int64(1 << 40),
    "small": 5,
    "ratio": 0.25,
    "flag": True,
    "placed": datetime(2026, 1, 2, 3, 4, 5, 678000, UTC),
    "seen": datetime(2026, 1, 2, 3, 4, 5, 678000, UTC),
    "born": datetime(2026, 1, 2, tzinfo=UTC),
    "raw": b"\x00\xff",
    "any": {"a": [1, "x"]},
    "address": {"city": "Łódź", "zip": 7},
    "lines": [{"sku": "a", "count": 1}, None],
    "tags": {"k": "v"},
    "undeclared": "left out",
}
COLUMNS = FULL | {
    "total": Decimal("7.50"),
    "seen": datetime(2026, 1, 2, 3, 4, 5, 678000),  # noqa: DTZ001 - it has no zone
    "born": datetime(2026, 1, 2, tzinfo=UTC).date(),
    "any": '{"a": [1,"x"]}',
    "tags": [("k", "v")],
}
del COLUMNS["undeclared"]
NOTHING = dict.fromkeys(set(COLUMNS) - {"_id"})


def reader_of(
    database: MongoDatabase, schema: str, option: str = "target.schema", **more: str
) -> MongoChanges:
    return MongoChanges.begin(database, **{f"headrace.sink.{option}.*.things": schema}, **more)


def changes_of(reader: MongoChanges, count: int) -> list[dict[str, Any]]:
    """The first changes, without their sequences."""
    reader.step_until(lambda: len(reader.written.changes(".things")) >= count)
    reader.stop()
    changes = reader.written.changes(".things")
    assert len(changes) == count, changes
    return [{name: each[name] for name in each if name != "sequence"} for each in changes]


def error_of(reader: MongoChanges) -> dict[str, str]:
    reader.step_until(lambda: bool(reader.written.errors()))
    reader.stop()
    return reader.written.errors()[0]


def change(operation: int, unavailable: list[str] | None = None, **row: Any) -> dict[str, Any]:
    return {"operation": int(operation), "unavailable": unavailable or []} | row


def test_fields_are_columns_of_their_types_and_deletes_have_the_typed_key(
    mongo_database: MongoDatabase,
) -> None:
    things = mongo_database.collections["things"]
    reader = reader_of(mongo_database, SCHEMA)
    things.insert_one(FULL)
    things.insert_one({"_id": 2})
    things.replace_one({"_id": 2}, {"name": "later", "total": 3, "count": 4.0})
    things.delete_one({"_id": 1})
    changes = changes_of(reader, 4)
    # The update's document is looked up when it is read.
    later = {"_id": 2, **NOTHING, "name": "later", "total": Decimal(3), "count": 4}
    assert changes[0] == change(INSERT, **COLUMNS)
    assert changes[2:] == [change(UPDATE, **later), change(DELETE, _id=1, **NOTHING)]
    schema = reader.written.schema(".things")
    assert schema.key == ("_id",)
    assert {each.name: str(each.type) for each in schema.columns} == {
        "_id": "int32",
        "name": "string",
        "total": "decimal128(10, 2)",
        "count": "int64",
        "small": "int32",
        "ratio": "double",
        "flag": "bool",
        "placed": "timestamp[us, tz=UTC]",
        "seen": "timestamp[us]",
        "born": "date32[day]",
        "raw": "binary",
        "any": "string",
        "address": "struct<city: string, zip: int32>",
        "lines": "list<item: struct<sku: string, count: int32>>",
        "tags": "map<string, string>",
    }


def test_promoted_keys_stand_beside_the_text_and_the_key_stays_a_text(
    mongo_database: MongoDatabase,
) -> None:
    things = mongo_database.collections["things"]
    reader = reader_of(mongo_database, "count INT, at STRUCT<x: INT>", "promoted.keys")
    things.insert_one({"_id": "k", "count": 7, "at": {"x": 1, "y": 2}})
    things.delete_one({"_id": "k"})
    text = '{"_id": "k","count": 7,"at": {"x": 1,"y": 2}}'
    assert changes_of(reader, 2) == [
        change(INSERT, _id='"k"', document=text, count=7, at={"x": 1}),
        change(DELETE, _id='"k"', document=None, count=None, at=None),
    ]


@pytest.mark.parametrize(
    ("declared", "value", "message"),
    [
        ("total DECIMAL(10,2)", Decimal128("1.234"), "total holds a value of type decimal128"),
        ("count INT", Int64(1 << 40), "count holds a value of type int64"),
        ("placed TIMESTAMP", "2026-01-01", "placed holds a value of type string"),
        ("lines ARRAY<STRUCT<sku: BINARY>>", [{}, {"sku": 1}], r"lines\.1\.sku holds a value"),
    ],
)
def test_a_value_that_its_type_does_not_hold_is_an_error_that_names_field_and_option(
    mongo_database: MongoDatabase, declared: str, value: Any, message: str
) -> None:
    things = mongo_database.collections["things"]
    reader = reader_of(mongo_database, f"_id INT, {declared}")
    things.insert_one({"_id": 1, declared.split()[0]: value})
    error = error_of(reader)
    assert error["code"] == "replicas.value_not_taken"
    assert re.search(message, error["message"])
    assert f"headrace.{mongo_database.name}.things" in error["message"]
    assert "headrace.sink.target.schema.*.things" in error["remedy"]


def test_fields_that_are_not_declared_are_left_out_or_an_error(
    mongo_database: MongoDatabase,
) -> None:
    things = mongo_database.collections["things"]
    more = {"headrace.sink.unknown.fields": "fail"}
    reader = reader_of(mongo_database, "_id INT, at STRUCT<x: INT>", **more)
    things.insert_one({"_id": 1, "at": {"x": 1, "y": 2}})
    error = error_of(reader)
    assert error["code"] == "replicas.value_not_taken"
    assert "at.y" in error["message"]
    assert "headrace.sink.unknown.fields=drop" in error["remedy"]


UUID = uuid.UUID(int=7)


@pytest.mark.parametrize(
    ("kind", "ids", "keys"),
    [
        ("STRING", ["a", ObjectId("0" * 24)], ["a", "0" * 24]),
        ("DECIMAL(20,1)", [1, Decimal128("1.5"), Int64(1 << 40)], [1, Decimal("1.5"), 1 << 40]),
        (
            "BINARY",
            [b"ab", Binary.from_uuid(UUID, UuidRepresentation.STANDARD)],
            [b"ab", UUID.bytes],
        ),
        ("TIMESTAMP", [FULL["placed"]], [FULL["placed"]]),
        ("BOOLEAN", [True, False], [True, False]),
        ("VARIANT", [1, "1", {"a": 1}, b"ab"], None),
    ],
)
def test_ids_that_differ_are_different_keys_and_of_the_declared_type(
    mongo_database: MongoDatabase, kind: str, ids: list[Any], keys: list[Any] | None
) -> None:
    things = mongo_database.collections["things"]
    reader = reader_of(mongo_database, f"_id {kind}")
    things.insert_many({"_id": each} for each in ids)
    for each in ids:
        things.delete_one({"_id": each})
    read_ids = [each["_id"] for each in changes_of(reader, 2 * len(ids))]
    assert read_ids[: len(ids)] == read_ids[len(ids) :]
    assert len({str(each) for each in read_ids}) == len(ids)
    assert keys is None or read_ids[: len(ids)] == keys


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("STRING", 1),
        ("STRING", "0123456789abcdef01234567"),
        ("DECIMAL(10,2)", 0.5),
        ("BINARY", b"0123456789abcdef"),
        ("BINARY", Binary(b"ab", 128)),
        ("TIMESTAMP", Timestamp(1, 0)),
    ],
)
def test_an_id_that_another_one_could_be_equal_to_is_an_error(
    mongo_database: MongoDatabase, kind: str, value: Any
) -> None:
    reader = reader_of(mongo_database, f"_id {kind}")
    mongo_database.collections["things"].insert_one({"_id": value})
    error = error_of(reader)
    assert error["code"] == "replicas.value_not_taken"
    assert "may not distinguish from another _id" in error["message"]
    assert "_id VARIANT" in error["remedy"]


def test_an_update_without_its_document_has_the_fields_that_it_changed(
    mongo_database: MongoDatabase,
) -> None:
    things = mongo_database.collections["things"]
    schema = "_id INT, name STRING, total DECIMAL(10,2), at STRUCT<x: INT>"
    reader = reader_of(mongo_database, schema, capture_mode="change_streams")
    things.insert_one({"_id": 1, "name": "Ana", "total": 5, "at": {"x": 1}, "other": {"y": 1}})
    things.update_one({"_id": 1}, {"$set": {"total": 7}, "$unset": {"name": ""}})
    # What is no column is no change of the table, in whichever part of it.
    things.update_one({"_id": 1}, {"$set": {"other.y": 2}})
    things.update_one({"_id": 1}, {"$set": {"at": {"x": 9}, "other.y": 3}})
    things.replace_one({"_id": 1}, {"name": "Bea"})
    row = {"_id": 1, "name": None, "total": None, "at": None}
    assert changes_of(reader, 4) == [
        change(INSERT, **row | {"name": "Ana", "total": Decimal(5), "at": {"x": 1}}),
        change(UPDATE, ["at"], **row | {"total": Decimal(7)}),
        change(UPDATE, ["name", "total"], **row | {"at": {"x": 9}}),
        change(UPDATE, **row | {"name": "Bea"}),
    ]


@pytest.mark.parametrize(
    "update",
    [
        {"$set": {"at.x": 2}},
        {"$unset": {"at.x": ""}},
        {"$set": {"list.1": 9}},
        [{"$set": {"list": {"$slice": ["$list", 150]}}}],
    ],
    ids=["set", "unset", "element", "truncated"],
)
def test_an_update_without_its_document_of_a_part_of_a_field_is_an_error(
    mongo_database: MongoDatabase, update: Any
) -> None:
    things = mongo_database.collections["things"]
    things.insert_one({"_id": 1, "at": {"x": 1}, "list": list(range(200))})
    schema = "_id INT, at STRUCT<x: INT>, list ARRAY<INT>"
    reader = reader_of(mongo_database, schema, capture_mode="change_streams")
    things.update_one({"_id": 1}, update)
    error = error_of(reader)
    assert error["code"] == "replicas.no_document"
    assert "changed a part of the field" in error["message"]
    assert "capture.mode=change_streams_update_full" in error["remedy"]


def test_an_update_without_its_document_is_an_error_beside_the_text(
    mongo_database: MongoDatabase,
) -> None:
    things = mongo_database.collections["things"]
    things.insert_one({"_id": 1, "name": "Ana"})
    more = {"capture_mode": "change_streams"}
    reader = reader_of(mongo_database, "name STRING", "promoted.keys", **more)
    things.update_one({"_id": 1}, {"$set": {"name": "Bea"}})
    assert error_of(reader)["code"] == "replicas.no_document"
