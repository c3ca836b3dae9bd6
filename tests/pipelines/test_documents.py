"""Documents as rows in Parquet files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.pipelines.stream import Stream
from tests.servers.mongodb import MongoDatabase

pytestmark = [pytest.mark.mongodb, pytest.mark.spark]
UNWRAP = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
    "transforms.unwrap.delete.tombstone.handling.mode": "rewrite",
    "capture.mode": "change_streams_update_full",
}


def test_a_collection_behind_a_chain_is_the_collection(
    mongo_database: MongoDatabase, stream: Callable[[Mapping[str, str]], Stream]
) -> None:
    collection = mongo_database.collections["t"]
    collection.insert_many(
        {
            "_id": i,
            "v": f"é{i}",
            "n": {"a": i / 3, "b": [i, i + 1]},
            **({"odd": True} if i % 2 else {}),
        }
        for i in range(300)
    )
    made = stream(mongo_database.properties() | UNWRAP)
    first = made.run()
    assert len(first) == 300
    collection.insert_many({"_id": i, "late": None} for i in range(300, 330))
    collection.update_many({"_id": {"$lt": 50}}, {"$set": {"n.a": -1}, "$unset": {"v": ""}})
    collection.replace_one({"_id": 60}, {"other": [{"x": 1}, {"x": 2}]})
    collection.delete_many({"_id": {"$gte": 100, "$lt": 120}})
    rows = made.run()
    documents: dict[int, dict[str, Any]] = {}
    for row in rows:
        value = json.loads(row["value"])
        is_deleted = str(value.pop("__deleted")).lower() == "true"
        number = int(json.loads(row["key"])["id"])
        documents.pop(number, None)
        if not is_deleted:
            documents[number] = value
    # A field that an update removed is null.
    removed = {number: {"v": None} for number in range(50)}
    assert documents == {
        found["_id"]: found | removed.get(found["_id"], {}) for found in collection.find()
    }
