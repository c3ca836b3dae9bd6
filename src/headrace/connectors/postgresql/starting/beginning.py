"""The beginning: publication, slot and snapshot are made or found, and the first position."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace

import psycopg

from headrace.connect.slices import Plan
from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition
from headrace.connectors.postgresql.reading.keeper import Keeper
from headrace.connectors.postgresql.reading.snapshot_source import PostgresSnapshot, open_snapshot
from headrace.connectors.postgresql.replication.publication import (
    drop_publication,
    ensure_publication,
)
from headrace.connectors.postgresql.replication.slot import (
    check_slot,
    create_slot,
    drop_slot,
    find_slot,
    system_identifier,
    wait_until_free,
)
from headrace.connectors.postgresql.source import PostgresSettings
from headrace.connectors.postgresql.starting.readiness import Readiness
from headrace.connectors.waiting import Waiting

log = logging.getLogger(__name__)


@dataclass
class _Made:
    """What is undone when the beginning fails."""

    publication: bool = False
    slot: bool = False


class Beginning:
    """Begins at the first start, and anew (with the next epoch) when a snapshot or a position
    was lost, or when snapshot.mode asks for a snapshot at every start."""

    def __init__(
        self,
        config: PostgresConfig,
        capture: Capture,
        catalog: Catalog,
        plan: Plan,
        readiness: Readiness,
        settings: PostgresSettings,
        waiting: Waiting,
    ) -> None:
        self._config, self._capture, self._catalog, self._plan = config, capture, catalog, plan
        self._readiness = readiness
        self._rule = readiness.rule
        self._settings, self._waiting = settings, waiting

    def snapshot(self) -> PostgresSnapshot:
        """A snapshot to begin or to go on with."""
        return open_snapshot(
            self._config,
            self._capture,
            self._catalog,
            self._plan,
            self._waiting.check,
            self._settings,
        )

    def begin(self, epoch: int = 1) -> tuple[PostgresOffset, PostgresSnapshot | None]:
        """Makes or finds the slot. What it makes is undone if it fails."""
        connection, tables = self._readiness.prepare()
        made = _Made()
        snapshot = self.snapshot() if self._rule.at_first else None
        try:
            if snapshot is not None:
                self._waiting.pause(self._config.snapshot_delay_ms / 1000)
                snapshot.lock()
            if self._rule.streams:
                start, keeper = self._slot(connection, tables, made, epoch)
                if snapshot is None:
                    return start, None
                return snapshot.begin(start, keeper), snapshot
            assert snapshot is not None
            system = self._readiness.cluster(connection)
            start = self._offset(PostgresPosition(), epoch, system)
            return snapshot.begin(start), snapshot
        except BaseException:
            if snapshot is not None:
                snapshot.close()
            self._undo(connection, made)
            raise
        finally:
            connection.close()

    def again(self, after: PostgresOffset) -> tuple[PostgresOffset, PostgresSnapshot]:
        """A snapshot at a stored position: its rows come before the changes since then."""
        snapshot = self.snapshot()
        try:
            self._waiting.pause(self._config.snapshot_delay_ms / 1000)
            start = replace(after, epoch=after.epoch + 1, order=self._plan.order)
            if start.position.transaction is None:
                # As Debezium: `sequence` knows no commit before the snapshot.
                start = replace(start, position=replace(start.position, last_commit=None))
            return snapshot.begin(start), snapshot
        except BaseException:
            snapshot.close()
            raise

    def drop_slot(self) -> None:
        """The slot is made anew by the next `begin`."""
        if self._rule.streams:
            with connect(self._config) as connection:
                drop_slot(connection, self._config.slot_name)

    def _slot(
        self,
        connection: psycopg.Connection,
        tables: list[CatalogTable],
        made: _Made,
        epoch: int,
    ) -> tuple[PostgresOffset, Keeper | None]:
        """The position of the slot, and a keeper of its snapshot when it is new."""
        config = self._config
        with connect(config, replication=True, application="headrace") as replication:
            system = system_identifier(replication)
            names = [(t.schema, t.table) for t in tables]
            self._readiness.set_identities(connection, tables)
            made.publication = ensure_publication(connection, config, names)
            self._readiness.check_published(connection, tables, first=True)
            wait_until_free(lambda: find_slot(connection, config.slot_name), config, log.warning)
            state = find_slot(connection, config.slot_name)
            if state is not None:
                check_slot(state, config)
                position = PostgresPosition(state.confirmed_flush_lsn or 0)
                return self._offset(position, epoch, system), None
            slot = create_slot(replication, config)
            made.slot = True
            start = self._offset(PostgresPosition(slot.consistent_point), epoch, system)
            keeper = Keeper(config, slot.snapshot) if self._rule.at_first else None
            return start, keeper

    def _offset(self, position: PostgresPosition, epoch: int, system: str) -> PostgresOffset:
        return PostgresOffset(
            self._config.topic_prefix, position, epoch, system, order=self._plan.order
        )

    def _undo(self, connection: psycopg.Connection, made: _Made) -> None:
        """Nothing half-created stays behind."""
        try:
            if made.slot:
                time.sleep(0.1)  # the server frees the slot when it notices the closed connection
                drop_slot(connection, self._config.slot_name)
            if made.publication:
                drop_publication(connection, self._config.publication_name)
        except psycopg.Error as error:
            log.warning("could not undo the start: %s", error)
