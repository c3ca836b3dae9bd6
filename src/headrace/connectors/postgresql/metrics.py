"""What the PostgreSQL connector measures: Debezium's metrics, and the state of the slot."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from headrace.connectors.metrics import SnapshotMetrics, StreamingMetrics, StreamState
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.position import PostgresOffset
from headrace.connectors.postgresql.readiness import Readiness
from headrace.connectors.postgresql.replication.slot_watch import SlotWatch
from headrace.offsets.snapshot_progress import SnapshotProgress
from headrace.snapshots.chunks import Chunk
from headrace.snapshots.incremental.metrics import IncrementalMetrics
from headrace.snapshots.tables import SnapshotTable


def _source_position(row: np.void | None) -> dict[str, int | None]:
    return {"lsn": None if row is None else int(row["lsn"]), "xmin": None}


class PostgresMetrics:
    """The metrics of one connector."""

    def __init__(self, config: PostgresConfig, readiness: Readiness) -> None:
        self._config, self._readiness = config, readiness
        self.streaming = StreamingMetrics(_source_position)
        self.snapshot = SnapshotMetrics()
        self.incremental = IncrementalMetrics()
        self._watch: SlotWatch | None = None

    def watch(self) -> None:
        """From now on: there is a slot."""
        seconds = self._config.headrace_slot_watch_interval / 1000
        if self._watch is None and seconds:
            self._watch = SlotWatch(self._config, seconds)

    def planned(self, before: SnapshotProgress, end: PostgresOffset) -> None:
        """A range of the snapshot from `before` to `end` is planned."""
        if end.snapshot is None:
            self.snapshot.completed()
            return
        if not self.snapshot.running:
            tables = [SnapshotTable.from_json(table) for table in before.tables]
            self.snapshot.began([table.name for table in tables])
        rows: dict[int, int] = {}
        for chunk in map(Chunk.from_json, end.snapshot.chunks):
            rows[chunk.table] = rows.get(chunk.table, 0) + chunk.rows
        self.snapshot.planned(end.snapshot.table, rows)

    def skipped(self) -> None:
        """See SourceMetrics."""
        self.snapshot.skipped()

    def aborted(self) -> None:
        """See SourceMetrics."""
        self.snapshot.aborted()

    def to_json(self, stream: StreamState | None) -> dict[str, Any]:
        """`snapshot` and `streaming` by Debezium's names, `incremental` by
        those that its snapshots have (None before the first). `database` is what the server says of
        the slot; `oldest_unacknowledged_ms` the age of the oldest change not acknowledged."""
        common = {"CapturedTables": list(self._readiness.captured), "NumberOfErroneousEvents": 0}
        found = self.streaming.to_json() | {
            "Connected": stream is not None and stream.connected,
            "NumberOfEventsFiltered": 0 if stream is None else stream.filtered,
            "CurrentQueueSizeInBytes": 0 if stream is None else stream.queued_bytes,
            "MaxQueueSizeInBytes": 0 if stream is None else stream.largest_queue_bytes,
        }
        oldest = None if stream is None else stream.oldest_unacknowledged_us
        slot = self._watch.slot if self._watch is not None else None
        return {
            "snapshot": self.snapshot.to_json() | common,
            "incremental": self.incremental.to_json(),
            "streaming": found | common,
            "database": None if slot is None else slot.to_json(),
            "oldest_unacknowledged_ms": None
            if oldest is None
            else max(0, int(time.time() * 1000) - oldest // 1000),
        }

    def close(self) -> None:
        """Stop watching the slot; never raises."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
