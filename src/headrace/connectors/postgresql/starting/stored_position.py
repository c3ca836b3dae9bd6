"""Checks that a stored position still fits the server, and handles a position that does not."""

from __future__ import annotations

from dataclasses import replace

import psycopg

from headrace.connectors.postgresql.connection import connect
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition
from headrace.connectors.postgresql.replication.slot import (
    LOST,
    POSITION_AHEAD,
    SLOT_LOST,
    SLOT_MOVED,
    SlotState,
    advance_slot,
    drop_slot,
    find_slot,
    lost_position,
)
from headrace.connectors.postgresql.starting.readiness import Readiness, check_system
from headrace.connectors.postgresql.starting.run import PostgresRun
from headrace.connectors.source import Lost, OpenSnapshot
from headrace.errors import HeadraceError

_BACKWARD = ("trust_offset", "trust_greater_lsn")
_FORWARD = ("trust_slot", "trust_greater_lsn")


class StoredPosition:
    """The check of a stored position, made once per process (`is_known`). If the log is gone, it is
    also the LostLog that handles that (headrace.connectors.source.LostLog)."""

    def __init__(self, run: PostgresRun, readiness: Readiness) -> None:
        self._config, self._readiness = run.config, readiness
        self.is_known = False
        self.system = ""

    def believe(self, offset: PostgresOffset) -> None:
        """Accept a position that was created, or found, in this process."""
        self.is_known, self.system = True, offset.system

    def check(
        self, stored: PostgresOffset, snapshot: OpenSnapshot[PostgresPosition] | None
    ) -> Lost | None:
        """Check that server, slot and publication still fit. Returns why the log is gone, if
        snapshot.mode or offset.mismatch.strategy handles that.

        An unfinished `snapshot` is asked first whether it can be resumed: its next attempt may
        already have dropped the slot. Raises AttemptOver.
        """
        if self.is_known:
            return None
        connection, tables = self._readiness.prepare(stored)
        with connection:
            self.system = self._readiness.cluster(connection)
            check_system(stored, self.system)
            if stored.snapshot is not None and snapshot is not None:
                snapshot.resumed(stored.snapshot)
            if self._readiness.rule.streams:
                lost = self.lost(connection, stored)
                if lost is not None:
                    return lost
                if self._config.mismatch_strategy() in _BACKWARD:
                    with connect(self._config) as unlimited:
                        advance_slot(unlimited, stored, self._config)
                begins = self._readiness.rule.at_every and stored.snapshot is None
                self._readiness.publish(connection, tables, begins=begins)
            self.is_known = True
            return None

    def lost(self, connection: psycopg.Connection, stored: PostgresOffset) -> Lost | None:
        """Return why the log from `stored` on is gone, None if it is not. Raises the error if
        nothing repairs that."""
        error = lost_position(find_slot(connection, self._config.slot_name), stored, self._config)
        if error is None:
            return None
        lost = Lost(error, self._follows(error, stored))
        if self._readiness.rule.repairs or lost.is_followed:
            return lost
        raise error

    def check_slot(self, slot: SlotState | None, start: PostgresOffset) -> None:
        """Check the position as `lost` does, each time the stream is opened. Raises
        HeadraceError."""
        error = lost_position(slot, start, self._config)
        if error is not None and not self._follows(error, start):
            raise error

    def _follows(self, error: HeadraceError, stored: PostgresOffset) -> bool:
        """Whether the slot's position is trusted although it is beyond the offset."""
        moved = error.code == SLOT_MOVED and stored.snapshot is None
        return moved and self._config.mismatch_strategy() in _FORWARD

    # -- handling of a lost log -----------------------------------------------------------------

    def means_loss(self, error: HeadraceError) -> bool:
        """See LostLog."""
        return error.code in LOST

    def follow(self, after: PostgresOffset) -> PostgresOffset:
        """Continue at the slot's position; the gap appears as a new epoch. If the slot no longer
        exists, the position of `after` is kept, and the next check reports it."""
        slot = self._slot()
        confirmed = None if slot is None else slot.confirmed_flush_lsn
        place = after.position.lsn_commit if confirmed is None else confirmed
        moved = after.at(after.position.at_boundary(place, None, None))
        return replace(moved, epoch=after.epoch + 1, consistent=None)

    def make_room(self, lost: Lost) -> None:
        """Drop a lost slot; any other existing slot is used again."""
        if lost.error.code == SLOT_LOST:
            self.drop()

    def keep(self, lost: Lost) -> None:
        """Drop the slot: after the skipped range, or when the log has grown, it could be valid
        again, so that the gap would go unnoticed."""
        if lost.error.code in (SLOT_MOVED, POSITION_AHEAD):
            self.drop()
            if self._slot() is not None:
                raise lost.error

    def drop(self) -> None:
        """Drop the slot, if the log is read: the next beginning creates it again."""
        if self._readiness.rule.streams:
            with connect(self._config) as connection:
                drop_slot(connection, self._config.slot_name)

    def _slot(self) -> SlotState | None:
        with connect(self._config) as connection:
            return find_slot(connection, self._config.slot_name)
