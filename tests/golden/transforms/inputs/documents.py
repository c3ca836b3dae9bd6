"""Events of documents as Debezium's MongoDB connector emits them, by name."""

from __future__ import annotations

import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import bson
from bson.code import Code
from bson.dbref import DBRef
from bson.regex import Regex

from headrace.documents.dialects import Dialect
from tests.documents.plain_bson import Pointer, Symbol, Undefined
from tests.documents.plain_extended_json import extended_json
from tests.golden.transforms.inputs.envelopes import (
    COMMITTED,
    HEAD,
    TRANSACTION,
    heartbeat,
    transaction_border,
)
from tests.golden.transforms.inputs.schemas import (
    INT32,
    INT64,
    JSON,
    STRING,
    Record,
    array,
    header,
    optional,
    part,
    record,
    struct,
)

PREFIX = "shop"
OBJECT_ID = bson.ObjectId("596e275826f08b2730779e1f")
TRUNCATED = struct(
    "io.debezium.connector.mongodb.changestream.truncatedarray",
    {"field": STRING, "size": INT32},
    version=1,
)
UPDATE = struct(
    "io.debezium.connector.mongodb.changestream.updatedescription",
    {
        "removedFields": array(STRING, optional=True),
        "updatedFields": optional(JSON),
        "truncatedArrays": array(TRUNCATED, optional=True),
    },
    optional=True,
    version=1,
)
SOURCE = struct(
    "io.debezium.connector.mongo.Source",
    {
        **HEAD,
        "collection": STRING,
        "ord": INT32,
        "lsid": optional(STRING),
        "txnNumber": optional(INT64),
        "wallTime": optional(INT64),
    },
    version=1,
)

# Values of every BSON type, by a name.
VALUES: dict[str, Any] = {
    "string": "Łódź €😀 \"'\\\n",
    "empty_string": "",
    "int32": 42,
    "int64": bson.Int64(2**53 + 1),
    "small_int64": bson.Int64(7),
    "double": 0.1,
    "whole_double": 10.0,
    "large_double": 1e300,
    "nan": math.nan,
    "infinity": -math.inf,
    "boolean": True,
    "null": None,
    "object_id": OBJECT_ID,
    "decimal": bson.Decimal128("12345678901234567890.1234"),
    "decimal_exponent": bson.Decimal128("1E+3"),
    "decimal_nan": bson.Decimal128("NaN"),
    "date": bson.DatetimeMS(COMMITTED),
    "old_date": bson.DatetimeMS(-1),
    "far_date": bson.DatetimeMS(253402300800000),
    "timestamp": bson.Timestamp(1710000000, 7),
    "far_timestamp": bson.Timestamp(2**32 - 1, 1),
    "binary": b"\0\xffabc",
    "empty_binary": b"",
    "user_binary": bson.Binary(b"\1\2\3", 128),
    "uuid": uuid.UUID("b68a35a7-17ad-35b3-af2a-ae46edb4545a"),
    "regex": Regex("^a.*", "im"),
    "code": Code("function() {}"),
    "scoped_code": Code("f", {"x": 1}),
    "undefined": Undefined(),
    "min_key": bson.MinKey(),
    "max_key": bson.MaxKey(),
    "symbol": Symbol("sym"),
    "pointer": Pointer("shop.items", OBJECT_ID),
    "reference": DBRef("items", OBJECT_ID),
    "reference_db": DBRef("items", 7, "shop"),
    "document": {"x": 1, "y": "why"},
    "nested_document": {"x": {"y": {"z": bson.Int64(5)}}, "u": None},
    "empty_document": {},
    "array": [1, 2, 3],
    "empty_array": [],
}

# Arrays of all kinds of elements.
ARRAYS: dict[str, list[Any]] = {
    "strings": ["a", "", "c"],
    "documents": [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}],
    "other_documents": [{"x": 1}, {"y": "b", "x": None}, {}],
    "clashing_documents": [{"x": 1}, {"x": "one"}],
    "deep_documents": [{"d": {"x": 1}}, {"d": {"x": 2, "y": 3}}],
    "deep_last_smaller": [{"d": {"x": 1, "y": 3}}, {"d": {"x": 2}}],
    "inner_arrays": [{"f": []}, {"f": [{"g": 5}]}],
    "inner_arrays_reversed": [{"f": [{"g": 5}]}, {"f": []}],
    "arrays": [[1, 2], [3]],
    "same_arrays": [[1], [1]],
    "arrays_empty": [[], [1], []],
    "arrays_of_documents": [[{"x": 1}], [{"x": 2}]],
    "three_levels": [[[1]], [[2]]],
    "empty_inside": [[]],
    "empty_document_inside": [{}],
    "numbers": [1, bson.Int64(2)],
    "numbers_double": [1, 2.5],
    "mixed": [1, "abc"],
    "nulls": [None, None],
    "null_string": [None, "a"],
    "null_int": [None, 1],
    "id_string": [OBJECT_ID, "a"],
    "date_timestamp": [bson.DatetimeMS(0), bson.Timestamp(1, 1)],
    "document_int": [{"x": 1}, 1],
    "int_document": [1, {"x": 1}],
    "array_int": [[1], 1],
    "one": [7],
    "booleans": [True, False],
}


def text(value: object) -> str:
    """The value as a text, as `before` and `after` have it."""
    return extended_json(value, Dialect.STRICT)


class Collection:
    """A captured collection: makes its records. `topic` is also the prefix of its schemas."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.topic = f"{PREFIX}.inventory.{name}"

    def key(self, identifier: object) -> dict[str, Any]:
        """The record's key."""
        schema = struct(f"{self.topic}.Key", {"id": STRING})
        return part(schema, {"id": extended_json(identifier, Dialect.RELAXED)})

    def envelope(self) -> dict[str, Any]:
        """The schema of a change event's value."""
        fields = {
            "before": optional(JSON),
            "after": optional(JSON),
            "updateDescription": UPDATE,
            "source": SOURCE,
            "op": optional(STRING),
            "ts_ms": optional(INT64),
            "transaction": TRANSACTION,
        }
        return struct(f"{self.topic}.Envelope", fields)

    def event(
        self,
        operation: str,
        document: Mapping[str, Any] | None = None,
        before: Mapping[str, Any] | None = None,
        update: tuple[Mapping[str, Any] | None, Sequence[str] | None] | None = None,
        **more: Any,
    ) -> Record:
        """A change event; `update` are the updated and the removed fields; `more` are `identifier`,
        `transaction`, `truncated`, `headers` and `timestamp`."""
        image = document or before or {}
        identifier = more.pop("identifier", image.get("_id", 1))
        truncated = more.pop("truncated", None)
        described = None
        if update is not None:
            updated, removed = update
            described = {
                "removedFields": None if removed is None else list(removed),
                "updatedFields": None
                if updated is None
                else extended_json(updated, Dialect.RELAXED_SPACED),
                "truncatedArrays": truncated,
            }
        value = {
            "before": None if before is None else text(before),
            "after": None if document is None else text(document),
            "updateDescription": described,
            "source": {
                "version": "3.6.3.Final",
                "connector": "mongodb",
                "name": PREFIX,
                "ts_ms": COMMITTED,
                "snapshot": "first" if operation == "r" else "false",
                "db": "inventory",
                "sequence": None,
                "ts_us": COMMITTED * 1000,
                "ts_ns": COMMITTED * 1_000_000,
                "collection": self.name,
                "ord": -1 if operation == "r" else 3,
                "lsid": None,
                "txnNumber": None,
                "wallTime": None if operation == "r" else COMMITTED,
            },
            "op": operation,
            "ts_ms": COMMITTED + 25,
            "transaction": more.pop("transaction", None),
        }
        return record(self.topic, self.key(identifier), part(self.envelope(), value), **more)

    def tombstone(self, identifier: object, **more: Any) -> Record:
        """The tombstone of a deleted document."""
        return record(self.topic, self.key(identifier), None, **more)


ITEMS = Collection("items")
ITEM = {
    "_id": OBJECT_ID,
    "name": "hammer",
    "price": 9.5,
    "address": {"city": "Łódź", "zip": {"code": "90-001"}},
    "tags": ["a", "b"],
    "empty": [],
    "none": None,
}
SMALL = {"_id": 1, "name": "nail", "n": bson.Int64(5)}
WITHIN = {"id": "11:1", "total_order": 2, "data_collection_order": 1}


def changes() -> dict[str, Record]:
    """Events of every operation."""
    return {
        "doc_create": ITEMS.event("c", ITEM, timestamp=COMMITTED),
        "doc_read": ITEMS.event("r", ITEM, headers=[header("here", STRING, "yes")]),
        "doc_small": ITEMS.event("c", SMALL, transaction=WITHIN),
        "doc_update": ITEMS.event("u", SMALL, update=({"n": bson.Int64(5)}, None)),
        "doc_update_before": ITEMS.event(
            "u", SMALL, SMALL | {"n": 4}, ({"n": bson.Int64(5)}, ["old", "address.zip"])
        ),
        "doc_replace": ITEMS.event("u", SMALL),
        "doc_partial": ITEMS.event(
            "u", None, None, ({"n": bson.Int64(5), "name": "screw"}, None), identifier=1
        ),
        "doc_partial_paths": ITEMS.event(
            "u", None, None,
            ({"address.city": "Gdańsk", "tags.0": "z", "address.zip": {"code": None}}, None),
            identifier=OBJECT_ID,
        ),
        "doc_partial_removed": ITEMS.event(
            "u", None, None, ({"n": 1}, ["name", "address.zip", "n"]), identifier=1
        ),
        "doc_partial_only_removed": ITEMS.event("u", None, None, (None, ["name"]), identifier=1),
        "doc_partial_empty": ITEMS.event("u", None, None, ({}, None), identifier=1),
        "doc_partial_truncated": ITEMS.event(
            "u", None, None, ({"n": 1}, None), identifier=1,
            truncated=[{"field": "tags", "size": 1}],
        ),
        "doc_partial_before": ITEMS.event(
            "u", None, SMALL, ({"name": "screw"}, None), identifier=1
        ),
        "doc_partial_values": ITEMS.event(
            "u", None, None,
            ({"d": bson.DatetimeMS(COMMITTED), "l": bson.Int64(2**40), "o": OBJECT_ID,
              "b": b"abc", "dec": bson.Decimal128("1.5"), "arr": [1, 2], "x": 2.0}, None),
            identifier=1,
        ),
        "doc_partial_id": ITEMS.event("u", None, None, ({"_id": 1, "n": 2}, None), identifier=1),
        "doc_vanished": ITEMS.event("u", None, None, identifier=1),
        "doc_delete": ITEMS.event("d", identifier=1, transaction=WITHIN),
        "doc_delete_id": ITEMS.event("d", identifier=OBJECT_ID),
        "doc_delete_before": ITEMS.event("d", None, SMALL),
        "doc_delete_before_nested": ITEMS.event("d", None, ITEM),
        "doc_delete_before_no_id": ITEMS.event("d", None, {"name": "nail"}, identifier=1),
        "doc_tombstone": ITEMS.tombstone(1),
        "doc_tombstone_id": ITEMS.tombstone(OBJECT_ID, headers=[header("here", STRING, "yes")]),
        "doc_dotted_names": ITEMS.event(
            "c", {"_id": 1, "a.b": 1, "$c": 2, "1x": 4, "ä b": 5, "a-b": {"c d": 6}}
        ),
        "doc_empty_name": ITEMS.event("c", {"_id": 1, "": 3}),
        "doc_clashing_names": ITEMS.event("c", {"_id": 1, "a": {"b": 1}, "a_b": 2}),
        "doc_own_names": ITEMS.event("c", {"_id": 1, "__deleted": "x", "__op": "y", "op": "z"}),
        "doc_suffix": Collection("orders").event("c", {"_id": 1, "s": [1], "orders": [2]}),
        "doc_dotted_collection": Collection("my-or ders.2").event("c", SMALL | {"d": {"x": 1}}),
        "doc_only_id": ITEMS.event("c", {"_id": 1}),
        "doc_empty": ITEMS.event("c", {}, identifier=1),
        "doc_delete_before_empty": ITEMS.event("d", None, {}, identifier=1),
        "doc_one_name_in_avro": ITEMS.event(
            "c", {"_id": 1, "a.b": "dot", "a b": 7, "x": {"c.d": 1, "c-d": 2}}
        ),
        "doc_one_name_in_avro_before": ITEMS.event("d", None, {"_id": 1, "a.b": 1, "a b": 2}),
        "doc_one_name_in_avro_partial": ITEMS.event(
            "u", None, None, ({"a.b": "dot", "a b": "space"}, None), identifier=1
        ),
        "doc_one_name_in_avro_elements": ITEMS.event(
            "c", {"_id": 1, "e": [{"c.d": 1, "c-d": 2}, {"c-d": 3}]}
        ),
    }  # fmt: skip


def other_events() -> dict[str, Record]:
    """Heartbeats, borders of transactions, envelopes of old connectors and wrong texts."""
    created = ITEMS.event("c", SMALL)
    old_fields = [
        member | {"field": {"updateDescription": "patch"}.get(member["field"], member["field"])}
        if member["field"] != "updateDescription"
        else optional(JSON, field="patch")
        for member in ITEMS.envelope()["fields"]
        if member["field"] != "before"
    ]
    old_value = {
        {"updateDescription": "patch"}.get(name, name): value
        for name, value in created["value"]["payload"].items()
        if name != "before"
    }
    old = part(ITEMS.envelope() | {"fields": old_fields}, old_value)
    wrong = {**created["value"]["payload"], "after": '{"_id": 1, "n": '}
    return {
        "doc_heartbeat": heartbeat(PREFIX),
        "doc_begin": transaction_border(PREFIX, is_end=False),
        "doc_end": transaction_border(PREFIX, is_end=True),
        "doc_old": {**created, "value": old},
        "doc_wrong_text": {**created, "value": part(ITEMS.envelope(), wrong)},
        "doc_no_key": {**created, "key": None},
        "doc_text_key": {**created, "key": part(STRING, "k")},
        "doc_row": {**created, "value": part(struct("row", {"a": STRING}), {"a": "b"})},
    }


def typed_documents() -> dict[str, Record]:
    """Every BSON type as a field, in a document, in an array, in an array's documents, and as
    `_id`; every kind of array."""
    things = Collection("things")
    records = {}
    for name, value in VALUES.items():
        documents: dict[str, dict[str, Any]] = {
            "field": {"_id": 1, "v": value, "d": {"v": value}},
            "element": {"_id": 1, "a": [value, value]},
            "inside": {"_id": 1, "a": [{"v": value}, {"v": value}]},
            "id": {"_id": value},
        }
        for place, document in documents.items():
            records[f"bson_{name}_{place}"] = things.event("c", document)
    for name, array_value in ARRAYS.items():
        records[f"array_{name}"] = things.event("c", {"_id": 1, "a": array_value})
        records[f"array_{name}_inside"] = things.event("c", {"_id": 1, "d": {"a": array_value}})
    return records


def document_records() -> dict[str, Record]:
    """All records of MongoDB's connector."""
    return {**changes(), **other_events(), **typed_documents()}
