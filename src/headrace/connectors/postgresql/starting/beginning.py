"""The beginning of a stream: finds or creates publication, slot and snapshot, and the first
position."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

import psycopg

from headrace.connectors.postgresql.catalog.catalog import CatalogTable
from headrace.connectors.postgresql.connection import connect
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition
from headrace.connectors.postgresql.reading.keeper import Keeper
from headrace.connectors.postgresql.reading.snapshot_source import PostgresSnapshot
from headrace.connectors.postgresql.replication.slot import (
    check_slot,
    create_slot,
    drop_when_free,
    system_identifier,
    wait_until_free,
)
from headrace.connectors.postgresql.starting.readiness import Readiness
from headrace.connectors.postgresql.starting.run import PostgresRun, undo_making


class Beginning:
    """The beginning at the first start, and again (with the next epoch) after a snapshot or a
    position was lost."""

    def __init__(self, run: PostgresRun, readiness: Readiness) -> None:
        self._run, self._readiness = run, readiness

    def begin(self, epoch: int) -> tuple[PostgresOffset, PostgresSnapshot | None]:
        """Create or find the slot, and begin the snapshot. Undoes what it created if it fails."""
        rule = self._readiness.rule
        connection, tables = self._readiness.prepare()
        with connection, ExitStack() as undo:
            snapshot = self._run.snapshot() if rule.reads(epoch) else None
            if snapshot is not None:
                undo.callback(snapshot.close)
                snapshot.lock()
            keeper = None
            if rule.streams:
                start, keeper = self._slot(connection, tables, epoch, undo)
            else:
                system = self._readiness.cluster(connection)
                start = self._run.offset(PostgresPosition(), epoch, system)
            if snapshot is not None:
                start = snapshot.begin(start, keeper)
            undo.pop_all()
            return start, snapshot

    def _slot(
        self,
        connection: psycopg.Connection,
        tables: Sequence[CatalogTable],
        epoch: int,
        undo: ExitStack,
    ) -> tuple[PostgresOffset, Keeper | None]:
        """Return the position of the slot, and a keeper of its snapshot if the slot is new."""
        config = self._run.config
        with connect(config, replication=True) as replication:
            system = system_identifier(replication)
            self._readiness.publish(connection, tables, undo)
            slot = wait_until_free(connection, config)
            if slot is not None:
                check_slot(slot, config)
                position = PostgresPosition(slot.confirmed_flush_lsn or 0)
                return self._run.offset(position, epoch, system), None
            created = create_slot(replication, config)
            name = config.slot_name
            drop = partial(drop_when_free, name=name)
            sql = f"SELECT pg_drop_replication_slot('{name}')"
            undo.callback(undo_making, config, f"the slot {name}", sql, drop, connection)
            start = self._run.offset(PostgresPosition(created.consistent_point), epoch, system)
            reads = self._readiness.rule.reads(epoch)
            return start, Keeper(config, created.snapshot) if reads else None
