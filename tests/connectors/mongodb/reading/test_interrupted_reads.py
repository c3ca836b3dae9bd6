"""An election, or cursors that are killed, while existing documents are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from headrace.connect.deadline import Deadline
from headrace.spark.task import read_slice
from headrace.testing.mongodb import MongoServer
from tests.connectors.mongodb.reading.test_incremental import ask, begin, events, notified
from tests.connectors.mongodb.reading.test_snapshots import folded, read, reader
from tests.servers.mongodb import MongoDatabase, during_reads, kill_cursors, step_down

pytestmark = pytest.mark.mongodb

COUNT = 2000
FATAL = {"errors_max_retries": "0"}
"""Properties for which an error that is not retried ends the test."""
Disturbance = Callable[[MongoDatabase], object]


def kill_reads(database: MongoDatabase) -> int:
    """Kills every cursor on the database's collections; how many there were."""
    stages: list[dict[str, object]] = [
        {"$currentOp": {"allUsers": True, "idleCursors": True}},
        {"$match": {"cursor": {"$exists": True}, "ns": {"$regex": f"^{database.name}[.]"}}},
    ]
    with database.server.connect() as client:
        cursors = list(client.admin.aggregate(stages))
        for cursor in cursors:
            name = cursor["ns"].partition(".")[2]
            command = ("killCursors", name)
            client[database.name].command(*command, cursors=[cursor["cursor"]["cursorId"]])
        return len(cursors)


def elect(database: MongoDatabase) -> None:
    step_down(database.server)


def fill(database: MongoDatabase) -> Any:
    things = database.collections["things"]
    things.insert_many([{"_id": i, "n": 0, "text": "x" * 100} for i in range(COUNT)])
    return things


@pytest.mark.parametrize(("disturb", "times"), [(kill_reads, 5), (elect, 2)])
def test_a_snapshot_continues(
    mongo_database: MongoDatabase, disturb: Disturbance, times: int
) -> None:
    things = fill(mongo_database)
    run = reader(mongo_database, **FATAL, snapshot_fetch_size="100", headrace_slices="1")
    run.step()
    end = run.plan()
    hits: list[object] = []
    (part,) = run.open().slices(run.offsets[-1], end)
    for number, batch in enumerate(read_slice(part, run.config)):
        run.records += batch.to_pylist()
        if number % 3 == 1 and len(hits) < times:
            # A batch is held back, so the cursor is open.
            hits.append(disturb(mongo_database))
    run.offsets.append(end)
    assert len(hits) == times
    assert 0 not in hits
    assert [key for _, key in read(run)] == [str(i) for i in range(COUNT)]
    disturb(mongo_database)
    things.insert_one({"_id": "later"})
    run.until(COUNT + 1)
    run.stop()


@pytest.mark.parametrize(("disturb", "times"), [(kill_cursors, 5), (step_down, 2)])
def test_an_incremental_snapshot_and_its_stream_continue(
    mongo_database: MongoDatabase, disturb: Callable[[MongoServer], object], times: int
) -> None:
    things = fill(mongo_database)
    run = begin(
        mongo_database,
        incremental_snapshot_chunk_size="100",
        retriable_restart_connector_wait_ms="50",
    )
    number, deadline = 0, Deadline(300)
    server = mongo_database.server
    with during_reads("things", lambda: disturb(server), times) as acts:
        ask(mongo_database, "things")
        while "COMPLETED" not in (kinds := [each["type"] for each in notified(run)]):
            assert "ABORTED" not in kinds
            assert not deadline.is_over
            number += 1
            things.update_one({"_id": number * 37 % COUNT}, {"$set": {"n": number}})
            run.step()
    assert len(acts) == times
    things.insert_one({"_id": "end"})
    events(run).step_until(lambda: '"end"' in folded(events(run), "things"))
    assert folded(run, "things") == {json.dumps(row["_id"]): row for row in things.find()}
    keys = read(run)
    assert len(keys) == len(set(keys))
    run.stop()
