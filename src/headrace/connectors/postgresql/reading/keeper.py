"""The keeper of a snapshot: a transaction that holds it and lets tasks import it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import psycopg

from headrace.connect.deadline import Deadline
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate, translated
from headrace.connectors.postgresql.replication.slot import is_standby
from headrace.connectors.postgresql.visibility import VisibleTransactions
from headrace.errors import HeadraceError

_TAKING = "Taking the snapshot"


def begin_snapshot(connection: psycopg.Connection, imported: str | None = None) -> None:
    """Begin a READ ONLY transaction on a new snapshot, or on the exported one of that name."""
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    if imported is not None:
        connection.execute(f"SET TRANSACTION SNAPSHOT '{imported}'".encode())


class NotSafe(Exception):
    """A serializable snapshot waits for transactions that were there before it."""


class Keeper:
    """A READ ONLY transaction that exports its snapshot. It reads no table, so it never holds a
    lock on one: whoever reads imports the snapshot (`PostgresSnapshotSource._session`).

    Its isolation is snapshot.isolation.mode; below REPEATABLE READ there is no snapshot of several
    statements, so that is the least. With `imported`, the snapshot of that name (a new slot's, as
    strong as any) is taken over, so that the replication connection that exported it is free.
    `taken_us` is the transaction's time in microseconds since 1970, `visible` its
    `txid_current_snapshot()`, `transaction` an id of that moment.
    """

    def __init__(self, config: PostgresConfig, imported: str | None = None) -> None:
        self.connection = connect(config, application="headrace snapshot")
        try:
            self._begin(config, imported)
            row = self.connection.execute(
                "SELECT pg_export_snapshot(), txid_current_snapshot()::text,"
                " (extract(epoch FROM transaction_timestamp()) * 1000000)::bigint"
            ).fetchone()
            assert row is not None
            self.snapshot_id, self.visible, self.taken_us = str(row[0]), str(row[1]), int(row[2])
            self.connection.execute("SET LOCAL statement_timeout = 0")
            self.transaction: int | None = _transaction_id(config)
        except psycopg.Error as error:
            self.connection.close()
            if error.sqlstate == "57014":  # the statement timeout of _begin
                raise NotSafe from None
            raise translate(error, config, _TAKING) from None
        except BaseException:
            self.connection.close()
            raise

    def _begin(self, config: PostgresConfig, imported: str | None) -> None:
        strict = imported is None and str(config.snapshot_isolation_mode) == "serializable"
        if not strict or is_standby(self.connection):
            begin_snapshot(self.connection, imported)
            return
        self.connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE")
        # The first query waits until the snapshot is safe: no longer than the caller may.
        self.connection.execute("SET LOCAL statement_timeout = 2000")

    def alive(self) -> bool:
        """Whether the snapshot can still be imported."""
        try:
            self.connection.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    def close(self) -> None:
        """End the transaction; never raises."""
        self.connection.close()


def _transaction_id(config: PostgresConfig) -> int | None:
    """A transaction id of this moment for `source.txId`; None on a standby. It is taken in a
    transaction of its own: one that is held for the whole snapshot would hold up other slots."""
    query = b"SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE txid_current() END"
    with (
        connect(config, application="headrace snapshot") as connection,
        translated(config, _TAKING),
    ):
        row = connection.execute(query).fetchone()
    return None if row is None or row[0] is None else int(row[0])


def everything_before(keeper: Keeper) -> str:
    """A snapshot that sees every transaction that had an id when `keeper` was opened.

    A snapshot's own end does not tell: it is one past the last transaction that *ended*, so the
    newest ones, still running, are at or beyond it. An id taken afterwards is beyond them all.
    """
    end = VisibleTransactions(keeper.visible).xmax
    if keeper.transaction is not None:
        end = keeper.transaction
    return f"{end}:{end}:"


def renew(
    config: PostgresConfig,
    old: str | None,
    check: Callable[[], None],
    report: Callable[[str], None],
) -> Keeper:
    """A keeper of a new snapshot that covers `old` (None: whatever committed before now; empty:
    nothing).

    Waits for as long as a transaction of that time is still ending; calls `check` meanwhile,
    which may raise.
    """
    report_due = Deadline(3)
    while True:
        with contextlib.suppress(NotSafe):
            keeper = Keeper(config)
            if old is None:
                old = everything_before(keeper)
            if not old or VisibleTransactions(keeper.visible).covers(VisibleTransactions(old)):
                return keeper
            keeper.close()
        check()
        if report_due.is_over:
            report("The snapshot waits for transactions that began before it")
            report_due.restart(30)
        time.sleep(0.05)


def lost_snapshot(error: psycopg.Error) -> HeadraceError | None:
    """The error of a task that could not import the keeper's snapshot, if `error` of
    `begin_snapshot` is one; servers say so in their own language."""
    if error.sqlstate in ("22023", "42704", "55000"):
        return HeadraceError(
            "postgresql.snapshot_gone",
            "The exported snapshot ended before a chunk was read",
            "headrace continues the snapshot by itself with a new exported snapshot.",
            retriable=True,
        )
    return None
