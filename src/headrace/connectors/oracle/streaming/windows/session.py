"""LogMiner's sessions: their logs and their queries."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
import pyarrow as pa

from headrace.connect.deadline import Deadline
from headrace.connectors.oracle import sql
from headrace.connectors.oracle.capture import SYSTEM_SCHEMAS
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.properties.modes import MiningStrategy, QueryFilterMode
from headrace.connectors.oracle.rows.invalid_texts import valid
from headrace.connectors.oracle.sql import redo_conditions
from headrace.connectors.oracle.streaming import redo_rows
from headrace.connectors.oracle.streaming.progress import MiningProgress
from headrace.connectors.oracle.streaming.redo_rows import REDO
from headrace.connectors.oracle.streaming.windows.logs import RedoLog, Selection
from headrace.connectors.oracle.streaming.windows.redo import Window

log = logging.getLogger(__name__)

_CLOSED = 1307
"""ORA-01307: there is no session of LogMiner to end."""
_UNLISTED = 1290
"""ORA-01290: a log that is to be removed is not in the session."""
_MISSING = 1291
"""ORA-01291: a log is missing. Also the STATUS of a row in place of the missing redo."""
_FETCH_ROWS = 10_000
_UNSEEN = (942, 1031)
"""ORA codes of views that the user may not see."""


class RowLimit:
    """The time limit of a round trip that begins to mine a window, or brings rows of it: LogMiner
    looks through its logs, and reads all redo from the oldest open transaction on, before it
    returns the first row."""

    def __init__(self, config: OracleConfig) -> None:
        self.milliseconds = config.database_query_timeout_ms
        """The limit in milliseconds; 0: unlimited."""

    def passed(self) -> None:
        """Double the time limit, which a window exceeded."""
        self.milliseconds *= 2
        if self.milliseconds:
            log.warning(
                "LogMiner did not answer in time (database.query.timeout.ms): the window is read "
                "again, and may take %d s then. A transaction that is open for long makes windows "
                "long: end it, or set log.mining.window.max.ms",
                self.milliseconds // 1000,
            )


class MiningSession:
    """A session of LogMiner on a connection in the root. Methods raise DriverError."""

    def __init__(
        self,
        connection: Connection,
        config: OracleConfig,
        container: str | None,
        progress: MiningProgress,
        limit: RowLimit,
        strategy: MiningStrategy | None = None,
    ) -> None:
        """`container`: the pluggable database whose rows are read; None: there are no containers.
        `strategy` replaces log.mining.strategy."""
        self._limit = limit
        self._connection, self._config, self._progress = connection, config, progress
        self._selection: Selection | None = None
        self.refused: RedoLog | None = None
        """The log that could not be added."""
        self._age = Deadline(config.log_mining_session_max_ms / 1000)
        self._columns = contents_schema(config)
        self._statement = sql.contents(
            self._columns.names, _condition(config, container), committed=config.is_unbuffered
        )
        self._start = sql.start_logmnr(
            str(strategy or config.log_mining_strategy),
            config.log_mining_path_dictionary,
            committed=config.is_unbuffered,
        )

    @property
    def is_old(self) -> bool:
        """Whether the session is older than log.mining.session.max.ms allows."""
        return bool(self._config.log_mining_session_max_ms) and self._age.is_over

    def needs_new(self, window: Window) -> bool:
        """Whether a window needs a new session."""
        return self._selection is not None and (
            self.is_old or not window.logs.same_logs(self._selection)
        )

    def begin(self, window: Window) -> None:
        """Start mining the window's logs; the session continues if it has them already."""
        if self.needs_new(window):
            self.end()
        if self._selection is None:
            self._selection = window.logs
            for redo_log in window.logs.logs:
                self.refused = redo_log
                self._connection.execute(sql.ADD_LOGFILE(), {"name": redo_log.name})
            self.refused = None
            self._age.restart()
        began = time.monotonic()
        with self._patiently():
            self._connection.execute(self._start, {"first": window.start, "last": window.last})
        self._progress.starting.add(time.monotonic() - began)

    def rows(self, window: Window) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a window, as the driver fetches them; columns as in `REDO`."""
        binds = {"low": window.first, "high": window.last}
        size = self._config.query_fetch_size or _FETCH_ROWS
        batches = self._connection.batches(self._statement, self._columns, binds, rows=size)
        durations = self._progress.querying
        while True:
            began = time.monotonic()
            with self._patiently():
                batch = next(batches, None)
            durations.add(time.monotonic() - began)
            if batch is None:
                return
            durations = self._progress.fetching
            whole = completed(batch)
            if self._config.event_processing_failure_handling_mode == "fail":
                check_gaps(whole)
            yield whole

    @contextmanager
    def _patiently(self) -> Iterator[None]:
        """A context in which a round trip may take as long as the RowLimit says."""
        others = self._connection.limit(self._limit.milliseconds)
        try:
            yield
        finally:
            self._connection.limit(others)

    def memory(self) -> dict[str, int]:
        """Return the server's memory that the session takes (bytes, by the names of V$STATNAME);
        empty if the user may not see that."""
        try:
            return {str(name): int(value) for name, value in self._connection.rows(sql.MEMORY())}
        except DriverError as error:
            if error.code not in _UNSEEN:
                raise
            return {}

    def end(self) -> None:
        """End the session and remove its logs."""
        try:
            self._connection.execute(sql.END_LOGMNR())
        except DriverError as error:
            if error.code != _CLOSED:
                raise
        for (name,) in self._connection.rows(sql.SESSION_LOGS()):
            try:
                self._connection.execute(sql.REMOVE_LOGFILE(), {"name": name})
            except DriverError as error:
                if error.code != _UNLISTED:
                    raise
        self._selection = None


def check_gaps(batch: pa.RecordBatch) -> None:
    """Raise DriverError, like START_LOGMNR, if LogMiner left a log out: other options than
    DDL_DICT_TRACKING let it continue after the gap, with a row in place of the redo (Utilities,
    Querying V$LOGMNR_LOGS)."""
    codes = redo_rows.numbers(batch, redo_rows.OPERATION_CODE)
    missing = np.flatnonzero(
        (codes == redo_rows.MISSING_SCN) & (redo_rows.numbers(batch, redo_rows.STATUS) == _MISSING)
    )
    if len(missing):
        gap_row = batch.slice(int(missing[0]), 1)
        row = gap_row.select([redo_rows.SCN, redo_rows.INFO]).to_pylist()[0]
        text = f"ORA-{_MISSING:05}: missing log file at SCN {row[redo_rows.SCN]} (MISSING_SCN)"
        raise DriverError(f"{text}: {row[redo_rows.INFO] or 'no more is known'}")


def contents_schema(config: OracleConfig) -> pa.Schema:
    """Return the columns that are read from V$LOGMNR_CONTENTS, and their types."""
    has_clients = config.log_mining_clientid_include_list or config.log_mining_clientid_exclude_list
    is_tracked = {
        "RS_ID": config.log_mining_buffer_track_rs_id,
        "CLIENT_ID": config.log_mining_buffer_track_client_id or bool(has_clients),
    }
    return pa.schema([field for field in REDO if is_tracked.get(field.name, True)])


def completed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with all columns of `REDO`, null where they were not read. Its texts are
    valid, except statements, of which a row may have only a part."""
    columns = batch.columns
    arrays = [
        pa.nulls(len(batch), field.type) if place < 0 else _of_type(columns[place], field.type)
        for field, place in zip(REDO, _places(batch.schema), strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=REDO)


@lru_cache(maxsize=4)
def _places(schema: pa.Schema) -> tuple[int, ...]:
    """Return the place of each column of `REDO` in a schema; -1: it is not there."""
    return tuple(schema.get_field_index(field.name) for field in REDO)


def _of_type(column: pa.Array, kind: pa.DataType) -> pa.Array:
    typed = column if column.type == kind else column.cast(kind)
    return valid(typed) if pa.types.is_string(kind) else typed


def _condition(config: OracleConfig, container: str | None) -> str:
    """Return the condition on rows that the database applies (log.mining.query.filter.mode)."""
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
