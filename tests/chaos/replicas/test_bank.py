"""kill -9 of every process and of the database while tables are replicated: the bank test."""

from __future__ import annotations

import os
import random
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from headrace.testing.embedded import PostgresServer
from headrace.testing.mongodb import MongoServer
from headrace_demo.db2.derby import DerbyServer
from headrace_demo.oracle.server import OracleServer
from tests.chaos.databases.database import ACCOUNTS, MARKS, START_BALANCE
from tests.chaos.killer import EARLY, Kill, Killer
from tests.chaos.replicas.banks.bank import Bank
from tests.chaos.replicas.run import ReplicaRun
from tests.chaos.run import wait_for
from tests.chaos.transfers import Transfers
from tests.sinks.lake.readers import LAKES

pytestmark = pytest.mark.spark

CLIENTS, SLOWER = 8, 4
"""Clients, and how much less they do than those of the other kills: a micro-batch takes longer."""
FIVE = (
    ("planned", "worker"),
    ("batch", "server"),
    ("progress", "driver"),
    ("streaming", "worker"),
    ("streaming", "driver"),
)
OTHERS = (*FIVE[:2], ("progress", "source"), *FIVE[3:])
KINDS = ("driver", "worker", "server", "jvm", "source", "everything")
IN_MAKE_TEST = (("postgresql", "iceberg"), ("mongodb", "delta"))
PAIRS = [(database, lake) for database in MARKS for lake in LAKES]


def pairs(combinations: Sequence[tuple[str, str]]) -> pytest.MarkDecorator:
    """Tests of databases and table formats."""
    return pytest.mark.parametrize(
        ("bank", "run"),
        [
            pytest.param(database, lake, marks=MARKS[database], id=f"{database}-{lake}")
            for database, lake in combinations
        ],
        indirect=True,
    )


@pytest.fixture
def bank(request: pytest.FixtureRequest) -> Iterator[Bank]:
    with ExitStack() as running:
        if request.param == "postgresql":
            from tests.chaos.replicas.banks.postgresql import PostgresBank

            yield PostgresBank(running.enter_context(PostgresServer()))
        elif request.param == "mongodb":
            request.getfixturevalue("mongodb")  # may skip
            from tests.chaos.replicas.banks.mongodb import MongoBank

            options = {"oplogSize": str(MongoBank.oplog_megabytes)}
            yield MongoBank(running.enter_context(MongoServer(options)))
        elif request.param == "db2":
            request.getfixturevalue("derby_server")  # may skip
            from tests.chaos.replicas.banks.db2 import Db2Bank  # it needs IBM's driver

            db2_bank = Db2Bank(running.enter_context(DerbyServer()))
            running.callback(db2_bank.close)
            yield db2_bank
        else:
            from tests.chaos.replicas.banks.oracle import OracleBank

            yield OracleBank(running.enter_context(OracleServer()))


@pytest.fixture
def run(request: pytest.FixtureRequest, bank: Bank, tmp_path: Path) -> Iterator[ReplicaRun]:
    replica_run = ReplicaRun(bank, tmp_path, request.param)
    yield replica_run
    replica_run.close()


def survive(run: ReplicaRun, kills: Sequence[Kill], seed: int) -> None:
    """One kill after the other under transfers of eight clients, then compare everything."""
    print(f"SEED={seed}")
    database = run.database
    clients = [
        Transfers(database, seed + n, clients=CLIENTS * SLOWER, creates=n == 0)
        for n in range(CLIENTS)
    ]
    killer = Killer(run, random.Random(seed))
    for client in clients:
        client.start()
    try:
        for number, (moment, kind) in enumerate(kills, 1):
            killer.strike(number, moment, kind)
            database.is_copied |= not run.copies()
        wait_for(run.tail, killer.streams(), pause=0.2)
        wait_for(run.tail, killer.goes_on(), pause=0.2)
    finally:
        for client in clients:
            client.stop()
    database.commit_last()
    run.catch_up()
    run.end()
    counts = run.assert_equal()
    assert counts["accounts"] == ACCOUNTS
    assert sum(row["balance"] for row in database.expected("accounts")) == ACCOUNTS * START_BALANCE
    cuts = run.require_cuts()
    assert cuts
    starts, seconds = len(run.sessions), time.monotonic() - killer.begun
    print(f"{counts}, {run.lines()} micro-batches, {cuts} cuts, {starts} starts")
    print(f"{seconds:.0f} s, {cpu():.0f} CPU-s")


def cpu() -> float:
    """Seconds that this process's children took until now, when they have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pairs(IN_MAKE_TEST)
def test_replicas_equal_their_source_after_five_kills(run: ReplicaRun) -> None:
    """The driver is killed while the stream is replicated, and with PostgreSQL during the first
    copy, too; with the others it is the source then."""
    survive(run, FIVE if run.database.name == "postgresql" else OTHERS, seed=7)


@pairs(PAIRS)
@pytest.mark.chaos
def test_replicas_equal_their_source_after_thirty_kills(run: ReplicaRun) -> None:
    seed = int(os.environ.get("SEED") or time.time())
    chance = random.Random(seed)
    kinds = [*KINDS, *KINDS, *chance.choices(KINDS[:3], k=30 - 2 * len(KINDS))]
    chance.shuffle(kinds)
    moments = [*EARLY, *["progress"] * (25 - len(EARLY)), *["streaming"] * 5]
    survive(run, list(zip(moments, kinds, strict=True)), seed)
