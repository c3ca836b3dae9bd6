"""Worked examples of events, byte for byte but for the clock: a stream that brings these changes,
and a snapshot that begins at that moment."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import bson
import pytest
from bson.int64 import Int64

from headrace.connectors.mongodb.reading.snapshot_source import Moment
from headrace.connectors.mongodb.starting.run import Run
from tests.connectors.mongodb.harness import PLAIN, Reader
from tests.connectors.mongodb.streaming.scripted import Event, ScriptedCursor, event, token
from tests.servers.mongodb import MongoDatabase

pytestmark = pytest.mark.mongodb

AT = datetime(2024, 5, 1, 0, 0, 0, 250_000, tzinfo=UTC)
ANA = {"_id": Int64(7), "name": "Ana", "at": AT}
ANA_MARIA = {"_id": Int64(7), "name": "Ana Maria", "n": Int64(5)}
SESSION = {
    "id": bson.Binary(base64.b64decode("ERERESIiMzNERFVVVVVVVQ=="), 4),
    "uid": b"\x01\x02",
}
CLOCK = re.compile(r'(?<="op":".","ts_ms":)[0-9]{13}')


def change(operation: str, millis: int, increment: int, **more: Any) -> Event:
    """A change of customer 7, whose wall-clock time is that of its cluster time."""
    return event(
        operation,
        millis // 1000,
        increment,
        key=Int64(7),
        ns={"db": "inventory", "coll": "customers"},
        wallTime=bson.DatetimeMS(millis),
        **more,
    )


def read(
    database: MongoDatabase, monkeypatch: pytest.MonkeyPatch, changes: Sequence[Event], **more: str
) -> list[tuple[str, str | None]]:
    """Keys and values of the records, with a zero in the place of the clock."""
    batches = [(changes, changes[-1]["_id"])]

    def cursor(_run: Run, progress: object = None) -> ScriptedCursor:
        return ScriptedCursor([((), token(1))] if progress is None else batches)

    monkeypatch.setattr(Run, "cursor", cursor)
    properties = database.properties(topic_prefix="fulfillment", **more)
    reader = Reader(PLAIN | properties | {"database.include.list": "inventory"})
    records = sum(2 if change["operationType"] == "delete" else 1 for change in changes)
    reader.until(records)
    reader.stop()
    assert {record["topic"] for record in reader.records} == {"fulfillment.inventory.customers"}
    return shown(reader.in_order())


def shown(records: Sequence[dict[str, Any]]) -> list[tuple[str, str | None]]:
    return [
        (record["key"], None if record["value"] is None else CLOCK.sub("0", record["value"]))
        for record in records
    ]


def source(millis: int, increment: int, transaction: str = '"lsid":null,"txnNumber":null') -> str:
    return (
        '"source":{"version":"3.6.3.Final","connector":"mongodb","name":"fulfillment",'
        f'"ts_ms":{millis},"snapshot":"false","db":"inventory","sequence":null,'
        f'"ts_us":{millis}000,"ts_ns":{millis}000000,"collection":"customers",'
        f'"ord":{increment},{transaction},"wallTime":{millis}}}'
    )


def test_an_insert(mongo_database: MongoDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    records = read(
        mongo_database, monkeypatch, [change("insert", 1714521601004, 2, fullDocument=ANA)]
    )
    after = '{"_id": {"$numberLong": "7"},"name": "Ana","at": {"$date": 1714521600250}}'
    assert records == [
        (
            '{"id":"7"}',
            f'{{"before":null,"after":{json.dumps(after)},"updateDescription":null,'
            + source(1714521601004, 2)
            + ',"op":"c","ts_ms":0,"transaction":null}',
        )
    ]


@pytest.mark.parametrize("has_images", [True, False])
def test_an_update_inside_of_a_transaction(
    mongo_database: MongoDatabase, monkeypatch: pytest.MonkeyPatch, has_images: bool
) -> None:
    images = {"fullDocument": ANA_MARIA, "fullDocumentBeforeChange": ANA} if has_images else {}
    description = {
        "updatedFields": {"n": Int64(5), "name": "Ana Maria"},
        "removedFields": ["at"],
        "truncatedArrays": [],
    }
    update = change(
        "update",
        1714521700000,
        1,
        updateDescription=description,
        lsid=SESSION,
        txnNumber=Int64(3),
        **images,
    )
    mode = "change_streams_update_full_with_pre_image" if has_images else "change_streams"
    ((key, value),) = read(mongo_database, monkeypatch, [update], capture_mode=mode)
    before = '{"_id": {"$numberLong": "7"},"name": "Ana","at": {"$date": 1714521600250}}'
    after = '{"_id": {"$numberLong": "7"},"name": "Ana Maria","n": {"$numberLong": "5"}}'
    session = (
        '{"id": {"$binary": "ERERESIiMzNERFVVVVVVVQ==","$type": "04"},'
        '"uid": {"$binary": "AQI=","$type": "00"}}'
    )
    transaction = f'"lsid":{json.dumps(session)},"txnNumber":3'
    assert key == '{"id":"7"}'
    assert value == (
        f'{{"before":{json.dumps(before if has_images else None)},'
        f'"after":{json.dumps(after if has_images else None)},'
        '"updateDescription":{"removedFields":["at"],'
        r'"updatedFields":"{\"n\": 5, \"name\": \"Ana Maria\"}","truncatedArrays":null},'
        + source(1714521700000, 1, transaction)
        + ',"op":"u","ts_ms":0,"transaction":null}'
    )


def test_a_replacement(mongo_database: MongoDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced = change("replace", 1714521750000, 4, fullDocument=ANA_MARIA)
    after = '{"_id": {"$numberLong": "7"},"name": "Ana Maria","n": {"$numberLong": "5"}}'
    assert read(mongo_database, monkeypatch, [replaced]) == [
        (
            '{"id":"7"}',
            f'{{"before":null,"after":{json.dumps(after)},"updateDescription":null,'
            + source(1714521750000, 4)
            + ',"op":"u","ts_ms":0,"transaction":null}',
        )
    ]


def test_a_delete_without_an_image_and_its_tombstone(
    mongo_database: MongoDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read(mongo_database, monkeypatch, [change("delete", 1714521800000, 1)]) == [
        (
            '{"id":"7"}',
            '{"before":null,"after":null,"updateDescription":null,'
            + source(1714521800000, 1)
            + ',"op":"d","ts_ms":0,"transaction":null}',
        ),
        ('{"id":"7"}', None),
    ]


def test_the_last_document_of_a_snapshot(
    mongo_database: MongoDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = Moment(1714521900777123)
    monkeypatch.setattr(Moment, "now", staticmethod(lambda: moment))
    name = mongo_database.name
    customers = mongo_database.collections["customers"]
    customers.insert_many([{"_id": Int64(6)}, {"_id": Int64(7), "name": "Ana"}])
    properties = mongo_database.properties(topic_prefix="fulfillment", snapshot_mode="initial_only")
    reader = Reader(properties)
    reader.until(2)
    reader.stop()
    (_, first), (key, last) = shown(reader.in_order())
    after = '{"_id": {"$numberLong": "7"},"name": "Ana"}'
    expected = (
        f'{{"before":null,"after":{json.dumps(after)},"updateDescription":null,'
        '"source":{"version":"3.6.3.Final","connector":"mongodb","name":"fulfillment",'
        f'"ts_ms":1714521900777,"snapshot":"last","db":"{name}","sequence":null,'
        '"ts_us":1714521900777123,"ts_ns":1714521900777123000,"collection":"customers",'
        '"ord":-1,"lsid":null,"txnNumber":null,"wallTime":null},'
        '"op":"r","ts_ms":0,"transaction":null}'
    )
    assert (key, last) == ('{"id":"7"}', expected)
    shorter = r"{\"_id\": {\"$numberLong\": \"6\"}}"
    assert first == expected.replace(json.dumps(after)[1:-1], shorter).replace("last", "true")
