"""Restarts in mid-transaction with faults of the logs after them: nothing is lost or doubled."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from headrace_demo.oracle.server import Transaction
from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

T = "INV.T"
Change = tuple[str, int]


@pytest.mark.parametrize(
    ("error", "when"), [(1291, "START_LOGMNR"), (310, "START_LOGMNR"), (310, "FETCH_REDO")]
)
def test_a_log_switch_right_after_a_restart_loses_nothing_of_an_open_transaction(
    oracle_database: OracleDatabase, error: int, when: str
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database)
    long = oracle_database.server.begin()
    long.insert(T, ID=1, NAME="before the restart")
    with oracle_database.transaction() as short:
        short.insert(T, ID=2, NAME="short")
    reader.await_changes(1)
    reader.stop()
    oracle_database.server.apply([{"error": error, "when": when, "times": 1}])
    long.insert(T, ID=3, NAME="after the restart")
    long.commit()
    with oracle_database.transaction() as short:
        short.insert(T, ID=4, NAME="short")
    reader.step_until(lambda: 4 in reader.ids())
    assert reader.ids() == [2, 1, 3, 4]
    reader.stop()


@dataclass
class Open:
    """An open transaction, what it did, and the states that its savepoints go back to."""

    transaction: Transaction
    changes: list[Change] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    savepoints: list[tuple[int, list[int]]] = field(default_factory=list)


class Workload:
    """Random transactions on up to two redo threads, log switches, errors of LogMiner, restarts of
    the reader. `expected` has the operation and ID of each committed change, in order."""

    def __init__(self, database: OracleDatabase, reader: OracleReader, seed: int) -> None:
        self.server, self.reader, self.random = database.server, reader, random.Random(seed)
        self.threads = [1]
        if self.random.random() < 0.5:
            self.server.apply([{"open_thread": 2}])
            self.threads = [1, 2]
        self.open: list[Open] = []
        self.expected: list[Change] = []
        self.inserted = 0

    def step(self) -> None:
        """One act, and perhaps a micro-batch."""
        if not self.open or self.random.random() < 0.12:
            self.open.append(Open(self.server.begin(thread=self.random.choice(self.threads))))
        acts = {self.change: 66, self.savepoint: 12, self.end: 11, self.disturb: 10}
        self.random.choices([*acts], [*acts.values()])[0](self.random.choice(self.open))
        if self.random.random() < 0.4:
            self.reader.step(0.02)

    def change(self, transaction: Open) -> None:
        """A row is inserted, updated or deleted."""
        if not transaction.rows or self.random.random() < 0.75:
            self.inserted += 1
            transaction.transaction.insert(T, ID=self.inserted, NAME="new")
            transaction.rows.append(self.inserted)
            transaction.changes.append(("c", self.inserted))
            return
        row = self.random.choice(transaction.rows)
        if self.random.random() < 0.5:
            transaction.transaction.update(T, {"ID": row}, NAME="changed")
            transaction.changes.append(("u", row))
        else:
            transaction.transaction.delete(T, ID=row)
            transaction.rows.remove(row)
            transaction.changes.append(("d", row))

    def savepoint(self, transaction: Open) -> None:
        """A savepoint is set, or gone back to."""
        if not transaction.savepoints or self.random.random() < 0.5:
            transaction.transaction.savepoint(f"s{len(transaction.changes)}")
            transaction.savepoints.append((len(transaction.changes), list(transaction.rows)))
            return
        count, rows = transaction.savepoints.pop(self.random.randrange(len(transaction.savepoints)))
        transaction.savepoints = [other for other in transaction.savepoints if other[0] <= count]
        transaction.transaction.rollback_to(f"s{count}")
        del transaction.changes[count:]
        transaction.rows = list(rows)

    def end(self, transaction: Open) -> None:
        """A transaction is committed, or rolled back."""
        if self.random.random() < 0.75:
            self.commit(transaction)
        else:
            transaction.transaction.rollback()
            self.open.remove(transaction)

    def commit(self, transaction: Open) -> None:
        """A transaction is committed."""
        transaction.transaction.commit()
        self.expected += transaction.changes
        self.open.remove(transaction)

    def disturb(self, transaction: Open) -> None:
        """A log is switched, an error is made ready, or the reader starts again."""
        kind = self.random.choice(("switch", "error", "restart"))
        if kind == "switch":
            self.server.apply([{"switch": self.random.choice(self.threads)}])
        elif kind == "error":
            when = self.random.choice(("START_LOGMNR", "FETCH_REDO"))
            error = self.random.choice((1291, 310))
            self.server.apply([{"error": error, "when": when, "times": 1}])
        else:
            self.reader.restart()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "mode",
    [
        {},
        {"log_mining_buffer_deferred_transaction_start": "true"},
        {"log_mining_window_max_ms": "1000"},
        {"headrace_log_mining_buffer_max_bytes": "1"},
    ],
    ids=["default", "deferred", "window", "spilled"],
)
def test_random_transactions_under_faults_and_restarts_come_once_and_in_order(
    oracle_database: OracleDatabase, mode: dict[str, str], seed: int
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    sizes = random.Random(seed)
    reader = OracleReader.of(
        oracle_database,
        **mode,
        query_fetch_size=str(sizes.choice((1, 2, 3, 7, 1000))),
        log_mining_log_count_min=str(sizes.choice((0, 1, 2))),
        poll_interval_ms="1",
        errors_max_retries="5",
        retriable_restart_connector_wait_ms="10",
    )
    workload = Workload(oracle_database, reader, seed)
    for _ in range(70):
        workload.step()
    for transaction in list(workload.open):
        workload.commit(transaction)
    reader.step_until(lambda: len(reader.values()) >= len(workload.expected))
    reader.look_again(oracle_database)
    changes = [(value["op"], row) for value, row in zip(reader.values(), reader.ids(), strict=True)]
    assert changes == workload.expected
    reader.stop()


def test_a_micro_batch_does_not_read_the_dictionary_again(oracle_database: OracleDatabase) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database)
    ids = range(1, 4)
    for number in ids:
        with oracle_database.transaction() as short:
            short.insert(T, ID=number, NAME="short")
        reader.await_changes(number)
        if number == 1:
            before = oracle_database.sent("tables")
    assert oracle_database.sent("tables") == before
    reader.stop()
