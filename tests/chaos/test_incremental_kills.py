"""kill -9 of every process during an incremental snapshot under transfers."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing.embedded import PostgresServer
from tests.chaos.killer import Killer
from tests.chaos.run import Run, wait_for
from tests.chaos.transfers import Tables, Transfers

# Ten kills: what goes on by itself, and what is started again.
KINDS = ("source", "worker", "driver", "postgresql", "everything") * 2
SIGNALS = "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data text)"
ASK = """INSERT INTO signals VALUES ('{}', 'execute-snapshot',
 '{{"data-collections": ["public.accounts", "public.ledger"]}}')"""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with PostgresServer() as server:
        found = Run(
            server,
            tmp_path,
            snapshot_mode="no_data",
            signal_data_collection="public.signals",
            incremental_snapshot_chunk_size="50",
            # A window closes when its mark comes: a loaded machine must keep up with the transfers.
            headrace_range_max_rows="10000",
        )
        yield found
        found.close()


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.chaos
def test_an_incremental_snapshot_survives_kills_and_delivers_every_row(run: Run) -> None:
    seed = 7
    run.server.execute(SIGNALS)
    transfers = Transfers(run.server, seed)
    killer = Killer(run, random.Random(seed))
    during = 0
    run.ensure()
    wait_for(run.tail, lambda: run.planned() >= 0, pause=0.1)
    transfers.start()
    try:
        for number, kind in enumerate(KINDS, 1):
            if not running(run):  # it was over before the kill: ask again
                run.server.execute(ASK.format(f"ask {number}"))
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
    tables = Tables()
    read: set[tuple[str, int]] = set()
    with run.output.open() as lines:
        for line in lines:
            value = json.loads(line)["value"]
            if value is None or value["source"]["table"] not in tables.rows:
                continue
            tables.apply(value)
            if value["op"] == "r":
                read.add((value["source"]["table"], value["after"]["id"]))
    for name, rows in tables.rows.items():
        there = {
            row[0]: row[1] for row in run.server.execute(f"SELECT id, row_to_json(t) FROM {name} t")
        }
        assert rows == there, f"{name} differs"
    print(len(read), "rows were read,", len(run.sessions), "starts")


def running(run: Run) -> bool:
    """Whether the newest planned micro-batch ends inside an incremental snapshot."""
    return "tables" in json.dumps(run.offset())


def started(run: Run, killer: Killer) -> bool:
    killer.go_on()
    return running(run)


def finished(run: Run, killer: Killer) -> bool:
    killer.go_on()
    return not running(run) and run.lines() > 20_000
