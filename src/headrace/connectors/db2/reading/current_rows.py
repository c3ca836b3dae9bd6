"""The current rows of Db2's tables, read beside the stream: see
`snapshots.incremental.current_rows`."""

from __future__ import annotations

from functools import partial

from headrace.connect.deadline import Deadline
from headrace.connectors.db2 import sql
from headrace.connectors.db2.capture import Capture, settings_of
from headrace.connectors.db2.clock import clock_of, server_time_us
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import opened
from headrace.connectors.db2.errors import QUERY_LIMIT
from headrace.connectors.db2.lsn import format_lsn, lsn_of
from headrace.connectors.db2.position import Db2Position
from headrace.connectors.db2.reading.chunk_source import Db2ChunkSource
from headrace.errors import HeadraceError
from headrace.offsets.offset import Offset
from headrace.relational.reading.key_conditions import key_condition
from headrace.snapshots.incremental.current_rows import CurrentRows

_CAPTURE_SECONDS, _LOOK_SECONDS = 300.0, 0.2


def current_rows(config: Db2Config) -> CurrentRows:
    """See ConnectorDefinition. Chunks show what is committed, which Capture may not have read from
    the log yet: the place after them is Capture's synchpoint, once it has."""
    capture = Capture(config)
    chunks = Db2ChunkSource(config, capture)

    def place() -> int:
        _await_capture(config)
        return chunks.position()

    return CurrentRows(
        chunks,
        settings_of(config, capture),
        lambda data: Offset.from_json(data, config.topic_prefix, Db2Position.from_json),
        place,
        lambda at: format_lsn(lsn_of(at - 1)) if at else "the beginning",
        partial(key_condition, sql.quoted),
    )


def _await_capture(config: Db2Config) -> None:
    """Wait until Capture has read the log up to now. Raises HeadraceError("db2.capture_behind",
    retriable)."""
    with opened(config, "Looking at Capture", limit=QUERY_LIMIT) as connection:
        now, deadline = server_time_us(connection), Deadline(_CAPTURE_SECONDS)
        while True:
            for _, time, _, distance in connection.rows(sql.capture_progress(config)):
                if int(clock_of(config, distance).microseconds([time])[0]) > now:
                    return
            if deadline.is_over:
                raise HeadraceError(
                    "db2.capture_behind",
                    "Capture did not read the log up to the rows that were read from the tables "
                    "within five minutes",
                    "Start Capture (asncap), and compare again.",
                    retriable=True,
                )
            deadline.pause(_LOOK_SECONDS)
