"""Snapshots of PostgreSQL: the shared planner over a keeper's snapshot, in this connector's
offsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from headrace.connect.slices import Plan, Slice
from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.position import PostgresOffset
from headrace.connectors.postgresql.reading.chunk_slices import ChunkSlice
from headrace.connectors.postgresql.reading.keeper import Keeper
from headrace.connectors.postgresql.reading.snapshot_source import PostgresSnapshotSource
from headrace.offsets.ordinals import ordinals_used
from headrace.offsets.snapshot_progress import SnapshotProgress
from headrace.signals.notifications import Notifier
from headrace.signals.progress import Pending
from headrace.snapshots.chunks import grouped
from headrace.snapshots.modes import SnapshotRule
from headrace.snapshots.notifications import ChunkAnnouncements
from headrace.snapshots.snapshot import AttemptOver, SnapshotOptions
from headrace.snapshots.snapshot import Snapshot as SnapshotPlanner
from headrace.streaming.facts import EventSettings

__all__ = ["AttemptOver", "Snapshot"]


class Snapshot:
    """Plans the ranges of one snapshot, and of its continuation after a restart."""

    def __init__(
        self,
        config: PostgresConfig,
        capture: Capture,
        catalog: Catalog,
        plan: Plan,
        keeper: Keeper | None,
        check: Callable[[], None],
        settings: EventSettings,
    ) -> None:
        self._config, self._plan = config, _limited(plan, config)
        self._settings = settings
        self._source = PostgresSnapshotSource(config, capture, catalog, keeper, check)
        self._streams = SnapshotRule.of(config).streams
        self._notifier = Notifier(config)
        options = SnapshotOptions(
            config.headrace_snapshot_chunk_bytes,
            self._plan.slices,
            str(config.snapshot_resume) == "restart",
            self._streams,
        )
        self._planner = SnapshotPlanner(self._source, options, self._notifier)

    def lock(self) -> None:
        """As snapshot.locking.mode says; before the snapshot is taken."""
        self._source.lock()

    def begin(self, start: PostgresOffset, keeper: Keeper | None) -> PostgresOffset:
        """The offset before the first chunk: table list, snapshot and time are written down.

        `keeper`: of the snapshot of `start`; without it, a present one is taken.
        """
        if keeper is not None:
            self._source.adopt(keeper)
        else:
            self._source.lock()
            if self._streams:
                # The slot was there before: what it streams can be older than these rows.
                self._source.hold(None)
                start = replace(start, consistent=self._source.position())
            else:
                self._source.hold("")
                position = replace(start.position, lsn_commit=self._source.position())
                start = replace(start, position=position)
        progress = self._planner.begin()
        return replace(start, snapshot=progress, slices=1, order=self._plan.order)

    def begin_blocking(self, start: PostgresOffset, tables: Sequence[Pending]) -> PostgresOffset:
        """As `begin`, for the tables that signals ask for while the stream waits."""
        self._source.hold(None)
        assert start.signals is not None
        signals = replace(start.signals, blocking=(), inserts=(), xid=None)
        progress = self._planner.begin_blocking(
            {table.name: table.condition for table in tables},
            start.signals.xid,
            ordinals_used(start.heartbeat, signals.ordinal) + 1,
        )
        return replace(
            start,
            snapshot=progress,
            signals=signals,
            consistent=self._source.position(),
            slices=1,
            order=self._plan.order,
        )

    def poll(self, after: PostgresOffset) -> PostgresOffset:
        """The end of the next range of chunks; behind the last one, the position without snapshot,
        which says that all of it was read. Raises AttemptOver."""
        assert after.snapshot is not None
        progress = self._planner.next_range(after.snapshot)
        if self._source.continued_at is not None:
            after = replace(after, consistent=self._source.continued_at)
        if progress is None:
            return after.after_snapshot()
        slices = max(1, min(self._plan.slices, len(progress.chunks)))
        return replace(after, snapshot=progress, slices=slices, order=self._plan.order)

    def resumed(self, progress: SnapshotProgress) -> SnapshotProgress:
        """Where to go on after the snapshot was lost. Raises AttemptOver."""
        return self._planner.resumed(progress)

    def slices(self, start: PostgresOffset, end: PostgresOffset) -> list[Slice]:
        """Slices of the chunks that `end` carries, in order."""
        progress = end.snapshot
        assert progress is not None
        if not progress.chunks:
            return []
        self._planner.ensure_held(start.snapshot or progress)
        snapshot_id = self._source.snapshot_id
        queries = []
        for number, (chunk, table) in enumerate(self._planner.chunks(progress)):
            announcements = ChunkAnnouncements.of(
                self._notifier.topic, progress.notifications, number
            )
            query = self._source.query(table, chunk, announcements)
            if query is not None:
                queries.append(query)
        groups = grouped(queries, [query.chunk.rows for query in queries], end.slices)
        return [
            ChunkSlice(
                tuple(group),
                snapshot_id,
                end.position.lsn_commit,
                progress.taken_us,
                progress.transaction,
                end.sequences,
                replace(self._settings, counted=False),
                self._config,
                end.position.last_commit,
                1 if progress.blocking else 0,
            )
            for group in groups
        ]

    def close(self) -> None:
        """Let the snapshot go; never raises."""
        self._planner.close()


def _limited(plan: Plan, config: PostgresConfig) -> Plan:
    """snapshot.max.threads bounds the connections, when it is set."""
    if not config.is_set("snapshot.max.threads"):
        return plan
    return replace(plan, slices=min(plan.slices, config.snapshot_max_threads))
