"""Checks that a stored position still fits the change tables."""

from __future__ import annotations

from contextlib import closing

from headrace.connectors.db2.catalog.registrations import registrations
from headrace.connectors.db2.events import CONNECTOR
from headrace.connectors.db2.position import Db2Offset, Db2Position
from headrace.connectors.db2.starting.run import Db2Run
from headrace.connectors.db2.streaming.beginnings import PRUNED, Beginnings
from headrace.connectors.db2.streaming.registered_tables import source_of
from headrace.connectors.db2.streaming.windows import (
    AHEAD,
    check_not_ahead,
    newest_lsn,
    spans_of,
)
from headrace.connectors.source import Lost, LostLog
from headrace.errors import HeadraceError
from headrace.relational.history.loss import restore_history
from headrace.snapshots.modes import SnapshotRule

_NO_HISTORY = "db2.history_lost"


class StoredPosition(LostLog[Db2Position]):
    """The stored position in the change tables: no object in the database belongs to it, so nothing
    is created or removed."""

    def __init__(self, run: Db2Run, rule: SnapshotRule) -> None:
        self._run, self._rule = run, rule
        self.is_known = False

    def check(self, stored: Db2Offset) -> Lost | None:
        """Check that the change tables still hold the changes after a stored offset. Raises
        HeadraceError if they do not, and snapshot.mode has no solution for that."""
        if self.is_known:
            return None
        try:
            self._check(stored.position)
        except HeadraceError as error:
            if not self.means_loss(error) or not self._rule.repairs:
                raise
            return Lost(error, is_followed=False)
        self.is_known = True
        return None

    def _check(self, position: Db2Position) -> None:
        config, capture = self._run.config, self._run.capture
        with self._run.connect() as connection:
            newest = newest_lsn(connection, config)
            check_not_ahead(position.committed, newest, position.lsn_bytes)
            self._check_history(position)
            if config.headrace_change_tables_gap == "fail":
                captured = [
                    registration
                    for registration in registrations(connection, config)
                    if capture.takes(source_of(registration))
                ]
                first = position.first_unread
                spans = spans_of(connection, config, captured, first)
                with closing(self._run.recorded_tables(position)) as recorded:
                    Beginnings().check(spans, first, position.lsn_bytes, recorded.knows)

    def _check_history(self, position: Db2Position) -> None:
        with closing(self._run.recorded_tables(position)) as recorded:
            is_lost = position.committed > 0 and recorded.history.is_empty
        if is_lost:
            recorder = closing(self._run.snapshot_source(reads_rows=False))
            restore_history(CONNECTOR, self._run.config, position, recorder)

    # -- see LostLog -----------------------------------------------------------------------------

    def means_loss(self, error: HeadraceError) -> bool:
        """See LostLog."""
        return error.code in (PRUNED, AHEAD, _NO_HISTORY)

    def follow(self, after: Db2Offset) -> Db2Offset:
        """See LostLog: no strategy follows the database."""
        return after

    def make_room(self, lost: Lost) -> None:
        """See LostLog: the database has no object for a position."""

    def keep(self, lost: Lost) -> None:
        """See LostLog: a gap is found again by the same comparison."""
