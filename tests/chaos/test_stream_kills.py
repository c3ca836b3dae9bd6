"""kill -9 of every process while the redo of Oracle is mined: `make chaos`, and a short
run of it."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing.oracle.server import OracleServer
from tests.chaos.databases.oracle import ChaosOracle
from tests.chaos.killer import KINDS, Kill, Killer
from tests.chaos.run import Run, wait_for
from tests.chaos.transfers import Transfers, changes_of, check_against_history

pytestmark = [pytest.mark.oracle, pytest.mark.spark]


@pytest.fixture
def database() -> Iterator[ChaosOracle]:
    """On a server of its own."""
    with OracleServer() as server:
        yield ChaosOracle(server)


@pytest.fixture
def run(database: ChaosOracle, tmp_path: Path) -> Iterator[Run]:
    found = Run(database, tmp_path)
    yield found
    found.close()


def survive(run: Run, database: ChaosOracle, kills: list[Kill], seed: int) -> None:
    """One kill after the other under transfers, then compare every change with what the log has,
    and what was before with the change that came before."""
    transfers = Transfers(database, seed)
    killer = Killer(run, random.Random(seed))
    transfers.start()
    try:
        for number, (moment, kind) in enumerate(kills, 1):
            killer.strike(number, moment, kind)
        wait_for(run.tail, killer.streams(), pause=0.2)
        wait_for(run.tail, killer.goes_on(), pause=0.2)
    finally:
        transfers.stop()
    run.catch_up()
    run.end()
    assert run.begun is not None
    changes = changes_of(database, run.output)
    check_against_history(database, changes, database.place(run.begun))
    places = [(change.commit, change.position) for change in changes]
    assert places == sorted(places), "changes are out of order"
    last: dict[tuple[str, int], object] = {}
    for change in changes:
        key = change.collection, change.id
        assert last.get(key, change.before) == change.before, f"not what was before: {change}"
        last[key] = change.after
    print(len(changes), f"{len(run.sessions)} starts in {time.monotonic() - killer.begun:.0f} s")


def test_five_kills_lose_nothing_and_double_nothing(run: Run, database: ChaosOracle) -> None:
    kills = [("position", "source"), ("batch", "worker"), ("progress", "server"),
             ("progress", "driver"), ("progress", "everything")]  # fmt: skip
    survive(run, database, kills, seed=5)


@pytest.mark.chaos
def test_twenty_kills_lose_nothing_and_double_nothing(run: Run, database: ChaosOracle) -> None:
    seed = int(os.environ.get("SEED") or time.time())
    print(f"SEED={seed}")
    chance = random.Random(seed)
    kinds = [*KINDS, *KINDS, *chance.choices(KINDS, k=20 - 2 * len(KINDS))]
    chance.shuffle(kinds)
    survive(run, database, [("progress", kind) for kind in kinds], seed)
