"""The redo by the database's views: how far it reaches, which logs have it, and which are gone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.catalog.open_transactions import open_before
from headrace.connectors.oracle.catalog.redo_state import destinations
from headrace.connectors.oracle.clock import UNKNOWN_SCN
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.properties.modes import MiningStrategy
from headrace.connectors.oracle.streaming.windows.logs import (
    Inconsistency,
    RedoLog,
    RedoThread,
    Selection,
    archived_until,
    first_logs,
    inconsistency,
    of_threads,
    oldest_scn,
    oldest_scns,
    one_of_each,
    selection_beyond,
)
from headrace.errors import HeadraceError

LOG_GONE = "oracle.redo_gone"
_BRING_BACK = (
    "Restore the archived logs (RMAN: RESTORE ARCHIVELOG FROM SCN …); or set "
    "snapshot.mode=when_needed, which reads the tables again, or start with a new "
    "checkpoint. Keep archived logs longer than the longest transaction and any pause."
)
_CROSSCHECK = " RMAN did not remove the file: CROSSCHECK ARCHIVELOG ALL; updates the view."
_TIME = "%Y-%m-%d %H:%M:%S.%f"


class Window(NamedTuple):
    """A window: rows with `first` < SCN <= `last` are read from a session that begins at
    `start`."""

    start: int
    first: int
    last: int
    logs: Selection


class Look(NamedTuple):
    """The state of the database at one moment: its SCN, its clock (as `sql.CLOCK`) and its redo
    threads."""

    scn: int
    clock: str
    threads: tuple[RedoThread, ...]


class OpenTransactions(NamedTuple):
    """A bound of transactions: all redo of those that are committed after `scn` is at the SCN
    `first` or after it."""

    scn: int
    first: int


class InconsistentLogsError(Exception):
    """The logs do not fit together at present. `is_archiving`: a required log is not archived
    yet."""

    def __init__(self, why: object, *, is_archiving: bool = False) -> None:
        super().__init__(str(why))
        self.is_archiving = is_archiving


class _KnownLogs(NamedTuple):
    """Logs with all redo after an SCN, where the logs before them ended (see `inconsistency`), and
    the size of the largest one, valid while `state` is the same."""

    state: object
    scn: int
    logs: list[RedoLog]
    ends_before: dict[int, int]
    largest: int


class Redo:
    """The redo of a database. The methods take a connection to the root container, and raise
    DriverError and HeadraceError."""

    def __init__(self, config: OracleConfig, removed: set[str] | None = None) -> None:
        """`removed` are the files of archived logs that do not exist, although the views have
        them."""
        self._config = config
        self._removed: set[str] = set() if removed is None else removed
        self._sequences: dict[int, int] = {}
        self.switches = 0
        """Log switches since the first window, of every thread."""
        self._writes_dictionary = config.log_mining_strategy is MiningStrategy.REDO_LOG_CATALOG
        self._dictionary: set[tuple[int, int]] = set()
        """Threads and sequences of the logs that were current when the dictionary was written."""
        self._known: _KnownLogs | None = None
        self._archived: dict[int, int] = {}
        """The SCN at which the archived logs of each thread end
        (log.mining.archive.log.only.mode)."""

    def look(self, connection: Connection) -> Look:
        """Return the database's current state; the data dictionary is written to the redo, at first
        and when a log was switched (log.mining.strategy=redo_log_catalog)."""
        look = self.now(connection)
        if not self._writes_dictionary or _current(look.threads) == self._dictionary:
            return look
        connection.execute(sql.BUILD_DICTIONARY())
        look = self.now(connection)
        self._dictionary = _current(look.threads)
        return look

    def now(self, connection: Connection) -> Look:
        """Return the database's current state; nothing is written."""
        ((scn, clock),) = connection.rows(sql.NOW())
        return Look(int(scn), str(clock), tuple(self.threads(connection)))

    def newest(self, connection: Connection, look: Look) -> int:
        """Return the SCN up to which the redo of all threads can be read."""
        if self._config.log_mining_archive_log_only_mode:
            binds = {"destination": self._archive(connection)}
            ends = {
                int(number): int(end)
                for number, end in connection.rows(sql.ARCHIVED_UNTIL(), binds)
            }
            self._archived = ends
            return max(archived_until(ends, look.threads) - 1, 0)
        adjustment = self._config.internal_log_mining_redo_thread_scn_adjustment
        written = [
            thread.last_change - adjustment
            for thread in look.threads
            if thread.is_open and thread.last_change
        ]
        newest = max(min([look.scn, *written]), 0)
        deviation = self._config.log_mining_max_scn_deviation_ms
        return self._earlier(connection, newest, deviation) if deviation else newest

    @staticmethod
    def _earlier(connection: Connection, scn: int, milliseconds: int) -> int:
        """Return the SCN that was current so many milliseconds before `scn` was; 0: the database
        does not know it."""
        try:
            ((at,),) = connection.rows(sql.TIME_OF_SCN(), {"scn": scn})
            time = dt.datetime.fromisoformat(str(at)[:26]) - dt.timedelta(milliseconds=milliseconds)
            binds = {"time": time.strftime(_TIME)}
            ((earlier,),) = connection.rows(sql.SCN_OF_TIME(), binds)
        except DriverError as error:
            if error.code != UNKNOWN_SCN:
                raise
            return 0
        return int(earlier)

    def written(self, connection: Connection) -> int:
        """Return the SCN up to which redo was written in any thread: everything that is committed
        now is included, and `newest` passes it with the next redo that is written."""
        look = self.now(connection)
        if self._config.log_mining_archive_log_only_mode:
            return self.newest(connection, look)
        written = [thread.last_change for thread in look.threads if thread.is_open]
        return min(look.scn, max(written, default=0) or look.scn)

    @staticmethod
    def threads(connection: Connection) -> list[RedoThread]:
        """Return the redo threads."""
        return [RedoThread.of(row) for row in connection.rows(sql.THREADS())]

    def oldest(self, connection: Connection) -> int | None:
        """Return the first SCN from which on redo still exists; None: there are no logs."""
        threads = self.threads(connection)
        return oldest_scn(self._read_logs(connection, 0, threads), threads)

    @staticmethod
    def first_changes(connection: Connection, before: Look) -> int:
        """Return an SCN at or before the first change of each transaction that is open, and of each
        that begins from now on. `before`: the state of the database at an earlier moment."""
        instances = sum(thread.is_open for thread in before.threads)
        firsts = (first for _, first in open_before(connection, before.scn, instances))
        return min([before.scn, *firsts])

    def logs(
        self, connection: Connection, scn: int, threads: Sequence[RedoThread]
    ) -> list[RedoLog]:
        """Return the logs with the redo after an SCN, each once. The views are read if a thread has
        another current log than before, is opened or closed, and after `forget_logs`. Raises
        InconsistentLogsError, and HeadraceError(LOG_GONE) if logs were removed."""
        state = tuple(thread.logs_state for thread in threads), tuple(self._archived.items())
        known = self._known
        if known is not None and known.state == state and known.scn <= scn:
            logs = [log for log in known.logs if log.following > scn]
            if self._inconsistency(logs, threads, scn, known.ends_before) is None:
                return logs
        self._known = None
        logs = self._read_logs(connection, scn, threads)
        ends_before = self._ends_before(connection, logs, scn)
        inconsistency = self._inconsistency(logs, threads, scn, ends_before)
        if inconsistency is None:
            ((largest,),) = connection.rows(sql.LARGEST_LOG())
            self._known = _KnownLogs(state, scn, logs, ends_before, int(largest or 0))
            return logs
        if self._is_archiving(connection, inconsistency.thread, scn):
            raise InconsistentLogsError(inconsistency, is_archiving=True)
        (thread,) = (candidate for candidate in threads if candidate.number == inconsistency.thread)
        oldest = self._oldest_after_gap(connection, thread, threads, scn)
        if oldest is not None:
            raise self._gone(connection, scn, oldest)
        raise InconsistentLogsError(inconsistency)

    def _oldest_after_gap(
        self,
        connection: Connection,
        thread: RedoThread,
        threads: Sequence[RedoThread],
        scn: int,
    ) -> int | None:
        """Return the first SCN of a thread's redo if redo after an SCN is gone; None: it exists, or
        will. A log may have been switched and archived while the views were read."""
        logs = self._read_logs(connection, 0, threads)
        of_thread = [log for log in logs if log.thread == thread.number]
        start = max(scn, thread.enabled_at)
        oldest = oldest_scns(of_thread).get(thread.number)
        if oldest is None or start >= oldest - 1:
            return None
        # The thread may have been closed between its first existing log and the one before.
        end = self._ends_before(connection, of_thread, start).get(thread.number)
        return None if end is not None and end <= start else oldest

    def _inconsistency(
        self,
        logs: Sequence[RedoLog],
        threads: Sequence[RedoThread],
        scn: int,
        ends_before: Mapping[int, int],
    ) -> Inconsistency | None:
        only_archived = self._config.log_mining_archive_log_only_mode
        return inconsistency(
            logs, threads, scn, only_archived=only_archived, ends_before=ends_before
        )

    @staticmethod
    def _ends_before(connection: Connection, logs: Sequence[RedoLog], scn: int) -> dict[int, int]:
        """Return the SCNs at which the logs before the first ones ended, of threads for which no
        log contains an SCN."""
        ends: dict[int, int] = {}
        for log in first_logs(logs, scn):
            binds = {"thread": log.thread, "sequence": log.sequence - 1}
            ((end,),) = connection.rows(sql.LOG_END(), binds)
            if end is not None:
                ends[log.thread] = int(end)
        return ends

    @staticmethod
    def _is_archiving(connection: Connection, thread: int, scn: int) -> bool:
        """Whether a log of a thread, with redo after an SCN, is written and not archived yet."""
        return any(
            int(of) == thread and int(end) > scn for of, end in connection.rows(sql.UNARCHIVED())
        )

    def _read_logs(
        self, connection: Connection, scn: int, threads: Sequence[RedoThread]
    ) -> list[RedoLog]:
        config = self._config
        binds = {
            "destination": self._archive(connection),
            "scn": scn,
            "hours": config.archive_log_hours,
        }
        rows = connection.rows(sql.ARCHIVED_LOGS(), binds)
        if not config.log_mining_archive_log_only_mode:
            rows += connection.rows(sql.ONLINE_LOGS())
        every = (RedoLog.of(dict(zip(sql.LOGS, row, strict=True))) for row in rows)
        present = (
            redo_log
            for redo_log in every
            if redo_log.following > scn and redo_log.name not in self._removed
        )
        return one_of_each(of_threads(present, threads))

    def forget_logs(self) -> None:
        """Read the views again: a log was switched or removed."""
        self._known = None

    def window(
        self, connection: Connection, look: Look, span: tuple[int, int, int], newest: int
    ) -> Window | None:
        """Return the next window; None: there is no new redo. `span` is where its session begins,
        the SCN `first`, and the SCN `beyond`, after which new redo begins. Raises like `logs`."""
        start, first, beyond = span
        if newest <= beyond:
            return None
        logs = self.logs(connection, start, look.threads)
        self._count_switches(logs)
        assert self._known is not None
        # The dictionary of redo_log_catalog is in the newest logs.
        least = 0 if self._writes_dictionary else self._config.log_mining_log_count_min
        chosen = selection_beyond(logs, self._known.largest, least, beyond)
        last = newest if chosen.last is None else min(newest, chosen.last)
        return Window(start, first, last, chosen)

    def _count_switches(self, logs: Sequence[RedoLog]) -> None:
        latest: dict[int, int] = {}
        for redo_log in logs:
            latest[redo_log.thread] = max(redo_log.sequence, latest.get(redo_log.thread, 0))
        for thread, sequence in latest.items():
            self.switches += max(sequence - self._sequences.get(thread, sequence), 0)
        self._sequences |= latest

    def check(self, connection: Connection, scn: int) -> None:
        """Raise HeadraceError(LOG_GONE) if redo after an SCN is gone."""
        with suppress(InconsistentLogsError):
            self.logs(connection, scn, self.threads(connection))

    def leave_out(self, log: RedoLog) -> HeadraceError:
        """Leave out, from now on, an archived log that the views list although its file does not
        exist. Returns the error (LOG_GONE)."""
        self._removed.add(log.name)
        self._known = None
        message = f"The archived log with sequence {log.sequence} of thread {log.thread} is gone"
        return HeadraceError(LOG_GONE, message + self._unopened(), _BRING_BACK + _CROSSCHECK)

    def _unopened(self) -> str:
        files = ", ".join(sorted(self._removed))
        return f"; V$ARCHIVED_LOG lists files that cannot be opened: {files}" if files else ""

    def _gone(self, connection: Connection, scn: int, oldest: int) -> HeadraceError:
        binds = {"destination": self._archive(connection), "scn": scn}
        deleted = ", ".join(
            f"sequence {sequence} of thread {thread}"
            for thread, sequence in connection.rows(sql.DELETED_LOGS(), binds)
        )
        removed = f" (removed: {deleted})" if deleted else ""
        return HeadraceError(
            LOG_GONE,
            f"None of the redo logs has SCN {scn}, from which on the redo was to be "
            f"read{removed}; the oldest existing log begins at {oldest}{self._unopened()}",
            _BRING_BACK + (_CROSSCHECK if self._removed else ""),
        )

    def _archive(self, connection: Connection) -> str:
        """Return the destination of archived logs, the first that is valid now, which may change.
        Its absence is a retriable error."""
        try:
            return destinations(connection, self._config)[0]
        except HeadraceError as error:
            raise HeadraceError(error.code, error.message, error.remedy, retriable=True) from None


def _current(threads: Sequence[RedoThread]) -> set[tuple[int, int]]:
    """Return threads and sequences of the current logs."""
    return {(thread.number, thread.sequence) for thread in threads if thread.is_open}
