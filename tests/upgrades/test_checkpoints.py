"""Checkpoints of former releases, in the middle of a snapshot and of the stream: this version goes
on from them, and loses and repeats nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.databases.database import MARKS
from tests.resident.resident import Resident
from tests.upgrades.databases import StoredDatabase, stored_databases
from tests.upgrades.kafka import StoredKafka
from tests.upgrades.record import kafka_properties, replica_blocks
from tests.upgrades.replicas import Replica
from tests.upgrades.runs import KAFKA, REPLICA, SNAPSHOT, STREAM, CheckpointRun, check

RELEASES = sorted(Path(__file__).parent.glob("[0-9]*"))
BLOCKS = {SNAPSHOT: [1, 2, 3], STREAM: [0, 1, 2, 3], KAFKA: [2, 3]}
"""The blocks of changes that were committed after each run had its position in the log."""


def stored(run: str = STREAM, *, of_chaos: Sequence[str] = ()) -> list[Any]:
    """Every release with every database that it has checkpoints of this run of; `make chaos` has
    those named in `of_chaos`, and all of releases before the last one."""
    chaos = [pytest.mark.chaos]
    return [
        pytest.param(
            folder,
            marks=[
                MARKS[folder.name],
                *(chaos if release is not RELEASES[-1] or folder.name in of_chaos else []),
            ],
            id=f"{release.name}-{folder.name}",
        )
        for release in RELEASES
        for folder in sorted(release.iterdir())
        if (folder / f"{run}.tar.xz").exists()
    ]


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> Path:
    """The folder with a release's checkpoints of a database."""
    path: Path = request.param
    return path


@pytest.fixture
def database(folder: Path, request: pytest.FixtureRequest) -> Iterator[StoredDatabase]:
    """The database as it was stored, on a server of its own."""
    needed = {"db2": "derby_server", "mongodb": "mongodb"}.get(folder.name)
    if needed is not None:
        request.getfixturevalue(needed)  # skips without such a server
    restored = stored_databases()[folder.name](folder / "server.tar.xz")
    try:
        restored.restore()
        yield restored
    finally:
        restored.close()


@pytest.mark.spark
@pytest.mark.parametrize("folder", stored(of_chaos=["mongodb", "db2"]), indirect=True)
def test_a_killed_run_of_a_former_release_continues_without_loss_or_duplicates(
    folder: Path, database: StoredDatabase, tmp_path: Path, resident: Resident
) -> None:
    for name in (STREAM, SNAPSHOT):
        run = CheckpointRun(database, name, tmp_path / name, resident)
        run.restore(folder / f"{name}.tar.xz")
        before = run.rows()
        try:
            run.finish(run.events, BLOCKS[name][-1])
        finally:
            run.close()
        assert run.rows() > before
        check(database, run.events(), BLOCKS[name])


@pytest.mark.spark
# What the sink has in a checkpoint is of no database.
@pytest.mark.parametrize("folder", stored(KAFKA, of_chaos=["mongodb"]), indirect=True)
def test_a_killed_run_into_kafka_of_a_former_release_continues_without_loss_or_duplicates(
    folder: Path, database: StoredDatabase, tmp_path: Path, resident: Resident
) -> None:
    kafka = StoredKafka()
    run = CheckpointRun(database, KAFKA, tmp_path / KAFKA, resident)
    try:
        kafka.restore(folder / "kafka.tar.xz")
        run.use(**kafka_properties(kafka))
        run.restore(folder / f"{KAFKA}.tar.xz")
        topic = f"{run.topic_prefix}.{database.topics}"
        run.finish(lambda: kafka.values(topic), BLOCKS[KAFKA][-1])
        check(database, kafka.values(topic), BLOCKS[KAFKA])
    finally:
        run.close()
        kafka.close()


@pytest.mark.spark
@pytest.mark.parametrize(
    "folder", stored(REPLICA, of_chaos=["mongodb", "oracle", "db2"]), indirect=True
)
def test_the_replica_of_a_killed_run_of_a_former_release_becomes_equal_to_its_table(
    folder: Path, database: StoredDatabase, tmp_path: Path
) -> None:
    replica = Replica(database, tmp_path / REPLICA)
    run = CheckpointRun(database, REPLICA, tmp_path / REPLICA, **replica.properties())
    run.restore(folder / f"{REPLICA}.tar.xz")
    before = replica.version()
    blocks = replica_blocks(database, 3)
    assert not replica.has_all_of(blocks)
    try:
        run.finish_when(lambda: replica.has_all_of(blocks))
    finally:
        run.close()
    assert replica.version() != before
