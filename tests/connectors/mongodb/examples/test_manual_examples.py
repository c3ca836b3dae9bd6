"""The documents that Debezium's manual shows, through the whole connector."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from bson import ObjectId
from bson.int64 import Int64

from tests.connectors.mongodb.harness import Reader
from tests.servers.mongodb import MongoDatabase, create_with_images

pytestmark = pytest.mark.mongodb

ANNE = {
    "_id": Int64(1004),
    "first_name": "Anne",
    "last_name": "Kretchmar",
    "email": "annek@noanswer.org",
}
ANNE_TEXT = (
    '{"_id": {"$numberLong": "1004"},"first_name": "Anne","last_name": "Kretchmar",'
    '"email": "annek@noanswer.org"}'
)
ANNE_MARIE_TEXT = ANNE_TEXT.replace('"Anne"', '"Anne Marie"')
SESSION = re.compile(
    r'\{"id": \{"\$binary": "[A-Za-z0-9+/]{22}==","\$type": "04"\},'
    r'"uid": \{"\$binary": "[A-Za-z0-9+/]{43}=","\$type": "00"\}\}'
)
CURRENT_SOURCE = [
    "version",
    "connector",
    "name",
    "ts_ms",
    "snapshot",
    "db",
    "sequence",
    "ts_us",
    "ts_ns",
    "collection",
    "ord",
    "lsid",
    "txnNumber",
    "wallTime",
]
SOURCE_2_5 = [
    "version",
    "connector",
    "name",
    "ts_ms",
    "snapshot",
    "db",
    "sequence",
    "rs",
    "collection",
    "ord",
    "h",
    "tord",
    "stxnid",
    "lsid",
    "txnNumber",
    "wallTime",
]


def changes_of_anne(database: MongoDatabase, **more: str) -> list[dict[str, Any] | None]:
    """Values: she is created, gets another name in a transaction, and is deleted."""
    create_with_images(database.collections, "customers")
    customers = database.collections["customers"]
    reader = Reader.begin(
        database,
        topic_prefix="fulfillment",
        capture_mode="change_streams_update_full_with_pre_image",
        capture_mode_full_update_type="post_image",
        **more,
    )
    customers.insert_one(dict(ANNE))
    with database.client.start_session() as session, session.start_transaction():
        update = {"$set": {"first_name": "Anne Marie"}}
        customers.update_one({"_id": 1004}, update, session=session)
    customers.delete_one({"_id": 1004})
    values = reader.values(4)
    assert {record["key"] for record in reader.records} == {'{"id":"1004"}'}
    reader.stop()
    return values


@pytest.mark.parametrize(("version", "fields"), [("current", CURRENT_SOURCE), ("2.5", SOURCE_2_5)])
def test_create_update_with_pre_image_in_a_transaction_delete_and_tombstone(
    mongo_database: MongoDatabase, version: str, fields: list[str]
) -> None:
    values = changes_of_anne(mongo_database, event_format_version=version)
    assert values[3] is None
    created, updated, deleted = (value for value in values if value is not None)
    for value in (created, updated, deleted):
        assert list(value) == [
            "before",
            "after",
            "updateDescription",
            "source",
            "op",
            "ts_ms",
            "transaction",
        ]
        source = value["source"]
        assert list(source) == fields
        assert source["snapshot"] == "false"
        assert source["db"] == mongo_database.name
        assert (source["collection"], source["name"]) == ("customers", "fulfillment")
        assert source.get("rs", "rs0") == "rs0"
        assert all(source.get(name) is None for name in ("sequence", "h", "tord", "stxnid"))
        assert source["ord"] >= 1
    events = [
        (value["op"], value["before"], value["after"], value["updateDescription"])
        for value in (created, updated, deleted)
    ]
    description = {
        "removedFields": None,
        "updatedFields": '{"first_name": "Anne Marie"}',
        "truncatedArrays": None,
    }
    assert events == [
        ("c", None, ANNE_TEXT, None),
        ("u", ANNE_TEXT, ANNE_MARIE_TEXT, description),
        ("d", ANNE_MARIE_TEXT, None, None),
    ]
    assert [value["source"]["txnNumber"] for value in (created, deleted)] == [None, None]
    assert [value["source"]["lsid"] for value in (created, deleted)] == [None, None]
    assert isinstance(updated["source"]["txnNumber"], int)
    assert SESSION.fullmatch(updated["source"]["lsid"])


def test_times_of_the_source_are_the_servers(mongo_database: MongoDatabase) -> None:
    created = changes_of_anne(mongo_database)[0]
    assert created is not None
    source = created["source"]
    assert source["ts_ms"] == source["wallTime"]
    assert source["ts_us"] == source["ts_ms"] * 1000
    assert source["ts_ns"] == source["ts_us"] * 1000


def test_format_2_5_shows_the_second_of_the_cluster_time(mongo_database: MongoDatabase) -> None:
    created = changes_of_anne(mongo_database, event_format_version="2.5")[0]
    assert created is not None
    source = created["source"]
    assert source["ts_ms"] % 1000 == 0
    assert abs(source["ts_ms"] - source["wallTime"]) < 10_000


@pytest.mark.parametrize(
    ("mode", "has_before", "has_after"),
    [
        ("change_streams", False, False),
        ("change_streams_update_full", False, True),
        ("change_streams_with_pre_image", True, False),
        ("change_streams_update_full_with_pre_image", True, True),
    ],
)
def test_capture_modes_say_which_images_there_are(
    mongo_database: MongoDatabase, mode: str, has_before: bool, has_after: bool
) -> None:
    create_with_images(mongo_database.collections, "rows")
    rows = mongo_database.collections["rows"]
    reader = Reader.begin(mongo_database, capture_mode=mode)
    # The server sends small changes to large documents, or else the document.
    rows.insert_one({"_id": 1, "a": [1, 2, 3], "b": 1, "text": "x" * 1000})
    rows.update_one({"_id": 1}, [{"$set": {"a": [1, 2]}}, {"$unset": "b"}])
    rows.replace_one({"_id": 1}, {"c": 1})
    rows.delete_one({"_id": 1})
    values = [value for value in reader.values(5) if value is not None]
    reader.stop()
    assert [value["before"] is not None for value in values] == [
        False,
        has_before,
        has_before,
        has_before,
    ]
    # What is looked up may be gone by then.
    assert [value["after"] is not None for value in values if value["op"] == "c"] == [True]
    assert values[2]["after"] == '{"_id": 1,"c": 1}'
    assert values[3]["after"] is None
    if not has_after:
        assert values[1]["after"] is None
    assert [value["updateDescription"] for value in values] == [
        None,
        {
            "removedFields": ["b"],
            "updatedFields": "{}",
            "truncatedArrays": [{"field": "a", "size": 2}],
        },
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("mode", "documents", "updated"),
    [
        ("legacy", '{"$numberLong": "5"}', '{"n": 5, "o": 6}'),
        ("strict", '{"$numberLong": "5"}', '{"n": {"$numberLong": "5"},"o": 6}'),
        (
            "extended",
            '{"$numberLong": "5"}',
            '{"n": {"$numberLong": "5"},"o": {"$numberInt": "6"}}',
        ),
        ("relaxed", "5", '{"n": 5,"o": 6}'),
    ],
)
def test_dialects_of_extended_json_are_those_of_the_mode(
    mongo_database: MongoDatabase, mode: str, documents: str, updated: str
) -> None:
    rows = mongo_database.collections["rows"]
    reader = Reader.begin(mongo_database, json_serialization_mode=mode)
    rows.insert_one({"_id": Int64(9), "n": Int64(5)})
    rows.update_one({"_id": 9}, {"$set": {"n": Int64(5), "o": 6}})
    rows.update_one({"_id": 9}, {"$set": {"n": Int64(5), "o": 7}})
    rows.update_one({"_id": 9}, {"$set": {"n": Int64(4)}})
    rows.update_one({"_id": 9}, {"$set": {"n": Int64(5), "o": 6}})
    values = [value for value in reader.values(5) if value is not None]
    keys = {record["key"] for record in reader.records}
    reader.stop()
    assert f'"n": {documents}' in values[0]["after"]
    assert values[4]["updateDescription"]["updatedFields"] == updated
    assert keys == {'{"id":"9"}'}


MANUALS_KEYS: list[tuple[object, str, str]] = [
    (1234, "1234", "1234"),
    (Int64(1004), "1004", "1004"),
    ({"n": Int64(5)}, '{"n" : 5}', '{"n": 5}'),
    (12.34, "12.34", "12.34"),
    ("1234", '"1234"', '"1234"'),
    (
        {"hi": "kafka", "nums": [10.0, 100.0, 1000.0]},
        '{"hi" : "kafka", "nums" : [10.0, 100.0, 1000.0]}',
        '{"hi": "kafka","nums": [10.0,100.0,1000.0]}',
    ),
    (
        ObjectId("596e275826f08b2730779e1f"),
        '{"$oid" : "596e275826f08b2730779e1f"}',
        '{"$oid": "596e275826f08b2730779e1f"}',
    ),
    (
        b"kafka",
        '{"$binary" : "a2Fma2E=", "$type" : "00"}',
        '{"$binary": {"base64": "a2Fma2E=","subType": "00"}}',
    ),
]
"""Values of `_id`, and their texts in the manual and in events of Debezium."""


@pytest.mark.parametrize(("key_format", "column"), [("seed_v1", 1), ("relaxed", 2)])
def test_the_manuals_table_of_ids_is_written_in_both_spellings(
    mongo_database: MongoDatabase, key_format: str, column: int
) -> None:
    rows = mongo_database.collections["rows"]
    rows.insert_many([{"_id": row[0]} for row in MANUALS_KEYS])
    reader = Reader(
        mongo_database.properties(key_json_format=key_format, heartbeat_interval_ms="0")
    )
    read = len(MANUALS_KEYS)
    reader.until(read)
    rows.delete_many({})
    reader.until(3 * read)
    reader.stop()
    records = reader.in_order()
    texts = [json.loads(record["key"])["id"] for record in records]
    assert sorted(texts[:read]) == sorted(row[column] for row in MANUALS_KEYS)
    # A delete and its tombstone have the key of the document that was read.
    assert texts[read::2] == texts[read + 1 :: 2]
    assert sorted(texts[read::2]) == sorted(texts[:read])
    assert [record["value"] is None for record in records] == [False] * read + [False, True] * read
