"""Whether a stored position still fits the server, and what to do when it does not."""

from __future__ import annotations

from dataclasses import replace

import psycopg

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition
from headrace.connectors.postgresql.replication.publication import ensure_publication
from headrace.connectors.postgresql.replication.slot import (
    SlotState,
    advance_slot,
    find_slot,
    lost_position,
)
from headrace.connectors.postgresql.starting.readiness import Readiness, check_system
from headrace.connectors.source import OpenSnapshot
from headrace.errors import HeadraceError

_BACKWARD = ("trust_offset", "trust_greater_lsn")
_FORWARD = ("trust_slot", "trust_greater_lsn")


class StoredPosition:
    """Asked once per process (`is_known`), and again when the log turns out to be gone."""

    def __init__(self, config: PostgresConfig, readiness: Readiness) -> None:
        self._config, self._readiness = config, readiness
        self.is_known = False
        self.system = ""

    def believe(self, offset: PostgresOffset) -> None:
        """The position was made, or found, in this process."""
        self.is_known, self.system = True, offset.system

    def check(
        self, stored: PostgresOffset, snapshot: OpenSnapshot[PostgresPosition] | None
    ) -> HeadraceError | None:
        """Server, slot and publication still fit. Returns why the log is gone, when snapshot.mode
        or offset.mismatch.strategy has an answer to that.

        An unfinished `snapshot` is asked whether it can go on before its slot is asked for: the
        next attempt may have dropped it already. Raises AttemptOver.
        """
        if self.is_known:
            return None
        connection, tables = self._readiness.prepare()
        try:
            self.system = self._readiness.cluster(connection)
            check_system(stored, self.system)
            if stored.snapshot is not None and snapshot is not None:
                if not stored.snapshot.blocking:
                    self._check_mode()
                snapshot.resumed(stored.snapshot)
            if self._readiness.rule.streams:
                lost = self.lost(connection, stored)
                if lost is not None:
                    return lost
                if self._config.mismatch_strategy() in _BACKWARD:
                    with connect(self._config) as unlimited:
                        advance_slot(unlimited, stored, self._config)
                names = [(t.schema, t.table) for t in tables]
                self._readiness.set_identities(connection, tables)
                ensure_publication(connection, self._config, names)
                self._readiness.check_published(connection, tables, first=False)
            self.is_known = True
            return None
        finally:
            connection.close()

    def lost(self, connection: psycopg.Connection, stored: PostgresOffset) -> HeadraceError | None:
        """Why the log from `stored` on is gone, if it is. Raises it when nothing repairs that."""
        lost = lost_position(find_slot(connection, self._config.slot_name), stored, self._config)
        if lost is None or self._readiness.rule.repairs or self.follows(lost, stored):
            return lost
        raise lost

    def follows(self, lost: HeadraceError, stored: PostgresOffset) -> bool:
        """Whether the slot is believed when it is beyond the offset."""
        moved = lost.code == "postgresql.slot_moved" and stored.snapshot is None
        return moved and self._config.mismatch_strategy() in _FORWARD

    def jump(self, after: PostgresOffset) -> PostgresOffset:
        """To the slot's position; the gap shows as a new epoch."""
        with connect(self._config) as connection:
            state = find_slot(connection, self._config.slot_name)
        there = after.position.lsn_commit if state is None else state.confirmed_flush_lsn or 0
        epoch = after.epoch + 1
        return replace(
            after.at(after.position.at_boundary(there, None, None)), epoch=epoch, consistent=None
        )

    def check_slot(self, state: SlotState | None, start: PostgresOffset) -> None:
        """The same, each time that the stream is opened."""
        lost = lost_position(state, start, self._config)
        if lost is not None and not self.follows(lost, start):
            raise lost

    def _check_mode(self) -> None:
        """Refuses an unfinished snapshot where snapshot.mode takes none."""
        if not self._readiness.rule.at_first:
            raise HeadraceError(
                "postgresql.snapshot_unfinished",
                "The checkpoint is in the middle of a snapshot, which snapshot.mode="
                f"{self._config.snapshot_mode} does not take",
                "Set snapshot.mode=initial until the snapshot is done, or start with a new "
                "checkpoint.",
            )
