"""LogMiner's sessions: which logs they have, how far they reach, and what they are asked."""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from headrace.connect.deadline import Deadline
from headrace.connectors.oracle import sql
from headrace.connectors.oracle.capture import SYSTEM_SCHEMAS
from headrace.connectors.oracle.catalog.open_transactions import open_before
from headrace.connectors.oracle.catalog.redo_state import destinations
from headrace.connectors.oracle.clock import UNKNOWN_SCN, current_scn
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.properties.modes import MiningStrategy, QueryFilterMode
from headrace.connectors.oracle.sql import redo_conditions
from headrace.connectors.oracle.streaming.logs import (
    RedoLog,
    RedoThread,
    Selection,
    archived_until,
    inconsistency,
    of_threads,
    one_of_each,
    selection_beyond,
)
from headrace.connectors.oracle.streaming.progress import MiningProgress
from headrace.connectors.oracle.streaming.redo_rows import REDO
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

LOG_GONE = "oracle.redo_gone"
_CLOSED = 1307
"""ORA-01307: no session of LogMiner is there to be ended."""
_FETCH_ROWS = 10_000
_UNSEEN = (942, 1031)
"""ORA codes of views that the user may not see."""
_TIME = "%Y-%m-%d %H:%M:%S.%f"


class Window(NamedTuple):
    """Rows with `first` < SCN <= `last` are read of a session that begins at `start`."""

    start: int
    first: int
    last: int
    logs: Selection


class OpenTransactions(NamedTuple):
    """All redo of transactions that are committed behind `scn` is at the SCN `first` or behind."""

    scn: int
    first: int


class InconsistentLogsError(Exception):
    """The logs do not fit together, for now: one is being archived."""


class Redo:
    """The redo as the views tell of it, over a connection in the root. Methods raise DriverError
    and HeadraceError."""

    def __init__(self, config: OracleConfig) -> None:
        self._config = config
        self._sequences: dict[int, int] = {}
        self.switches = 0
        """Log switches since the first window, of every thread."""
        self._writes_dictionary = config.log_mining_strategy is MiningStrategy.REDO_LOG_CATALOG
        self._dictionary: set[tuple[int, int]] = set()
        """Threads and sequences of the logs that were current when it was written."""

    def write_dictionary(self, connection: Connection) -> None:
        """Has the data dictionary written to the redo, at first and when a log was switched
        (log.mining.strategy=redo_log_catalog)."""
        if not self._writes_dictionary or self._current_logs(connection) == self._dictionary:
            return
        connection.execute(sql.BUILD_DICTIONARY())
        self._dictionary = self._current_logs(connection)

    @staticmethod
    def _current_logs(connection: Connection) -> set[tuple[int, int]]:
        rows = connection.rows(sql.ONLINE_LOGS())
        logs = (RedoLog.of(dict(zip(sql.LOGS, row, strict=True))) for row in rows)
        return {(log.thread, log.sequence) for log in logs}

    def newest(self, connection: Connection) -> int:
        """The SCN up to which the redo of all threads can be read."""
        if self._config.log_mining_archive_log_only_mode:
            binds = {"destination": self._archive(connection)}
            ends = {int(one): int(end) for one, end in connection.rows(sql.ARCHIVED_UNTIL(), binds)}
            return max(archived_until(ends, self.threads(connection)) - 1, 0)
        current = current_scn(connection)
        adjustment = self._config.internal_log_mining_redo_thread_scn_adjustment
        written = [
            thread.last_change - adjustment
            for thread in self.threads(connection)
            if thread.is_open and thread.last_change
        ]
        newest = max(min([current, *written]), 0)
        deviation = self._config.log_mining_max_scn_deviation_ms
        return self._earlier(connection, newest, deviation) if deviation else newest

    @staticmethod
    def _earlier(connection: Connection, scn: int, milliseconds: int) -> int:
        """The SCN so long before another one; 0: the database does not know."""
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
        """The SCN up to which redo was written in any thread: whatever is committed now is there,
        and `newest` passes it with the next redo that is written."""
        if self._config.log_mining_archive_log_only_mode:
            return self.newest(connection)
        current = current_scn(connection)
        written = [thread.last_change for thread in self.threads(connection) if thread.is_open]
        return min(current, max(written, default=0) or current)

    @staticmethod
    def threads(connection: Connection) -> list[RedoThread]:
        """The redo threads."""
        return [RedoThread.of(row) for row in connection.rows(sql.THREADS())]

    def oldest(self, connection: Connection) -> int | None:
        """The first SCN of which there still is redo."""
        binds = {
            "destination": self._archive(connection),
            "hours": self._config.archive_log_hours,
        }
        ((oldest,),) = connection.rows(sql.OLDEST_SCN(), binds)
        return None if oldest is None else int(oldest)

    @staticmethod
    def open_transactions(connection: Connection) -> OpenTransactions:
        """The transactions that are open now."""
        current = current_scn(connection)
        firsts = (first for _, first in open_before(connection, current))
        return OpenTransactions(current, min([current, *firsts]))

    def logs(self, connection: Connection, scn: int) -> list[RedoLog]:
        """The logs with the redo behind an SCN, each once. Raises InconsistentLogsError, and
        HeadraceError(LOG_GONE) where they were removed."""
        config = self._config
        binds = {
            "destination": self._archive(connection),
            "scn": scn,
            "hours": config.archive_log_hours,
        }
        found = connection.rows(sql.ARCHIVED_LOGS(), binds)
        if not config.log_mining_archive_log_only_mode:
            found += connection.rows(sql.ONLINE_LOGS())
        threads = self.threads(connection)
        every = (RedoLog.of(dict(zip(sql.LOGS, row, strict=True))) for row in found)
        logs = one_of_each(of_threads((one for one in every if one.following > scn), threads))
        why = inconsistency(
            logs, threads, scn, only_archived=config.log_mining_archive_log_only_mode
        )
        if why is None:
            return logs
        oldest = self.oldest(connection)
        if oldest is not None and scn < oldest - 1:
            raise self._gone(connection, scn, oldest)
        raise InconsistentLogsError(why)

    def window(
        self, connection: Connection, start: int, first: int, beyond: int, newest: int
    ) -> Window | None:
        """The next window, of a session that begins at `start`, with what is behind the SCNs
        `first` and `beyond`; None: there is nothing yet. As `logs`."""
        if newest <= beyond:
            return None
        logs = self.logs(connection, start)
        self._count_switches(logs)
        ((largest,),) = connection.rows(sql.LARGEST_LOG())
        # The dictionary of redo_log_catalog is in the newest logs.
        least = 0 if self._writes_dictionary else self._config.log_mining_log_count_min
        chosen = selection_beyond(logs, int(largest or 0), least, beyond)
        last = newest if chosen.last is None else min(newest, chosen.last)
        return Window(start, first, last, chosen)

    def _count_switches(self, logs: Sequence[RedoLog]) -> None:
        latest: dict[int, int] = {}
        for one in logs:
            latest[one.thread] = max(one.sequence, latest.get(one.thread, 0))
        for thread, sequence in latest.items():
            self.switches += max(sequence - self._sequences.get(thread, sequence), 0)
        self._sequences |= latest

    def check(self, connection: Connection, scn: int) -> None:
        """Raises HeadraceError(LOG_GONE) where redo behind an SCN is gone."""
        oldest = self.oldest(connection)
        if oldest is not None and scn < oldest - 1:
            raise self._gone(connection, scn, oldest)

    def _gone(self, connection: Connection, scn: int, oldest: int) -> HeadraceError:
        binds = {"destination": self._archive(connection), "scn": scn}
        deleted = ", ".join(
            f"sequence {sequence} of thread {thread}"
            for thread, sequence in connection.rows(sql.DELETED_LOGS(), binds)
        )
        removed = f" ({deleted} was removed)" if deleted else ""
        return HeadraceError(
            LOG_GONE,
            f"None of the redo logs has SCN {scn}, from which on the redo was to be read{removed}; "
            f"the oldest that is there is {oldest}",
            "Bring the archived logs back (RMAN: RESTORE ARCHIVELOG FROM SCN …); or set "
            "snapshot.mode=when_needed, which reads the tables anew, or start with a new "
            "checkpoint. Keep archived logs longer than the longest transaction and any pause.",
        )

    def _archive(self, connection: Connection) -> str:
        """The destination of archived logs, which may be another one than before: the first that
        is valid now."""
        return destinations(connection, self._config)[0]


class MiningSession:
    """One session of LogMiner on a connection in the root. Methods raise DriverError."""

    def __init__(
        self,
        connection: Connection,
        config: OracleConfig,
        container: str | None,
        progress: MiningProgress,
    ) -> None:
        """`container`: the pluggable database whose rows are read; None: there is none."""
        self._connection, self._config, self._progress = connection, config, progress
        self._selection: Selection | None = None
        self._age = Deadline(config.log_mining_session_max_ms / 1000)
        self._columns = contents_schema(config)
        self._statement = sql.contents(
            self._columns.names, _condition(config, container), committed=config.is_unbuffered
        )
        self._start = sql.start_logmnr(
            str(config.log_mining_strategy),
            config.log_mining_path_dictionary,
            committed=config.is_unbuffered,
        )

    @property
    def is_old(self) -> bool:
        """Whether it is older than log.mining.session.max.ms allows."""
        return bool(self._config.log_mining_session_max_ms) and self._age.is_over

    def needs_new(self, window: Window) -> bool:
        """Whether another session has to begin for a window."""
        return self._selection is not None and (
            self.is_old or not window.logs.same_logs(self._selection)
        )

    def begin(self, window: Window) -> None:
        """Has the window's logs mined; the session goes on where it has them already."""
        if self.needs_new(window):
            self.end()
        if self._selection is None:
            self._selection = window.logs
            for one in window.logs.logs:
                self._connection.execute(sql.ADD_LOGFILE(), {"name": one.name})
            self._age.restart()
        began = time.monotonic()
        self._connection.execute(self._start, {"first": window.start, "last": window.last})
        self._progress.starting.add(time.monotonic() - began)

    def rows(self, window: Window) -> Iterator[pa.RecordBatch]:
        """The rows of a window, as the driver fetches them; columns as in `REDO`."""
        binds = {"low": window.first, "high": window.last}
        size = self._config.query_fetch_size or _FETCH_ROWS
        batches = self._connection.batches(self._statement, self._columns, binds, rows=size)
        durations = self._progress.querying
        while True:
            began = time.monotonic()
            batch = next(batches, None)
            durations.add(time.monotonic() - began)
            if batch is None:
                return
            durations = self._progress.fetching
            yield completed(batch)

    def memory(self) -> dict[str, int]:
        """What the session takes of the server's memory (bytes, by the names of V$STATNAME); empty
        where the user may not see that."""
        try:
            return {str(name): int(value) for name, value in self._connection.rows(sql.MEMORY())}
        except DriverError as error:
            if error.code not in _UNSEEN:
                raise
            return {}

    def end(self) -> None:
        """End the session and let its logs go."""
        try:
            self._connection.execute(sql.END_LOGMNR())
        except DriverError as error:
            if error.code != _CLOSED:
                raise
        for (name,) in self._connection.rows(sql.SESSION_LOGS()):
            self._connection.execute(sql.REMOVE_LOGFILE(), {"name": name})
        self._selection = None


def contents_schema(config: OracleConfig) -> pa.Schema:
    """The columns that are asked of V$LOGMNR_CONTENTS, and their types."""
    has_clients = config.log_mining_clientid_include_list or config.log_mining_clientid_exclude_list
    is_tracked = {
        "RS_ID": config.log_mining_buffer_track_rs_id,
        "CLIENT_ID": config.log_mining_buffer_track_client_id or bool(has_clients),
    }
    return pa.schema([field for field in REDO if is_tracked.get(field.name, True)])


def completed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch with all columns of `REDO`, null where they were not read."""
    names = batch.schema.names
    arrays = [
        _of_type(batch.column(field.name), field.type)
        if field.name in names
        else pa.nulls(len(batch), field.type)
        for field in REDO
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=REDO)


def _of_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind)


def _condition(config: OracleConfig, container: str | None) -> str:
    """What the database leaves out (log.mining.query.filter.mode)."""
    mode = config.log_mining_query_filter_mode
    if mode is QueryFilterMode.NONE:
        filters = redo_conditions.default_filter(SYSTEM_SCHEMAS)
    else:
        regex = mode is QueryFilterMode.REGEX
        signals = config.signal_table()
        filters = [
            *redo_conditions.schema_filter(
                config.schema_include_list, config.schema_exclude_list, signals, regex=regex
            ),
            *redo_conditions.table_filter(
                config.table_include_list,
                config.table_exclude_list,
                signals,
                regex=regex,
                hybrid=config.log_mining_strategy == "hybrid",
            ),
        ]
    filters += redo_conditions.user_filter("USERNAME", *config.user_lists)
    filters += redo_conditions.user_filter(
        "CLIENT_ID",
        config.log_mining_clientid_include_list,
        config.log_mining_clientid_exclude_list,
    )
    return redo_conditions.contents_condition(
        container,
        filters,
        lobs=config.lob_enabled,
        ddl_is_filtered=config.schema_history_internal_store_only_captured_tables_ddl,
    )
