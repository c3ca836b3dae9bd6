"""kill -9 of every process and of the database while accounts get a history or a change log: at the
end of each transaction the balances have their sum, and no change is lost or doubled."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from headrace.testing.embedded import PostgresServer
from tests.chaos.databases.database import ACCOUNTS, START_BALANCE
from tests.chaos.killer import Killer
from tests.chaos.replicas.banks.postgresql import PostgresBank
from tests.chaos.replicas.run import ReplicaRun
from tests.chaos.run import wait_for
from tests.chaos.transfers import Transfers
from tests.sinks.lake.readers import LAKES

pytestmark = [pytest.mark.postgres, pytest.mark.spark, pytest.mark.chaos]

OWN_COLUMNS = {
    "history": ("valid_from", "valid_to", "valid_from_position", "valid_to_position", "is_current"),
    "append": ("__op", "__position", "__commit_time", "__absent"),
}
POSITIONS = {"history": "valid_from_position", "append": "__position"}
KINDS = ("driver", "worker", "server", "jvm", "source", "everything")
CLIENTS, SLOWER = 8, 8
MIN_BOUNDARIES = 1000
Rows = list[dict[str, Any]]


class KeptRun(ReplicaRun):
    """Accounts and ledger have the mode; cards and visits are replicas."""

    def __init__(self, bank: PostgresBank, folder: Path, table_format: str, mode: str) -> None:
        self.mode = mode
        option = f"headrace_sink_{mode}_tables"
        super().__init__(bank, folder, table_format, **{option: "public.accounts,public.ledger"})

    def kept(self, table: str) -> Rows:
        """All rows of a table of the mode, in the order of their positions."""
        position = POSITIONS[self.mode]
        return sorted(super().shown(table), key=lambda row: str(row[position]))

    def shown(self, table: str) -> Rows:
        """The rows that a table has now; of a change log those that the last change of each key
        leaves, with the values that the last change that has them gives."""
        if table not in ("accounts", "ledger"):
            return super().shown(table)
        rows = self.kept(table)
        if self.mode == "append":
            rows = _folded(rows)
        else:
            rows = [row for row in rows if row["is_current"]]
        own_columns = OWN_COLUMNS[self.mode]
        return [{name: row[name] for name in row if name not in own_columns} for row in rows]


def _folded(log: Rows) -> Rows:
    rows: dict[int, dict[str, Any]] = {}
    for change in log:
        former = rows.pop(change["id"], {})
        if change["__op"] != "d":
            absent = change["__absent"] or ()
            rows[change["id"]] = change | {name: former[name] for name in absent}
    return list(rows.values())


def balances(mode: str, rows: Rows) -> Iterator[tuple[object, str, int]]:
    """The time, the position, and what it adds to the sum of the balances, of each change."""
    if mode == "history":
        for row in rows:
            yield row["valid_from"], row["valid_from_position"], row["balance"]
            if not row["is_current"]:
                yield row["valid_to"], row["valid_to_position"], -row["balance"]
        return
    known: dict[int, int] = {}
    for row in rows:
        yield row["__commit_time"], row["__position"], row["balance"] - known.get(row["id"], 0)
        known[row["id"]] = row["balance"]


def sums(mode: str, rows: Rows) -> list[tuple[str, int]]:
    """The position of the end of each transaction, and the sum of the balances there."""
    changes = sorted(balances(mode, rows), key=lambda change: change[1])
    total, ends = 0, []
    for _, group in groupby(changes, key=lambda change: change[0]):
        transaction = list(group)
        total += sum(amount for _, _, amount in transaction)
        ends.append((transaction[-1][1], total))
    return ends


@pytest.fixture(params=[f"{lake}-{mode}" for lake in LAKES for mode in OWN_COLUMNS])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KeptRun]:
    lake, mode = request.param.split("-")
    with PostgresServer() as server:
        kept_run = KeptRun(PostgresBank(server), tmp_path, lake, mode)
        yield kept_run
        kept_run.close()


def test_balances_have_their_sum_at_the_end_of_each_transaction_after_ten_kills(
    run: KeptRun,
) -> None:
    seed = int(os.environ.get("SEED") or time.time())
    print(f"SEED={seed}")
    chance, database = random.Random(seed), run.database
    clients = [
        Transfers(database, seed + n, clients=CLIENTS * SLOWER, creates=n == 0)
        for n in range(CLIENTS)
    ]
    killer = Killer(run, chance)
    for client in clients:
        client.start()
    try:
        killer.strike(1, "planned", "worker")
        wait_for(run.tail, killer.streams(), pause=0.2)
        database.is_copied = True
        floor = sums(run.mode, run.kept("accounts"))[-1][0]
        kinds = [*KINDS, *chance.choices(KINDS, k=3)]
        chance.shuffle(kinds)
        for number, kind in enumerate(kinds, 2):
            killer.strike(number, chance.choice(("batch", "progress", "streaming")), kind)
        wait_for(run.tail, killer.streams(), pause=0.2)
        wait_for(run.tail, clients[0].has_made(MIN_BOUNDARIES // CLIENTS), pause=0.2)
    finally:
        for client in clients:
            client.stop()
    run.catch_up()
    run.end()
    run.assert_equal()

    accounts, ledger = run.kept("accounts"), run.kept("ledger")
    boundaries = [total for place, total in sums(run.mode, accounts) if place > floor]
    assert len(boundaries) >= MIN_BOUNDARIES
    assert set(boundaries) == {ACCOUNTS * START_BALANCE}
    assert run.begun is not None
    changes = Counter(op for _, op in database.history(database.place(run.begun)))
    if run.mode == "append":
        assert Counter(row["__op"] for row in accounts + ledger if row["__op"] != "r") == changes
    else:  # accounts are updated only, and rows of the ledger never
        assert len(accounts) == ACCOUNTS + changes["u"]
        assert sum(not row["is_current"] for row in ledger) == changes["d"]
    print(f"{len(boundaries)} boundaries, {dict(changes)}, {len(run.sessions)} starts")
