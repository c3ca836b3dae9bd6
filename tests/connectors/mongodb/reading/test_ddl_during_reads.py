"""A collection is dropped, renamed or altered while its documents are read: nothing waits for ever,
what is read is what was there, and the other collections are whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from headrace.spark.task import read_slice
from tests.connectors.mongodb.harness import Reader
from tests.connectors.mongodb.reading.test_incremental import ask, begin, events, notified
from tests.connectors.mongodb.reading.test_snapshots import folded, read, reader
from tests.servers.mongodb import MongoDatabase, during_reads

pytestmark = pytest.mark.mongodb

COUNT = 4010  # the last chunk of an incremental snapshot is not full
FATAL = {"errors_max_retries": "0"}
"""Properties for which an error that is not retried ends the test."""
SMALL = FATAL | {
    "headrace_snapshot_chunk_bytes": "20kB",
    "headrace_slices": "1",
    "snapshot_fetch_size": "50",
}


def drop(database: MongoDatabase) -> None:
    database.collections["things"].drop()


def rename(database: MongoDatabase) -> None:
    database.collections["things"].rename("moved")


def alter(database: MongoDatabase) -> None:
    database.collections.command(
        "collMod", "things", validator={"text": {"$type": "string"}}, validationLevel="moderate"
    )


def index(database: MongoDatabase) -> None:
    database.collections["things"].create_index("text")


def drop_database(database: MongoDatabase) -> None:
    database.client.drop_database(database.name)


Change = Callable[[MongoDatabase], None]
CHANGES: list[Change] = [drop, rename, alter, index, drop_database]


def until_streamed(run: Reader) -> None:
    run.step_until(lambda: len(run.offsets) > 1 and "snapshot" not in run.offsets[-1])


def before_the_first_chunk(database: MongoDatabase, change: Change) -> Reader:
    run = reader(database, **SMALL)
    run.plan()
    change(database)
    until_streamed(run)
    return run


def between_chunks(database: MongoDatabase, change: Change) -> Reader:
    run = reader(database, **SMALL)
    run.step_until(lambda: ("things", "0") in read(run))
    assert len(read(run)) < COUNT  # more chunks are to come
    change(database)
    run.restart()
    until_streamed(run)
    return run


def within_a_chunk(database: MongoDatabase, change: Change) -> Reader:
    run = reader(database, **(SMALL | {"headrace_snapshot_chunk_bytes": "10MB"}))
    is_done = False
    while not is_done:
        end = run.plan()
        for part in run.open().slices(run.offsets[-1], end):
            for batch in read_slice(part, run.config):
                run.records += batch.to_pylist()
                if not is_done and ("things", "0") in read(run):
                    change(database)  # a batch is held back, so the cursor is open
                    is_done = True
        run.offsets.append(end)
    until_streamed(run)
    return run


def signalled(kind: str) -> Callable[[MongoDatabase, Change], Reader]:
    def read_on_signal(database: MongoDatabase, change: Change) -> Reader:
        run = begin(
            database,
            snapshot_mode="no_data",
            incremental_snapshot_chunk_size="100",
            retriable_restart_connector_wait_ms="50",
            **(SMALL | {"errors_max_retries": "3"}),
        )
        with during_reads("things", lambda: change(database), 1) as acts:
            ask(database, "things", "others", type=kind)
            run.step_until(lambda: acts and "COMPLETED" in [each["type"] for each in notified(run)])
        return events(run)

    read_on_signal.__name__ = kind
    return read_on_signal


MOMENTS = [before_the_first_chunk, between_chunks, within_a_chunk, signalled("incremental"),
           signalled("blocking")]  # fmt: skip
IN_EVERY_RUN = {
    (before_the_first_chunk, drop), (between_chunks, rename), (between_chunks, drop_database),
    (within_a_chunk, drop), (within_a_chunk, alter), (MOMENTS[3], drop), (MOMENTS[4], rename),
}  # fmt: skip
CELLS = [
    pytest.param(
        moment,
        change,
        id=f"{moment.__name__}-{change.__name__}",
        marks=[] if (moment, change) in IN_EVERY_RUN else [pytest.mark.chaos],
    )
    for moment, change in product(MOMENTS, CHANGES)
]


@pytest.mark.parametrize(("moment", "change"), CELLS)
def test_a_collection_may_change_while_it_is_read(
    mongo_database: MongoDatabase,
    moment: Callable[[MongoDatabase, Change], Reader],
    change: Change,
) -> None:
    things = [{"_id": i, "text": f"{i:0100}"} for i in range(COUNT)]
    others = [{"_id": i} for i in range(50)]
    mongo_database.collections["things"].insert_many(things)
    mongo_database.collections["others"].insert_many(others)
    run = moment(mongo_database, change)
    for name in ("things", "others"):
        mongo_database.collections[name].insert_one({"_id": "end", "text": ""})
    run.step_until(lambda: all('"end"' in folded(events(run), n) for n in ("things", "others")))
    rows_by_collection: dict[str, dict[str, Any]] = {
        name: folded(run, name) for name in ("things", "others")
    }
    for name, documents in (("things", things), ("others", others)):
        rows = {json.dumps(row["_id"]): row for row in documents}
        rest = {key: row for key, row in rows_by_collection[name].items() if key != '"end"'}
        assert rest.items() <= rows.items()
        is_whole = change in (alter, index) or (name == "others" and change is not drop_database)
        assert not is_whole or rest == rows
    assert len(read(run)) == len(set(read(run)))
    run.stop()
