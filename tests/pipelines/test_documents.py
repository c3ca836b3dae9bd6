"""A collection through ExtractNewDocumentState into parquet: what is there is the collection."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import bson
import pyarrow.dataset as ds
import pytest
from bson import Decimal128, Int64, ObjectId

from tests.pipelines.stream import Stream
from tests.servers.mongodb import MongoDatabase

pytestmark = [pytest.mark.mongodb, pytest.mark.spark]
UNWRAP = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
    "transforms.unwrap.delete.tombstone.handling.mode": "tombstone",
}


def order(number: int) -> dict[str, Any]:
    """Orders have five structures, one after the other."""
    document: dict[str, Any] = {
        "_id": ObjectId(number.to_bytes(12, "big")),
        "number": Int64(number),
        "total": Decimal128(f"{number}.50"),
        "lines": [{"sku": f"S{number}-{i}", "count": i} for i in range(number % 3)],
        "ship": {"city": "Łódź", "geo": {"lat": number / 8}},
    }
    optional: tuple[dict[str, Any], ...] = (
        {},
        {"note": None},
        {"paid": True},
        {"at": bson.DatetimeMS(1714521600250)},
        {"_": 1},
    )
    return document | optional[number % 5]


def row(document: dict[str, Any]) -> dict[str, Any]:
    """A document as its row says it."""
    fields: dict[str, Any] = {}
    for name, value in document.items():
        match value:
            case ObjectId() | Decimal128():
                fields[name] = str(value)
            case bson.DatetimeMS():
                fields[name] = int(value)
            case _:
                fields[name] = value
    return fields


def collection(database: MongoDatabase) -> dict[str, dict[str, Any]]:
    """The documents of the collection, as rows by the text of their `_id`."""
    options: bson.CodecOptions[dict[str, Any]] = bson.CodecOptions(
        datetime_conversion=bson.codec_options.DatetimeConversion.DATETIME_MS
    )
    documents = database.collections["orders"].with_options(codec_options=options).find()
    return {str(each["_id"]): row(each) for each in documents}


def last_rows(folder: Path) -> dict[str, dict[str, Any]]:
    """The last value of each key in the parquet files, read by Arrow alone, without the deleted."""
    table = ds.dataset(str(folder / "out"), format="parquet").to_table()
    state: dict[str, Any] = {}
    for record in sorted(table.to_pylist(), key=lambda record: str(record["sequence"])):
        key = json.loads(record["key"])["id"]
        state[key] = None if record["value"] is None else json.loads(record["value"])
    return {key: value for key, value in state.items() if value is not None}


def test_a_collection_unwrapped_into_parquet_is_the_collection(
    mongo_database: MongoDatabase,
    stream: Callable[[Mapping[str, str]], Stream],
    tmp_path: Path,
) -> None:
    orders = mongo_database.collections["orders"]
    orders.insert_many([order(number) for number in range(60)])
    event_stream = stream(mongo_database.properties() | UNWRAP)
    event_stream.run()
    snapshot = last_rows(tmp_path)
    assert len(snapshot) == 60
    orders.insert_many([order(number) for number in range(60, 90)])
    orders.update_many({"number": {"$lt": 20}}, {"$set": {"ship.city": "Gdańsk", "new": [1, 2]}})
    orders.update_many({"paid": True}, {"$inc": {"number": Int64(2**40)}})
    orders.replace_one({"number": 30}, {"number": Int64(30), "replaced": {"by": "x"}})
    orders.delete_many({"number": {"$mod": [7, 0]}})
    event_stream.run()
    assert last_rows(tmp_path) == collection(mongo_database)
    assert last_rows(tmp_path) != snapshot
