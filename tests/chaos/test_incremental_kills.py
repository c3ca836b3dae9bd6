"""kill -9 of every process during an incremental snapshot under transfers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.databases.database import MARKS, ChaosDatabase
from tests.chaos.killer import Killer
from tests.chaos.run import Run, wait_for
from tests.chaos.transfers import Tables, Transfers, changes_of, check_against_history

# Ten kills: what goes on by itself, and what is started again.
KINDS = ("source", "worker", "driver", "server", "everything") * 2


@pytest.fixture
def run(database: ChaosDatabase, tmp_path: Path) -> Iterator[Run]:
    new_run = Run(
        database,
        tmp_path,
        snapshot_mode="no_data",
        signal_data_collection=database.create_signals(),
        incremental_snapshot_chunk_size="50",
        # A window closes when its mark comes: a loaded machine must keep up with the transfers.
        headrace_range_max_rows="10000",
    )
    yield new_run
    new_run.close()


@pytest.mark.parametrize(
    "database", [pytest.param(name, marks=mark) for name, mark in MARKS.items()], indirect=True
)
@pytest.mark.spark
@pytest.mark.chaos
def test_an_incremental_snapshot_survives_kills_and_delivers_every_row(run: Run) -> None:
    seed = 7
    database = run.database
    transfers = Transfers(database, seed)
    names = [database.identifier(name) for name in Tables().rows]
    killer = Killer(run, random.Random(seed))
    during = 0
    run.ensure()
    wait_for(run.tail, lambda: run.planned() >= 0, pause=0.1)
    transfers.start()
    try:
        for number, kind in enumerate(KINDS, 1):
            if not running(run):  # it was over before the kill: ask again
                database.signal(f"ask {number}", "execute-snapshot", {"data-collections": names})
                wait_for(run.tail, lambda: started(run, killer), pause=0.02)
            killer.strike(number, "progress", kind)
            during += running(run)
        assert during >= len(KINDS) // 2, f"only {during} kills came while tables were being read"
        wait_for(run.tail, lambda: finished(run, killer), seconds=900, pause=0.2)
        wait_for(run.tail, killer.streams(), pause=0.2)
        wait_for(run.tail, killer.goes_on(), pause=0.2)
    finally:
        transfers.stop()
    run.catch_up()
    run.end()
    changes = changes_of(database, run.output)
    assert run.begun is not None
    first = database.place(run.begun)
    check_against_history(database, [change for change in changes if change.op != "r"], first)
    tables = Tables()
    for change in changes:
        tables.apply(change)
    for name, rows in tables.rows.items():
        assert rows == database.rows(name), f"{name} differs"
    read = {(change.collection, change.id) for change in changes if change.op == "r"}
    print(len(read), "rows were read,", during, "kills meanwhile,", len(run.sessions), "starts")


def running(run: Run) -> bool:
    """Whether the newest planned micro-batch ends inside an incremental snapshot."""
    return "tables" in json.dumps(run.offset())


def started(run: Run, killer: Killer) -> bool:
    killer.go_on()
    return running(run)


def finished(run: Run, killer: Killer) -> bool:
    killer.go_on()
    return not running(run) and run.lines() > 20_000
