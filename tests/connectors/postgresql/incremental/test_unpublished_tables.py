"""A signal that asks for the rows of a table which is not published: its later changes would never
arrive, so it is left out, whatever the signal comes by."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.connectors.postgresql.harness import Reader, wait_for
from tests.servers.kafka import KafkaServer
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

TABLES = """
CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2);
CREATE TABLE late (id int PRIMARY KEY); INSERT INTO late VALUES (3);
CREATE TABLE parts (id int PRIMARY KEY) PARTITION BY LIST (id);
CREATE TABLE part PARTITION OF parts FOR VALUES IN (4); INSERT INTO parts VALUES (4);
CREATE TABLE hidden (id int PRIMARY KEY);
CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))
"""


def signal(kind: str, *tables: str) -> tuple[str, str]:
    """The id and the data of a signal."""
    data = {"data-collections": [f"public.{name}" for name in tables], "type": kind}
    return uuid.uuid4().hex, json.dumps(data)


@pytest.fixture(params=["source", "file", "kafka"])
def channel(
    request: pytest.FixtureRequest, tables: Database, tmp_path: Path
) -> tuple[dict[str, str], Callable[[str, str], None]]:
    """Properties, and what sends a signal by one of the channels."""
    name = request.param

    def by_table(identity: str, data: str) -> None:
        tables.execute("INSERT INTO signals VALUES (%s, 'execute-snapshot', %s)", (identity, data))

    def line(identity: str, data: str) -> str:
        return json.dumps({"id": identity, "type": "execute-snapshot", "data": json.loads(data)})

    def by_file(identity: str, data: str) -> None:
        with (tmp_path / "signals").open("a") as file:
            file.write(line(identity, data) + "\n")

    properties = {"signal.enabled.channels": name, "signal.poll.interval.ms": "50"}
    if name == "source":
        return properties | {"signal.data.collection": "public.signals"}, by_table
    if name == "file":
        return properties | {"signal.file": str(tmp_path / "signals")}, by_file
    kafka: KafkaServer = request.getfixturevalue("kafka")
    topic = f"signals-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(topic)
    producer = Producer({"bootstrap.servers": kafka.address})

    def by_kafka(identity: str, data: str) -> None:
        producer.produce(topic, line(identity, data).encode(), b"headrace")
        assert producer.flush(60) == 0

    return properties | {
        "signal.kafka.topic": topic,
        "signal.kafka.bootstrap.servers": kafka.address,
        "signal.kafka.groupId": f"group-{topic}",
    }, by_kafka


@pytest.mark.parametrize("kind", ["incremental", "blocking"])
def test_a_table_that_is_not_published_is_left_out_with_the_way_out(
    tables: Database,
    channel: tuple[dict[str, str], Callable[[str, str], None]],
    kind: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    more, send = channel
    name = tables.name
    tables.execute(
        f"CREATE PUBLICATION {name} FOR TABLE t, signals WITH (publish_via_partition_root = true)"
    )
    reader = Reader(
        tables.properties(publication_autocreate_mode="disabled", snapshot_mode="no_data")
        | {"table.exclude.list": r"public\.(hidden|part)"}
        | more
    )
    caplog.set_level(logging.WARNING)
    reader.step()

    def rows() -> list[tuple[str, int]]:
        read_events = [e for e in reader.events() if e.get("op") == "r"]
        return sorted((e["source"]["table"], e["after"]["id"]) for e in read_events)

    signal_id, data = signal(kind, "t", "late", "parts")
    send(signal_id, data)
    wait_for(lambda: reader.step() and len(rows()) == 2)
    assert rows() == [("t", 1), ("t", 2)]
    for table in ("late", "parts"):
        add = f'ALTER PUBLICATION "{name}" ADD TABLE "public"."{table}";'
        warning = f"The publication {name} lacks public.{table}: their changes do not arrive until"
        warnings = [
            text for text in caplog.messages if text.startswith(f"signal {signal_id} leaves")
        ]
        assert [warning in text and add in text for text in warnings].count(True) == 1

    # Nothing is left of this one. A table that is not captured is another matter.
    other, data = signal(kind, "late")
    send(other, data)
    wait_for(lambda: reader.step() and any(other in text for text in caplog.messages))
    ignored = next(text for text in caplog.messages if other in text)
    assert ignored.startswith(
        f"signal {other} is ignored: The publication {name} lacks public.late"
    )
    if kind == "incremental":
        hidden, data = signal(kind, "hidden")
        send(hidden, data)
        wait_for(lambda: reader.step() and "it is not captured" in caplog.text)

    # Published, it is read.
    tables.execute(f"ALTER PUBLICATION {name} ADD TABLE late, parts")
    send(*signal(kind, "late", "parts"))
    wait_for(lambda: reader.step() and len(rows()) == 4)
    reader.stop()
    assert rows() == [("late", 3), ("parts", 4), ("t", 1), ("t", 2)]
