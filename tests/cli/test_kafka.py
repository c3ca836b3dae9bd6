"""`headrace run` and `check` with configurations of Debezium Server and Kafka Connect."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing.embedded import PostgresServer
from tests.cli.commands import configuration
from tests.resident.resident import Resident
from tests.servers.kafka import KafkaServer
from tests.servers.sources import PostgresSource
from tests.sinks.kafka.records import Record, fresh_name, read_topic

pytestmark = [pytest.mark.postgres, pytest.mark.spark]


@pytest.fixture
def source() -> Iterator[PostgresSource]:
    with PostgresServer() as server:
        yield PostgresSource(server)


def debezium_server(source: PostgresSource, kafka: KafkaServer, prefix: str) -> str:
    """A configuration of Debezium Server, as its documentation writes it."""
    of_source = configuration(source, topic_prefix=prefix)
    serializer = "org.apache.kafka.common.serialization.StringSerializer"
    lines = {
        "debezium.sink.type": "kafka",
        "debezium.sink.kafka.producer.bootstrap.servers": kafka.address,
        "debezium.sink.kafka.producer.key.serializer": serializer,
        "debezium.sink.kafka.producer.value.serializer": serializer,
        "debezium.transforms": "unwrap",
        "debezium.transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "debezium.transforms.unwrap.delete.tombstone.handling.mode": "tombstone",
        **{f"debezium.source.{name}": text for name, text in of_source.items()},
    }
    return "".join(f"{name}={text}\n" for name, text in lines.items())


def connect_body(source: PostgresSource, kafka: KafkaServer, prefix: str) -> str:
    config = {
        **configuration(source, topic_prefix=prefix),
        "headrace.sink.type": "kafka",
        "producer.override.bootstrap.servers": kafka.address,
        "topic.creation.default.partitions": 3,
        "topic.creation.default.replication.factor": 1,
        "headrace.range.direct.max.bytes": 0,
        "headrace.slices": 2,
    }
    return json.dumps({"name": prefix, "config": config})


def numbers(records: list[Record]) -> Counter[int]:
    return Counter(json.loads(record.key or b"")["id"] for record in records)


def run(resident: Resident, file: Path, state: Path) -> str:
    completed = resident.run("run", str(file), "--checkpoint", str(state), "--idle-exit", "1")
    assert completed.returncode == 0, completed.stderr
    return completed.stderr


def test_debezium_servers_file_runs_unchanged_and_continues(
    tmp_path, source, kafka, resident: Resident
):
    prefix, file, state = fresh_name(), tmp_path / "application.properties", tmp_path / "state"
    file.write_text(debezium_server(source, kafka, prefix))
    source.insert(1, 50, "x")
    assert "50 events" in run(resident, file, state)
    source.insert(51, 60, "y")
    source.delete(7)
    assert "11 events" in run(resident, file, state)
    records = read_topic(kafka, f"{prefix}.public.t")
    assert numbers(records) == {number: 2 if number == 7 else 1 for number in range(1, 61)}
    values = defaultdict(list)
    for record in records:
        row = None if record.value is None else json.loads(record.value)
        value = row and row["v"]
        values[json.loads(record.key or b"")["id"]].append(value)
    assert (values[7], values[60]) == (["x", None], ["y"])


@pytest.mark.chaos
def test_a_body_of_kafka_connect_is_sent_by_tasks(tmp_path, source, kafka, resident: Resident):
    prefix, file, state = fresh_name(), tmp_path / "connector.json", tmp_path / "state"
    file.write_text(connect_body(source, kafka, prefix))
    source.insert(1, 5000, "x")
    assert "5,000 events" in run(resident, file, state)
    source.insert(5001, 10_000, "y" * 20)
    assert "5,000 events" in run(resident, file, state)
    records = read_topic(kafka, f"{prefix}.public.t")
    assert numbers(records) == dict.fromkeys(range(1, 10_001), 1)
    assert {record.partition for record in records} == {0, 1, 2}
    assert {name for name, _ in records[0].headers or []} > {"__debezium.context.taskId"}


def test_check_looks_at_kafka_too(tmp_path, source, kafka, resident: Resident):
    file = tmp_path / "application.properties"
    file.write_text(debezium_server(source, kafka, fresh_name()))
    assert "[kafka.transactions]" in resident.run("check", str(file)).stdout
    file.write_text(file.read_text().replace(kafka.address, "127.0.0.1:1"))
    refused = resident.run("check", str(file))
    assert refused.returncode == 1
    assert "[kafka.kafka_unreachable]" in refused.stdout
