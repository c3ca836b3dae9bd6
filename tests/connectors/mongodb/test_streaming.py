from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest
from bson.int64 import Int64

from tests.connectors.mongodb.harness import Reader
from tests.servers.mongodb import MongoDatabase

pytestmark = pytest.mark.mongodb

ANA = {"_id": Int64(7), "name": "Ana", "at": datetime(2024, 5, 1, 0, 0, 0, 250000, tzinfo=UTC)}
ANA_TEXT = '{"_id": {"$numberLong": "7"},"name": "Ana","at": {"$date": 1714521600250}}'


def without_times(value: dict[str, Any] | None) -> dict[str, Any]:
    """A value without what the server and the clock say, and without a source block's constants."""
    assert value is not None
    source = value["source"]
    assert source["ts_us"] == source["ts_ms"] * 1000
    assert source["ts_ns"] == source["ts_us"] * 1000
    assert source["ts_ms"] == source["wallTime"]
    assert (source["version"], source["connector"]) == ("3.6.3.Final", "mongodb")
    left = ("ts_ms", "ts_us", "ts_ns", "wallTime", "ord", "version", "connector")
    return {
        **{name: member for name, member in value.items() if name != "ts_ms"},
        "source": {name: member for name, member in source.items() if name not in left},
    }


def test_an_insert_an_update_a_replacement_and_a_delete_become_events(
    mongo_database: MongoDatabase,
) -> None:
    customers = mongo_database.collections["customers"]
    reader = Reader.begin(mongo_database)
    customers.insert_one(dict(ANA))
    customers.update_one({"_id": 7}, {"$set": {"n": Int64(5)}, "$unset": {"at": 1}})
    customers.replace_one({"_id": 7}, {"name": "Bea"})
    customers.delete_one({"_id": 7})
    values = reader.values(5)
    keys = [json.loads(record["key"]) for record in reader.in_order()]
    assert keys == [{"id": "7"}] * 5
    assert {record["topic"] for record in reader.records} == {
        f"headrace.{mongo_database.name}.customers"
    }
    source = {
        "name": "headrace",
        "snapshot": "false",
        "db": mongo_database.name,
        "sequence": None,
        "collection": "customers",
        "lsid": None,
        "txnNumber": None,
    }
    common = {"before": None, "source": source, "transaction": None}
    update = {
        "removedFields": ["at"],
        "updatedFields": '{"n": 5}',
        "truncatedArrays": None,
    }
    # The documents were looked up when all changes were over, or before.
    created, updated, replaced, deleted = map(without_times, values[:4])
    assert created == {**common, "after": ANA_TEXT, "updateDescription": None, "op": "c"}
    assert updated | {"after": None} == {
        **common,
        "after": None,
        "updateDescription": update,
        "op": "u",
    }
    assert replaced == {
        **common,
        "after": '{"_id": {"$numberLong": "7"},"name": "Bea"}',
        "updateDescription": None,
        "op": "u",
    }
    assert deleted == {**common, "after": None, "updateDescription": None, "op": "d"}
    assert values[4] is None
    reader.stop()


def test_excluded_and_renamed_fields_are_so_in_events_but_not_in_keys(
    mongo_database: MongoDatabase,
) -> None:
    name = mongo_database.name
    reader = Reader.begin(
        mongo_database,
        capture_mode="change_streams",
        field_exclude_list=f"{name}.people.secret,*.people._id.part",
        field_renames=f"{name}.people.address.zip:code",
    )
    for collection in ("people", "others"):
        rows = mongo_database.collections[collection]
        rows.insert_one({"_id": {"part": 1}, "secret": 1, "address": {"zip": 5, "text": "x" * 500}})
        rows.update_one({}, {"$set": {"secret": 2, "address.zip": 6}})
    values = [value for value in reader.values(4) if value is not None]
    keys = {record["key"] for record in reader.records}
    reader.stop()
    text = "x" * 500
    assert keys == {'{"id":"{\\"part\\": 1}"}'}
    assert values[0]["after"] == f'{{"_id": {{}},"address": {{"text": "{text}","code": 5}}}}'
    assert values[1]["updateDescription"]["updatedFields"] == '{"address.code": 6}'
    assert '"secret": 1,"address": {"zip": 5' in values[2]["after"]
    assert values[3]["updateDescription"]["updatedFields"] == '{"secret": 2, "address.zip": 6}'


def test_collections_with_one_topic_are_warned_of_once(
    mongo_database: MongoDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    reader = Reader.begin(mongo_database)
    for collection in ("a b", "a+b", "ab"):
        mongo_database.collections[collection].insert_one({"_id": 1})
    reader.until(3)
    reader.restart()
    mongo_database.collections["a b"].insert_one({"_id": 2})
    reader.until(4)
    reader.stop()
    (warning,) = [message for message in caplog.messages if "get one topic" in message]
    name = mongo_database.name
    assert f"{name}.a b and {name}.a+b get one topic, headrace.{name}.a_b" in warning
