"""kill -9 of every process while signals come from Kafka."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.databases.database import ACCOUNTS, ChaosDatabase
from tests.chaos.run import Run, wait_for
from tests.servers.kafka import KafkaServer


@pytest.fixture
def run(database: ChaosDatabase, tmp_path: Path, kafka: KafkaServer) -> Iterator[Run]:
    topic = f"chaos-signal-{database.name}"
    kafka.create_topic(topic)
    new_run = Run(
        database,
        tmp_path,
        snapshot_mode="no_data",
        signal_enabled_channels="kafka",
        signal_kafka_topic=topic,
        signal_kafka_bootstrap_servers=kafka.address,
        signal_kafka_groupId=topic,
        signal_poll_interval_ms="100",
        incremental_snapshot_chunk_size="20",
        notification_enabled_channels="sink",
        notification_sink_topic_name="notifications",
    )
    yield new_run
    new_run.close()


@pytest.mark.spark
@pytest.mark.chaos
def test_each_signal_is_applied_once_whichever_process_is_killed(
    run: Run, kafka: KafkaServer
) -> None:
    database = run.database
    database.create()
    run.ensure()
    wait_for(run.tail, lambda: run.planned() >= 1, pause=0.1)
    kinds = []
    for kind in ("source", "jvm", "driver", "everything"):
        kinds.append(kind)
        data = {"data-collections": [database.identifier("accounts")]}
        signal = {"id": kind, "type": "execute-snapshot", "data": data}
        kafka.send(f"chaos-signal-{database.name}", ("chaos", json.dumps(signal)))
        planned = run.planned()
        # Some time between planning the signal and finishing its snapshot.
        wait_for(run.tail, lambda planned=planned: run.planned() > planned)
        run.kill(run.find(kind))
        wait_for(run.tail, lambda: completed(run) == kinds, pause=0.2)
    run.end()
    assert signals_of(run, "STARTED") == kinds
    assert completed(run) == kinds
    read = [database.change(v).id for v in values(run) if v.get("op") == "r"]
    assert sorted(read) == sorted(list(range(1, ACCOUNTS + 1)) * len(kinds))


def completed(run: Run) -> list[str]:
    run.ensure()
    return signals_of(run, "COMPLETED")


def signals_of(run: Run, kind: str) -> list[str]:
    """Ids of the signals of these notifications."""
    return [v["id"] for v in values(run) if v.get("type") == kind]


def values(run: Run) -> list[dict]:
    if not run.output.exists():
        return []
    lines = run.output.read_text().splitlines()[: run.lines()]
    record_values = [json.loads(line)["value"] for line in lines]
    return [value for value in record_values if value is not None]
