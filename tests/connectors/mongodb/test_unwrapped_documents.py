"""ExtractNewDocumentState in a stream of the connector: what comes out is the collection."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import pytest
from bson.binary import Binary
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.objectid import ObjectId
from bson.regex import Regex
from bson.timestamp import Timestamp

from headrace.streaming import streaming
from tests.connectors.mongodb.harness import Reader
from tests.servers.mongodb import MongoDatabase, create_with_images

pytestmark = pytest.mark.mongodb

UNWRAP = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
}
AT = datetime(2024, 5, 1, 0, 0, 0, 250000, tzinfo=UTC)
FIRST = ObjectId("596e275826f08b2730779e1f")
DOCUMENTS: list[dict[str, Any]] = [
    {"_id": 1, "name": "Łódź", "n": Int64(5), "price": 9.5, "on": True, "at": AT},
    {"_id": 2, "name": "", "n": Int64(2**40), "price": -0.0, "on": False, "at": AT},
    {"_id": FIRST, "dec": Decimal128("1.50"), "raw": b"abc", "more": Binary(b"\1", 128)},
    {"_id": "x", "none": None, "re": Regex("^a", "i"), "ts": Timestamp(1710000000, 7)},
    {"_id": 3, "address": {"city": "Gdańsk", "zip": {"code": 90}}, "tags": ["a", "b"], "e": []},
    {"_id": 4, "numbers": [1, 2], "items": [{"x": 1}, {"x": 2, "y": "b"}], "deep": [[1], [2, 3]]},
]
ROWS: list[dict[str, Any]] = [
    {"_id": 1, "name": "Łódź", "n": 5, "price": 9.5, "on": True, "at": 1714521600250},
    {"_id": 2, "name": "", "n": 2**40, "price": -0.0, "on": False, "at": 1714521600250},
    {"_id": str(FIRST), "dec": "1.50", "raw": "YWJj", "more": "AQ=="},
    {"_id": "x", "none": None, "re": {"regex": "^a", "options": "i"}, "ts": 1710000000000},
    {"_id": 3, "address": {"city": "Gdańsk", "zip": {"code": 90}}, "tags": ["a", "b"], "e": []},
    {
        "_id": 4,
        "numbers": [1, 2],
        "items": [{"x": 1, "y": None}, {"x": 2, "y": "b"}],
        "deep": [[1], [2, 3]],
    },
]


def begin(database: MongoDatabase, **options: str) -> Reader:
    """A reader after the transform with these options, `_` for `.`."""
    reader = Reader(
        {"snapshot.mode": "no_data"}
        | database.properties()
        | UNWRAP
        | {f"transforms.unwrap.{name.replace('_', '.')}": text for name, text in options.items()}
    )
    reader.step_until(lambda: len(reader.offsets) > 1)
    return reader


def test_the_rows_are_the_documents_of_the_collection(mongo_database: MongoDatabase) -> None:
    items = mongo_database.collections["items"]
    reader = begin(mongo_database)
    items.insert_many(DOCUMENTS)
    assert reader.values(len(DOCUMENTS)) == ROWS
    keys = [json.loads(record["key"]) for record in reader.in_order()]
    assert keys == [{"id": row["_id"]} for row in ROWS]
    reader.stop()


def test_a_snapshot_gives_the_same_rows_as_the_stream(mongo_database: MongoDatabase) -> None:
    mongo_database.collections["items"].insert_many(DOCUMENTS)
    reader = Reader({"snapshot.mode": "initial"} | mongo_database.properties() | UNWRAP)
    rows = reader.values(len(DOCUMENTS))
    assert sorted(map(json.dumps, rows)) == sorted(map(json.dumps, ROWS))
    reader.stop()


def test_updates_and_deletes_follow_the_options(mongo_database: MongoDatabase) -> None:
    create_with_images(mongo_database.collections, "items")
    items = mongo_database.collections["items"]
    reader = begin(
        mongo_database,
        delete_tombstone_handling_mode="rewrite",
        add_fields="op,rs,collection",
    )
    items.insert_one({"_id": 1, "a": {"b": 1, "c": 2}, "d": 3})
    items.update_one({"_id": 1}, {"$set": {"d": 4}, "$unset": {"a.b": 1}})
    reader.values(2)  # the document is looked up before it is deleted
    items.delete_one({"_id": 1})
    replica_set = mongo_database.client.admin.command("hello")["setName"]
    added = {"__collection": "items", "__rs": replica_set}
    rows = [
        {"_id": 1, "a": {"b": 1, "c": 2}, "d": 3, "__deleted": False, "__op": "c"},
        {"_id": 1, "a": {"c": 2, "b": None}, "d": 4, "__deleted": False, "__op": "u"},
        {"__deleted": True, "__op": "d"},
    ]
    assert reader.values(3) == [row | added for row in rows]
    reader.stop()


def test_partial_updates_have_what_changed(mongo_database: MongoDatabase) -> None:
    items = mongo_database.collections["items"]
    items.insert_one({"_id": 1, "a": {"b": 1}, "d": 3, "e": 5})
    properties = mongo_database.properties() | UNWRAP
    reader = Reader({"snapshot.mode": "no_data", "capture.mode": "change_streams"} | properties)
    reader.step_until(lambda: len(reader.offsets) > 1)
    items.update_one({"_id": 1}, {"$set": {"a.b": 2, "n": Int64(7)}, "$unset": {"e": 1}})
    assert reader.values(1) == [{"a.b": 2, "n": 7, "e": None, "_id": 1}]
    reader.stop()


def test_each_key_is_in_one_slice_when_ids_change_their_type(
    mongo_database: MongoDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "SLICE_BYTES", 1)  # so that every range is spread
    items = mongo_database.collections["items"]
    reader = begin(mongo_database)
    old = [ObjectId() for _ in range(40)]
    items.insert_many({"_id": each} for each in old)
    for each in old:
        items.delete_one({"_id": each})
        items.insert_one({"_id": str(each)})
    count = 0
    keys_of_slices: defaultdict[int, set[Any]] = defaultdict(set)
    while count < 3 * len(old):  # deletes are tombstones
        end = reader.plan()
        if end == reader.offsets[-1]:
            continue
        keys = [[record["key"] for record in part] for part in reader.slices(end)]
        reader.offsets.append(end)
        distinct = list(map(set, keys))
        assert sum(map(len, distinct)) == len(set().union(*distinct))
        for number, part in enumerate(distinct):
            keys_of_slices[number] |= part
        count += sum(map(len, keys))
    assert len(keys_of_slices) > 1
    assert min(map(len, keys_of_slices.values())) > 3  # in each of several slices
    reader.stop()
