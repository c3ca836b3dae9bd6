"""Checks that a stored position still fits the redo."""

from __future__ import annotations

from contextlib import closing

from headrace.connectors.oracle.events import CONNECTOR
from headrace.connectors.oracle.position import OracleOffset, OraclePosition
from headrace.connectors.oracle.starting.run import OracleRun
from headrace.connectors.oracle.streaming.windows.redo import LOG_GONE, Redo
from headrace.connectors.source import Lost, LostLog
from headrace.errors import HeadraceError
from headrace.relational.history.loss import restore_history
from headrace.snapshots.modes import SnapshotRule

_AHEAD = "oracle.position_ahead"
_NO_HISTORY = "oracle.history_lost"


class StoredPosition(LostLog[OraclePosition]):
    """The stored position in the redo: no object in the database belongs to it, so nothing is
    created or removed."""

    def __init__(self, run: OracleRun, rule: SnapshotRule) -> None:
        self._run, self._rule = run, rule
        self.is_known = False

    def check(self, stored: OracleOffset, incarnation: str) -> Lost | None:
        """Check that the logs still hold the redo after a stored offset; `incarnation`: see
        Readiness. Raises HeadraceError if they do not, and snapshot.mode has no solution for
        that."""
        if self.is_known and stored.system in ("", incarnation):
            return None
        try:
            self._check_incarnation(stored, incarnation)
            self._check(stored.position)
        except HeadraceError as error:
            if not self.means_loss(error) or not self._rule.repairs:
                raise
            return Lost(error, is_followed=False)
        self.is_known = True
        return None

    @staticmethod
    def _check_incarnation(stored: OracleOffset, incarnation: str) -> None:
        if stored.system in ("", incarnation) or stored.position.scn < int(incarnation):
            return
        raise HeadraceError(
            _AHEAD,
            f"The database was restored and opened with RESETLOGS at SCN {incarnation}, and the "
            f"checkpoint's position, {stored.position}, is after that SCN in its former "
            "incarnation: the changes that were delivered from there on do not exist in it",
            "Start with snapshot.mode=when_needed, which reads the tables again, or with a new "
            "checkpoint.",
        )

    def _check(self, position: OraclePosition) -> None:
        run = self._run
        with run.connect() as connection:
            current = run.scn(connection)
            if position.scn > current:
                raise HeadraceError(
                    _AHEAD,
                    f"The checkpoint's position, {position}, is ahead of the database, which is at "
                    f"SCN {current}",
                    "It belongs to another database, or the database was restored: start with "
                    "snapshot.mode=when_needed, which reads the tables again, or with a new "
                    "checkpoint.",
                )
            Redo(run.config, run.removed_logs).check(connection, position.mined_from)
        self._check_history(position)

    def _check_history(self, position: OraclePosition) -> None:
        run = self._run
        with closing(run.recorded_tables(position)) as recorded:
            is_lost = position.committed > 0 and recorded.is_empty
        if is_lost:
            recorder = closing(run.snapshot_source(reads_rows=False))
            restore_history(CONNECTOR, run.config, position, recorder)

    # -- what is done when the log is gone ------------------------------------------------------

    def means_loss(self, error: HeadraceError) -> bool:
        """See LostLog."""
        return error.code in (LOG_GONE, _AHEAD, _NO_HISTORY)

    def follow(self, after: OracleOffset) -> OracleOffset:
        """See LostLog: no strategy follows the database."""
        return after

    def make_room(self, lost: Lost) -> None:
        """See LostLog: the database has no object for a position."""

    def keep(self, lost: Lost) -> None:
        """See LostLog: a gap is found again by the same comparison."""
