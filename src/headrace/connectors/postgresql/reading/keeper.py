"""The keeper of a snapshot: a transaction that holds it and exports it to tasks."""

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
    """Begin a READ ONLY transaction on a new snapshot, or on the exported snapshot `imported`."""
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    if imported is not None:
        connection.execute(f"SET TRANSACTION SNAPSHOT '{imported}'".encode())


class NotSafe(Exception):
    """A serializable snapshot that still waits for transactions that began before it."""


class Keeper:
    """A READ ONLY transaction that exports its snapshot. It reads no table, so it never holds a
    lock on one: readers import the snapshot (`PostgresSnapshotSource._session`).

    Its isolation is snapshot.isolation.mode, but at least REPEATABLE READ, because below it each
    statement has its own snapshot. With `imported`, it imports the snapshot of that name (a new
    slot's, as strong as any), so that the replication connection that exported it is free.
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
        # The first query waits until the snapshot is safe; the limit lets the caller check in
        # between.
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
    separate transaction: an id held for the whole snapshot would hold up other slots."""
    query = b"SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE txid_current() END"
    with (
        connect(config, application="headrace snapshot") as connection,
        translated(config, _TAKING),
    ):
        row = connection.execute(query).fetchone()
    return None if row is None or row[0] is None else int(row[0])


def everything_before(keeper: Keeper) -> str:
    """Return a `txid_current_snapshot()` that sees every transaction with an id when `keeper` was
    opened.

    The xmax of the keeper's snapshot does not suffice: it is one past the last transaction that
    *ended*, so the newest running ones are at or beyond it. An id taken afterwards is beyond all of
    them.
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
    """Return a keeper of a new snapshot that covers `old` (None: all that was committed before now;
    empty: nothing).

    Waits as long as transactions of that time still run; calls `check` meanwhile, which may raise.
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
    `begin_snapshot` says so; by SQLSTATE, because servers translate messages. None otherwise."""
    if error.sqlstate in ("22023", "42704", "55000"):
        return HeadraceError(
            "postgresql.snapshot_gone",
            "The exported snapshot ended before a chunk was read",
            "headrace continues the snapshot by itself with a new exported snapshot.",
            retriable=True,
        )
    return None
