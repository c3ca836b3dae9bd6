"""The keeper of a snapshot: a transaction that holds it and lets tasks import it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import psycopg

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.connectors.postgresql.position import parse_lsn
from headrace.connectors.postgresql.visibility import VisibleTransactions
from headrace.errors import HeadraceError


class NotSafe(Exception):
    """A serializable snapshot waits for transactions that were there before it."""


class Keeper:
    """A READ ONLY transaction that exports its snapshot.

    Its isolation is snapshot.isolation.mode; below REPEATABLE READ there is no snapshot of several
    statements, so that is the least. With `imported`, the snapshot of that name (a new slot's, as
    strong as any) is taken over, so that the replication connection that exported it is free.
    `taken_us` is the transaction's time in microseconds since 1970, `visible` its
    `txid_current_snapshot()`, `transaction` an id of that moment.
    """

    def __init__(self, config: PostgresConfig, imported: str | None = None) -> None:
        self.connection = connect(config, application="headrace snapshot")
        try:
            if imported is None:
                self._begin(config)
            else:
                self.connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                self.connection.execute(f"SET TRANSACTION SNAPSHOT '{imported}'".encode())
            row = self.connection.execute(
                "SELECT pg_export_snapshot(), txid_current_snapshot()::text,"
                " (extract(epoch FROM transaction_timestamp()) * 1000000)::bigint"
            ).fetchone()
            self.connection.execute("SET LOCAL statement_timeout = 0")
        except psycopg.Error as error:
            self.connection.close()
            if error.sqlstate == "57014":  # the statement timeout of _begin
                raise NotSafe from None
            raise translate(error, config, "Taking the snapshot") from None
        assert row is not None
        self.snapshot_id, self.visible, self.taken_us = str(row[0]), str(row[1]), int(row[2])
        try:
            self.transaction: int | None = _transaction_id(config)
        except BaseException:
            self.connection.close()
            raise

    def _begin(self, config: PostgresConfig) -> None:
        row = self.connection.execute("SELECT pg_is_in_recovery()").fetchone()
        standby = row is not None and row[0]
        if str(config.snapshot_isolation_mode) != "serializable" or standby:
            self.connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
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
    with connect(config, application="headrace snapshot") as connection:
        try:
            row = connection.execute(query).fetchone()
        except psycopg.Error as error:
            raise translate(error, config, "Taking the snapshot") from None
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
    reported = time.monotonic() + 3
    while True:
        with contextlib.suppress(NotSafe):
            keeper = Keeper(config)
            if old is None:
                old = everything_before(keeper)
            if not old or VisibleTransactions(keeper.visible).covers(VisibleTransactions(old)):
                return keeper
            keeper.close()
        check()
        if time.monotonic() > reported:
            report("The snapshot waits for transactions that began before it")
            reported = time.monotonic() + 30
        time.sleep(0.05)


def lost_snapshot(error: psycopg.Error) -> HeadraceError | None:
    """The error of a task that could not import the keeper's snapshot, if it is one."""
    if error.sqlstate in ("22023", "42704", "55000") and "snapshot" in str(error):
        return HeadraceError(
            "postgresql.snapshot_gone",
            "The exported snapshot ended before a chunk was read",
            "The snapshot is resumed by itself with a new one.",
            retriable=True,
        )
    return None


def position_of(keeper: Keeper) -> int:
    """Where the log is now."""
    query = (
        "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
        " ELSE pg_current_wal_insert_lsn() END)::text"
    )
    row = keeper.connection.execute(query.encode()).fetchone()
    assert row is not None
    return parse_lsn(str(row[0]))
