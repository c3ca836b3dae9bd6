"""Record checkpoints with this version: `python -m tests.upgrades.record FOLDER [DATABASE …]`.

For each database: its data after all changes, and the state of runs that were killed within a
snapshot (`snapshot_run`), while they streamed into a file (`stream_run`), of PostgreSQL and MongoDB
into Kafka (`kafka_run`), and into a replica (`replica_run`).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.upgrades.databases import ROWS, StoredDatabase, stored_databases
from tests.upgrades.kafka import StoredKafka
from tests.upgrades.replicas import Replica
from tests.upgrades.runs import KAFKA, REPLICA, SNAPSHOT, STREAM, CheckpointRun

_INTO_KAFKA = ("postgresql", "mongodb")
_READ, _STREAMED = 400, 30
"""Rows of the snapshot, and changes of the stream, after which a run is killed."""


def record(database: StoredDatabase, target: Path, folder: Path) -> None:
    """Write the archives of one database to `target`; `folder` is a temporary one."""
    database.create()
    stream = CheckpointRun(database, STREAM, folder / STREAM)
    snapshot = CheckpointRun(database, SNAPSHOT, folder / SNAPSHOT)
    try:
        stream.start()
        stream.wait_for(lambda: stream.rows() >= ROWS)
        database.apply(0)
        stream.kill_when(lambda: stream.rows() >= ROWS + _STREAMED)
        snapshot.start()
        snapshot.kill_when(lambda: snapshot.rows() >= _READ)
    finally:
        stream.close()
        snapshot.close()
    rows = snapshot.rows()
    assert rows < ROWS, "the snapshot was complete"
    database.apply(1)
    with _replica_run(database, target, folder):
        if database.name in _INTO_KAFKA:
            _record_kafka(database, target, folder)
        else:
            database.apply(2)
    database.apply(3)
    database.store()
    for run in (stream, snapshot):
        run.store(target / f"{run.name}.tar.xz")
    print(f"{database.name}: stream run {stream.rows()} rows, snapshot run {rows}")


def _record_kafka(database: StoredDatabase, target: Path, folder: Path) -> None:
    kafka = StoredKafka()
    run = CheckpointRun(database, KAFKA, folder / KAFKA)
    try:
        kafka.start()
        run.use(**kafka_properties(kafka))
        topic = f"{run.topic_prefix}.{database.topics}"
        kafka.create_topic(topic)
        run.start()
        run.wait_for(
            lambda: (run.state / "checkpoint" / "commits" / "0").exists()
        )  # it has a position
        database.apply(2)
        run.kill_when(lambda: sum(1 for _ in kafka.values(topic)) >= _STREAMED)
        kafka.store(target / "kafka.tar.xz")
        run.store(target / f"{KAFKA}.tar.xz")
    finally:
        run.close()
        kafka.close()


@contextmanager
def _replica_run(database: StoredDatabase, target: Path, folder: Path) -> Iterator[None]:
    """A replica of the table as it is now, which is killed when it has the changes of block 2."""
    replica = Replica(database, folder / REPLICA)
    run = CheckpointRun(database, REPLICA, folder / REPLICA, **replica.properties())
    try:
        run.start()
        run.wait_for(lambda: replica.has_all_of(replica_blocks(database, 1)))
        yield
        run.kill_when(lambda: replica.has_all_of(replica_blocks(database, 2)))
        run.store(target / f"{REPLICA}.tar.xz")
    finally:
        run.close()


def replica_blocks(database: StoredDatabase, last: int) -> list[int]:
    """The blocks of changes that a replica has once `last` has happened."""
    return list(range(last + 1)) if database.rows_change else list(range(2, last + 1))


def kafka_properties(kafka: StoredKafka) -> dict[str, str]:
    """Properties of the run into Kafka, with `_` for `.`."""
    return {
        "headrace_sink_type": "kafka",
        "headrace_sink_kafka_producer_bootstrap_servers": kafka.address,
        "snapshot_mode": "no_data",
    }


def main(target: Path, names: list[str]) -> None:
    """Record the databases that are named, or all."""
    for name, kind in stored_databases().items():
        if names and name not in names:
            continue
        database = kind(target / name / "server.tar.xz")
        with tempfile.TemporaryDirectory(prefix="headrace-upgrades-") as folder:
            try:
                record(database, target / name, Path(folder))
            finally:
                database.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), sys.argv[2:])
