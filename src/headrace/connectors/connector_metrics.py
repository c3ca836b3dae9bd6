"""The metrics of one connector: Debezium's metrics of its snapshots and its stream, and what the
database reports about its log."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from headrace.connectors.metrics import SnapshotMetrics, StreamingMetrics
from headrace.offsets.offset import Offset
from headrace.offsets.snapshot_progress import SnapshotProgress
from headrace.snapshots.chunks import Chunk
from headrace.snapshots.incremental.metrics import IncrementalMetrics
from headrace.snapshots.tables import SnapshotTable

if TYPE_CHECKING:
    from headrace.streaming.receiver import StreamState


class DatabaseWatch(Protocol):
    """A watch that regularly asks the database about its log and this reader."""

    def to_json(self) -> Mapping[str, Any] | None:
        """Return the figures read last; None: none were read yet. `lag_bytes` and `retained_bytes`
        are the bytes of log that were not acknowledged, and that are kept because of this
        reader."""
        ...

    def close(self) -> None:
        """Stop asking the database; never raises."""
        ...


class ConnectorMetrics:
    """The metrics of one connector. `captured` returns the names of the captured tables,
    `open_watch` starts the watch of the database (None: the database is not asked)."""

    def __init__(
        self,
        captured: Callable[[], Sequence[str]],
        streaming: StreamingMetrics | None = None,
        open_watch: Callable[[], DatabaseWatch | None] = lambda: None,
    ) -> None:
        self.streaming = streaming or StreamingMetrics()
        self.snapshot, self.incremental = SnapshotMetrics(), IncrementalMetrics()
        self._captured, self._open_watch = captured, open_watch
        self._watch: DatabaseWatch | None = None

    def watch(self) -> None:
        """Start the watch of the database, unless it is started."""
        if self._watch is None:
            self._watch = self._open_watch()

    def planned(self, before: SnapshotProgress, end: Offset[Any]) -> None:
        """Count a planned range of the snapshot, from `before` to `end`."""
        if end.snapshot is None:
            self.snapshot.completed()
            return
        if not self.snapshot.running:
            tables = [SnapshotTable.from_json(table) for table in before.tables]
            estimated = {table.name: table.rows for table in tables if table.rows is not None}
            self.snapshot.began([table.name for table in tables], estimated)
        rows: dict[int, int] = {}
        for chunk in map(Chunk.from_json, end.snapshot.chunks):
            rows[chunk.table] = rows.get(chunk.table, 0) + chunk.rows
        self.snapshot.planned(end.snapshot.table, rows)

    def to_json(self, stream: StreamState | None) -> dict[str, Any]:
        """Return `snapshot` and `streaming` by Debezium's names, and `incremental` by the names
        that Debezium has for incremental snapshots (None before the first). `database` is what the
        database reports; `oldest_unacknowledged_ms` the age of the oldest change that was not
        acknowledged (None: all were), `silent_ms` the time since the database's last answer if it
        has not answered a request. `stream` is the state of the open stream."""
        tables = {"CapturedTables": list(self._captured()), "NumberOfErroneousEvents": 0}
        queue = {
            "Connected": stream is not None and stream.connected,
            "NumberOfEventsFiltered": 0 if stream is None else stream.filtered,
            "CurrentQueueSizeInBytes": 0 if stream is None else stream.queued_bytes,
            "MaxQueueSizeInBytes": 0 if stream is None else stream.largest_queue_bytes,
        }
        oldest_us = None if stream is None else stream.oldest_unacknowledged_us
        age_ms = None if oldest_us is None else int(time.time() * 1000) - oldest_us // 1000
        return {
            "snapshot": self.snapshot.to_json() | tables,
            "incremental": self.incremental.to_json(),
            "streaming": self.streaming.to_json() | queue | tables,
            "database": None if self._watch is None else self._watch.to_json(),
            "oldest_unacknowledged_ms": None if age_ms is None else max(0, age_ms),
            "silent_ms": 0 if stream is None else int(stream.silent_seconds * 1000),
        }

    def close(self) -> None:
        """Stop asking the database; never raises."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
