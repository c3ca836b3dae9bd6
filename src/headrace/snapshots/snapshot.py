"""A snapshot in the offsets of its connector: begun, continued, and divided into slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Generic

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.slices import Plan, Slice
from headrace.errors import HeadraceError
from headrace.offsets.offset import Offset, P
from headrace.offsets.ordinals import ordinals_used
from headrace.offsets.snapshot_progress import SnapshotProgress
from headrace.signals.notifications import Notifier
from headrace.signals.progress import Pending
from headrace.snapshots.chunks import grouped
from headrace.snapshots.modes import SnapshotRule
from headrace.snapshots.notifications import ChunkAnnouncements
from headrace.snapshots.planner import SnapshotOptions, SnapshotPlanner, beginning
from headrace.snapshots.slices import PREFACE_ORDINAL, ChunkSlice, PrefaceSlice, SnapshotPlace
from headrace.snapshots.snapshot_source import H, SnapshotSource
from headrace.streaming.facts import EventSettings


class Snapshot(Generic[P, H]):
    """Plans the ranges of one snapshot, and of its continuation after a restart. Methods raise
    HeadraceError."""

    def __init__(
        self,
        config: ConnectorConfig,
        source: SnapshotSource[P, H],
        plan: Plan,
        settings: EventSettings,
    ) -> None:
        self._source, self._plan = source, _limited(plan, config)
        self._settings = replace(settings, counted=False)
        self._mode, self._rule = config.snapshot_mode, SnapshotRule.of(config)
        self._notifier = Notifier(config)
        options = SnapshotOptions(
            config.headrace_snapshot_chunk_bytes,
            self._plan.slices,
            str(config.snapshot_resume) == "restart",
            self._rule.streams,
        )
        self._planner = SnapshotPlanner(source, options, self._notifier)

    def lock(self) -> None:
        """Lock the tables that will be read, before the snapshot is taken."""
        self._source.lock()

    def begin(self, start: Offset[P], held_snapshot: H | None = None) -> Offset[P]:
        """Return the offset before the first chunk, with tables, snapshot and time. `held_snapshot`
        is the snapshot of `start`; without it, a new one is taken."""
        if held_snapshot is not None:
            self._source.adopt(held_snapshot)
        else:
            self._source.lock()
            if self._rule.streams:
                # The changes that the log streams from `start` on can be older than these rows.
                self._source.hold(None)
                start = replace(start, consistent=self._source.position())
            else:
                self._source.hold("")
                start = replace(start, position=self._source.moved(start.position))
        progress = self._planner.begin()
        return replace(start, snapshot=progress, slices=1, order=self._plan.order)

    def begin_blocking(self, start: Offset[P], tables: Sequence[Pending]) -> Offset[P]:
        """Return the offset before the first chunk, for the tables that signals ask for while the
        stream waits, each once. Further requests for them, which may have other filters, are left
        to the next snapshot."""
        self._source.hold(None)
        assert start.signals is not None
        requested: dict[str, Pending] = {}
        rest = tuple(
            table for table in tables if requested.setdefault(table.name, table) is not table
        )
        xid = start.signals.xid if rest else None
        signals = replace(start.signals.after_range(), blocking=rest, xid=xid)
        progress = self._planner.begin_blocking(
            {name: table.condition for name, table in requested.items()},
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

    def poll(self, after: Offset[P]) -> Offset[P]:
        """Return the end of the next range of chunks; after the last one, the position without a
        snapshot, which says that all of it was read. Raises as `resumed`."""
        assert after.snapshot is not None
        self._require_mode(after.snapshot)
        if self._is_before_preface(after.snapshot):
            begun = replace(after.snapshot, after=beginning(PREFACE_ORDINAL + 1))
            return replace(after, snapshot=begun, slices=1, order=self._plan.order)
        progress = self._planner.next_range(after.snapshot)
        if self._source.continued_at is not None:
            after = replace(after, consistent=self._source.continued_at)
        if progress is None:
            return after.after_snapshot()
        slices = max(1, min(self._plan.slices, len(progress.chunks)))
        return replace(after, snapshot=progress, slices=slices, order=self._plan.order)

    def _is_before_preface(self, progress: SnapshotProgress) -> bool:
        """Whether the range after `progress` has the records before the rows."""
        return self._source.is_prefaced and not progress.blocking and progress.after is None

    def resumed(self, progress: SnapshotProgress) -> SnapshotProgress:
        """Return the progress from which to continue after the snapshot was lost. Raises
        AttemptOver, and HeadraceError("….snapshot_unfinished") if snapshot.mode takes no
        snapshot."""
        self._require_mode(progress)
        return self._planner.resumed(progress)

    def _require_mode(self, progress: SnapshotProgress) -> None:
        reads_rows = progress.tables and not progress.blocking
        if reads_rows and not self._rule.ever_reads:
            raise HeadraceError(
                f"{self._settings.source.connector}.snapshot_unfinished",
                "The checkpoint is in the middle of a snapshot, which snapshot.mode="
                f"{self._mode} cannot continue",
                "Set snapshot.mode=initial until the snapshot is done, or start with a new "
                "checkpoint.",
            )

    def slices(self, start: Offset[P], end: Offset[P]) -> list[Slice]:
        """Return the slices of the chunks that `end` contains, in order. Raises
        HeadraceError("….snapshot_unfinished") as `resumed`: after a restart a range is planned
        again before any other call."""
        progress = end.snapshot
        assert progress is not None
        self._require_mode(progress)
        place = self._place(end, progress)
        if not progress.chunks:
            if start.snapshot is None or not self._is_before_preface(start.snapshot):
                return []
            records = tuple(self._source.preface(end.position))
            return [PrefaceSlice(records, place, end.sequences, self._settings)] if records else []
        self._planner.ensure_held(start.snapshot or progress)
        reader = self._source.reader()
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
            ChunkSlice(tuple(group), reader, place, end.sequences, self._settings)
            for group in groups
        ]

    def _place(self, end: Offset[P], progress: SnapshotProgress) -> SnapshotPlace:
        place = SnapshotPlace(
            end.position.committed,
            self._source.shown(end.position),
            self._source.last_commit(end.position),
            progress.taken_us,
            progress.transaction,
            progress.blocking,
        )
        image = self._source.transaction_image(end.position, place.kind)
        return replace(place, image=image)

    def close(self) -> None:
        """Let the snapshot go; never raises."""
        self._planner.close()


def _limited(plan: Plan, config: ConnectorConfig) -> Plan:
    """Return the plan with as many slices as headrace.snapshot.threads says, at most
    snapshot.max.threads if that is set."""
    slices = config.headrace_snapshot_threads or plan.slices
    if config.is_set("snapshot.max.threads"):
        slices = min(slices, config.snapshot_max_threads)
    return replace(plan, slices=slices)
