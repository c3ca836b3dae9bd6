"""Snapshots that signals ask for, by every channel."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.testing.mongodb import MongoServer
from tests.connectors.mongodb.harness import PLAIN, Reader
from tests.connectors.mongodb.reading.test_incremental import (
    ask,
    begin,
    change_until,
    check,
    events,
    notified,
    until_notified,
)
from tests.connectors.mongodb.reading.test_snapshots import folded, read, value
from tests.servers.kafka import KafkaServer
from tests.servers.mongodb import MongoDatabase
from tests.servers.mongodb_kinds import GuardedServer

pytestmark = pytest.mark.mongodb
COUNT = 60


def fill(database: MongoDatabase) -> Any:
    things = database.collections["things"]
    things.insert_many([{"_id": i, "n": 0} for i in range(COUNT)])
    return things


def done(run: Reader) -> bool:
    return "COMPLETED" in [each["type"] for each in notified(run)]


def documents(run: Reader) -> int:
    """The number of documents that were read."""
    return sum(event.get("op") == "r" for event in run.events())


@pytest.fixture
def topic(kafka: KafkaServer) -> str:
    """One that exists."""
    name = f"signals-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name)
    return name


def channel(name: str, tmp_path: Path) -> dict[str, str]:
    return {
        "signal_enabled_channels": name,
        "signal_file": str(tmp_path / "signals.jsonl"),
        "signal_poll_interval_ms": "0",
    }


@pytest.mark.parametrize("name", ["source", "file"])
@pytest.mark.parametrize("kind", ["incremental", "blocking"])
def test_a_signal_that_is_sent_from_python_reads_documents(
    mongo_database: MongoDatabase, tmp_path: Path, name: str, kind: str
) -> None:
    fill(mongo_database)
    mongo_database.collections.create_collection("signals")
    run = begin(mongo_database, **channel(name, tmp_path))
    collection = f"{mongo_database.name}.things"
    headrace.signal(
        dict(run.properties), "execute-snapshot", {"data-collections": [collection], "type": kind}
    )
    run.step_until(lambda: len(read(events(run))) >= COUNT)
    assert sorted(read(run)) == sorted(("things", str(i)) for i in range(COUNT))
    snapshot_marks = {event["source"]["snapshot"] for event in run.events() if event["op"] == "r"}
    assert snapshot_marks == ({"incremental"} if kind == "incremental" else {"true", "last"})
    run.stop()


@pytest.mark.parametrize("read_only", ["false", "true"])
def test_a_message_of_kafka_starts_an_incremental_snapshot_once(
    mongo_database: MongoDatabase, kafka: KafkaServer, topic: str, read_only: str
) -> None:
    things = fill(mongo_database)
    run = begin(
        mongo_database,
        read_only=read_only,
        signal_enabled_channels="kafka",
        signal_kafka_topic=topic,
        signal_kafka_bootstrap_servers=kafka.address,
        signal_kafka_groupId=topic,
        signal_poll_interval_ms="100",
        **({"signal_data_collection": ""} if read_only == "true" else {}),
    )
    data = {"data-collections": [f"{mongo_database.name}.things"]}
    kafka.send(topic, ("headrace", json.dumps({"type": "execute-snapshot", "data": data})))
    until_notified(run, "STARTED")
    change_until(run, things, lambda: done(run), restarts=True)
    assert [each["type"] for each in notified(run)].count("COMPLETED") == 1
    assert run.offsets[-1]["signals"]["kafka"] == [[topic, 0, 1]]
    written = read_only == "false"
    assert ("signals" in mongo_database.collections.list_collection_names()) == written
    check(run, things)


def test_a_blocking_snapshot_holds_up_the_stream_and_continues_after_restarts(
    mongo_database: MongoDatabase,
) -> None:
    things = mongo_database.collections["things"]
    things.insert_many([{"_id": i, "n": 0, "text": "x" * 100} for i in range(3000)])
    run = begin(mongo_database, headrace_snapshot_chunk_bytes="40kB", headrace_slices="2")
    things.update_one({"_id": 7}, {"$set": {"n": 1}})
    ask(mongo_database, "things", type="blocking")
    run.step_until(lambda: "snapshot" in run.offsets[-1])
    restarts = 0
    while "snapshot" in run.offsets[-1]:
        things.update_one({"_id": restarts * 31}, {"$set": {"n": 2 + restarts}})
        things.delete_one({"_id": 2999 - restarts})
        run.restart().step()
        restarts += 1
    assert restarts > 3
    until_notified(run, "COMPLETED")
    count = len(read(events(run)))
    things.insert_one({"_id": "end"})
    run.step_until(lambda: '"end"' in folded(events(run), "things"))
    assert folded(run, "things") == {json.dumps(row["_id"]): row for row in things.find()}
    assert len(set(read(run))) == len(read(run)) == count
    stream_events = [value(row) for row in run.in_order() if row["value"]]
    operations = "".join(e["op"] for e in stream_events if e["source"]["collection"] == "things")
    assert operations[0] == "u"
    # What changed meanwhile comes after the last document.
    assert operations[1 : count + 1] == "r" * count
    sequences = [record["sequence"] for record in run.records]
    assert len(set(sequences)) == len(sequences)
    run.stop()


@pytest.fixture(scope="module")
def guarded(mongodb_servers: Callable[[str], MongoServer]) -> Iterator[GuardedServer]:
    assert mongodb_servers("plain").running  # skips without such a server
    with GuardedServer() as server:
        server.start()
        server.add_user("reader", {"role": "read", "db": "shop"})
        yield server


@pytest.mark.parametrize("kind", ["incremental", "blocking"])
def test_a_user_who_may_only_read_one_database_gets_every_kind_of_snapshot(
    guarded: GuardedServer, tmp_path: Path, kind: str
) -> None:
    with guarded.connect_to_member() as client:
        client.drop_database("shop")
        database = MongoDatabase(guarded, "shop", client)
        things = fill(database)
        properties = database.properties(
            **channel("file", tmp_path),
            read_only="true",
            snapshot_mode="initial",
            mongodb_user="reader",
            mongodb_password="reader",
            capture_scope="database",
            capture_target="shop",
            incremental_snapshot_chunk_size="7",
            notification_enabled_channels="sink",
            notification_sink_topic_name="notifications",
            errors_max_retries="0",
        )
        properties["mongodb.connection.string"] = guarded.uri
        run = Reader(PLAIN | properties)
        run.open().validate(None)
        run.step_until(lambda: len(run.offsets) > 1 and "snapshot" not in run.offsets[-1])
        assert documents(run) == COUNT
        events(run)
        headrace.signal(
            properties, "execute-snapshot", {"data-collections": ["shop.things"], "type": kind}
        )
        change_until(run, things, lambda: done(run))
        assert documents(run) > COUNT
        assert database.collections.list_collection_names() == ["things"]
        check(run, things)
