"""Records that are not of the log have places of their own, which only rise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connectors.postgresql.harness import Reader, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres
HEARTBEATS = "__debezium-heartbeat.headrace"
NOTIFICATIONS = "notifications"


TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, v text);"
    "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data text);"
    "INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 30) i"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "signals.jsonl"


@pytest.fixture
def reader(tables: Database, file: Path) -> Iterator[Reader]:
    """Slices by position, as the file sink has them: records come in the order of their slices."""
    started_reader = Reader(
        tables.properties()
        | {
            "table.include.list": "public\\.t",
            "snapshot.mode": "no_data",
            "heartbeat.interval.ms": "1",
            "notification.enabled.channels": "sink",
            "notification.sink.topic.name": NOTIFICATIONS,
            "signal.enabled.channels": "source,file",
            "signal.file": str(file),
            "signal.poll.interval.ms": "0",
            "incremental.snapshot.chunk.size": "10",
            "headrace.slice.order": "position",
        }
    )
    started_reader.step()
    yield started_reader
    started_reader.stop()


def have_rising_places(reader: Reader) -> bool:
    """Whether every record has a place after the record that was delivered before it."""
    places = [record["sequence"] for record in reader.records]
    return places == sorted(set(places))


def count(reader: Reader, topic: str) -> int:
    return sum(record["topic"] == topic for record in reader.records)


def notifications_of(reader: Reader, kind: str) -> int:
    """The number of notifications of `kind`."""
    notifications = [r for r in reader.records if r["topic"] == NOTIFICATIONS]
    return sum(json.loads(record["value"])["type"] == kind for record in notifications)


def test_a_notification_and_a_heartbeat_of_one_range_have_places_of_their_own(
    reader: Reader,
) -> None:
    wait_for(lambda: reader.step() and count(reader, HEARTBEATS) >= 3)
    assert count(reader, NOTIFICATIONS) == 1
    assert have_rising_places(reader)


def test_chunks_without_watermarks_come_between_heartbeats(
    reader: Reader, tables: Database, file: Path
) -> None:
    wait_for(lambda: reader.step() and count(reader, HEARTBEATS) >= 3)
    ask = {"type": "execute-snapshot", "data": {"data-collections": ["public.t"]}}
    file.write_text(json.dumps(ask) + "\n")
    wait_for(lambda: reader.step() and notifications_of(reader, "COMPLETED") == 1)
    heartbeat_count = count(reader, HEARTBEATS)
    wait_for(lambda: reader.step() and count(reader, HEARTBEATS) > heartbeat_count)
    assert count(reader, "headrace.public.t") == 30
    assert have_rising_places(reader)


def test_places_inside_a_transaction_rise_while_heartbeats_cut_it(
    tables: Database, reader: Reader
) -> None:
    properties = dict(reader.properties) | {
        "signal.data.collection": "public.signals",
        "headrace.range.max.rows": "1",
    }
    reader = Reader(properties)
    reader.step()
    tables.execute(
        "BEGIN; INSERT INTO t VALUES (100), (101), (102);"
        """INSERT INTO signals VALUES ('1', 'execute-snapshot',
           '{"data-collections": ["public.t"]}');"""
        "INSERT INTO t VALUES (103), (104); COMMIT"
    )
    wait_for(lambda: reader.step() and notifications_of(reader, "COMPLETED") == 1)
    reader.stop()
    assert any("txn" in offset for offset in reader.offsets)
    assert notifications_of(reader, "STARTED") == 1
    assert have_rising_places(reader)


def test_a_blocking_snapshot_comes_after_the_heartbeats_before_it(
    reader: Reader, tables: Database, file: Path
) -> None:
    wait_for(lambda: reader.step() and count(reader, HEARTBEATS) >= 3)
    ask = {"type": "execute-snapshot", "data": {"data-collections": ["public.t"]}}
    blocking = {"type": "execute-snapshot", "data": ask["data"] | {"type": "blocking"}}
    for number, signal in enumerate((ask, blocking, ask, blocking), 1):
        file.write_text(json.dumps(signal) + "\n")
        wait_for(lambda: reader.step() and notifications_of(reader, "COMPLETED") == number)  # noqa: B023
    heartbeat_count = count(reader, HEARTBEATS)
    wait_for(lambda: reader.step() and count(reader, HEARTBEATS) > heartbeat_count)
    assert count(reader, "headrace.public.t") == 120
    assert have_rising_places(reader)
