"""CloudEvents out of Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pyspark.sql.types import BinaryType, StringType

from tests.pipelines.stream import Stream
from tests.pipelines.test_avro import reader_of
from tests.servers.mongodb import MongoDatabase
from tests.servers.postgresql import Database
from tests.servers.registry import RegistryServer

pytestmark = pytest.mark.spark
OF_JSON = {
    "value.converter": "io.debezium.converters.CloudEventsConverter",
    "value.converter.serializer.type": "json",
    "value.converter.data.serializer.type": "json",
    "value.converter.json.schemas.enable": "false",
}
TABLE = "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'read')"
CHANGES = "INSERT INTO t VALUES (2, 'new'); UPDATE t SET v = 'later' WHERE id = 2; DELETE FROM t"


def operations_and_rows(events: list[Any]) -> list[tuple[Any, ...]]:
    """Operation and row of each event."""
    return [
        (event["iodebeziumop"], (event["data"]["after"] or {}).get("v"))
        for event in events
        if event is not None
    ]


def check_attributes(events: list[Any], kind: str) -> None:
    # Debezium makes the ids of MongoDB's events of fields that they do not have.
    assert len({event["id"] for event in events}) == (1 if kind == "mongodb" else len(events))
    for event in events:
        assert event["specversion"] == "1.0"
        assert event["source"] == f"/debezium/{kind}/headrace"
        assert event["type"] == f"io.debezium.connector.{kind}.DataChangeEvent"
        assert event["time"].endswith("Z")


def two_runs(stream: Stream, change: Callable[[], object]) -> list[dict[str, Any]]:
    stream.run()
    change()
    return stream.run()


@pytest.mark.postgres
def test_a_table_as_cloudevents_in_json(
    database: Database, stream: Callable[[Mapping[str, str]], Stream]
) -> None:
    database.execute(TABLE)
    event_stream = stream(database.properties() | OF_JSON)
    assert event_stream.frame().schema["value"].dataType == StringType()
    rows = two_runs(event_stream, lambda: database.execute(CHANGES))
    events = [json.loads(row["value"]) for row in rows if row["value"] is not None]
    assert operations_and_rows(events) == [
        ("r", "read"),
        ("c", "new"),
        ("u", "later"),
        ("d", None),
        ("d", None),
    ]
    check_attributes(events, "postgresql")
    assert {event["datacontenttype"] for event in events} == {"application/json"}
    assert sum(row["value"] is None for row in rows) == 2  # tombstones


@pytest.mark.postgres
def test_a_table_as_cloudevents_in_avro(
    database: Database,
    registry_server: RegistryServer,
    stream: Callable[[Mapping[str, str]], Stream],
) -> None:
    database.execute(TABLE)
    of_avro = {
        "value.converter": "cloudevents",
        "value.converter.serializer.type": "avro",
        "value.converter.data.serializer.type": "avro",
        "value.converter.avro.schema.registry.url": registry_server.url,
    }
    event_stream = stream(database.properties() | of_avro)
    assert event_stream.frame().schema["value"].dataType == BinaryType()
    rows = two_runs(event_stream, lambda: database.execute(CHANGES))
    decoded = reader_of(registry_server)
    events = [decoded(row["value"]) for row in rows if row["value"] is not None]
    for event in events:
        number = int.from_bytes(event["data"][1:5], "big")
        assert event["dataschema"] == f"{registry_server.url}/schemas/ids/{number}"
        event["data"] = decoded(event["data"])
    assert operations_and_rows(events) == [
        ("r", "read"),
        ("c", "new"),
        ("u", "later"),
        ("d", None),
        ("d", None),
    ]
    check_attributes(events, "postgresql")
    assert {event["datacontenttype"] for event in events} == {"application/avro"}


@pytest.mark.mongodb
def test_a_collection_as_cloudevents_in_json(
    mongo_database: MongoDatabase, stream: Callable[[Mapping[str, str]], Stream]
) -> None:
    collection = mongo_database.collections["t"]
    collection.insert_one({"_id": 1, "v": "read"})

    def change() -> None:
        collection.insert_one({"_id": 2, "v": "new"})
        collection.update_one({"_id": 2}, {"$set": {"v": "later"}})
        collection.delete_one({"_id": 1})  # what an update finds must still be there

    more = {"capture.mode": "change_streams_update_full"}
    rows = two_runs(stream(mongo_database.properties() | OF_JSON | more), change)
    events = [json.loads(row["value"]) for row in rows if row["value"] is not None]
    for event in events:
        event["data"]["after"] = json.loads(event["data"]["after"] or "null")
    assert operations_and_rows(events) == [("r", "read"), ("c", "new"), ("u", "later"), ("d", None)]
    check_attributes(events, "mongodb")
    described = [event["data"]["updateDescription"] for event in events]
    assert json.loads(described[2]["updatedFields"]) == {"v": "later"}
