"""`format("headrace_kafka")` takes any DataFrame with the columns of records, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.resident.resident import Resident
from tests.servers.kafka import KafkaServer
from tests.sinks.kafka.records import Record, read_topic
from tests.spark.supervised import Run

pytestmark = pytest.mark.spark


def ids(records: list[Record]) -> list[int]:
    return sorted(json.loads(record.key or b"")["id"] for record in records)


TOPIC = "t"  # of all numbers


def stream_numbers(tmp_path: Path, kafka: KafkaServer, resident: Resident) -> None:
    """13,000 numbers into the topic, in two runs; the second one does a micro-batch again."""
    if TOPIC in kafka.topics():
        kafka.delete_topic(TOPIC)
    (tmp_path / "broker").write_text(kafka.address)
    (tmp_path / "head").write_text("12000")
    (tmp_path / "die").touch()
    (tmp_path / "void").touch()
    assert Run(tmp_path, resident, sink="kafka", idle_exit=5).summary()["reason"] == "idle"
    first = read_topic(kafka, TOPIC)
    assert ids(first) == list(range(12_000))
    assert len({record.partition for record in first}) == 3

    # Spark forgets that it has finished the last micro-batch, and does it again.
    commits = sorted(
        (tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda p: int(p.name)
    )
    commits[-1].unlink()
    (tmp_path / "head").write_text("13000")
    Run(tmp_path, resident, sink="kafka", idle_exit=5).summary()


def test_every_row_arrives_once_whatever_is_repeated(
    tmp_path: Path, kafka: KafkaServer, resident: Resident
) -> None:
    stream_numbers(tmp_path, kafka, resident)
    assert ids(read_topic(kafka, TOPIC)) == list(range(13_000))


@pytest.mark.chaos
def test_an_older_copy_of_the_checkpoint_is_reported(
    tmp_path: Path, kafka: KafkaServer, resident: Resident
) -> None:
    stream_numbers(tmp_path, kafka, resident)
    for log in ("commits", "offsets"):
        files = sorted((tmp_path / "checkpoint" / log).glob("[0-9]*"), key=lambda p: int(p.name))
        for file in files[1:]:
            file.unlink()
    out = Run(tmp_path, resident, sink="kafka", idle_exit=5).wait()
    assert "failed kafka.older_checkpoint" in out
    assert len(read_topic(kafka, TOPIC)) == 13_000
