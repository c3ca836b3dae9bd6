"""Plans a snapshot: existing rows as chunks that tasks read in parallel, all from one state of the
database; resumed by the rules of decision 2."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.offsets.offset import Offset, P
from headrace.offsets.snapshot_progress import SnapshotProgress
from headrace.signals.notifications import Notifier
from headrace.signals.progress import Pending, SignalProgress
from headrace.signals.stored import reading
from headrace.snapshots.chunks import Chunk, ChunkKind, rows_per_chunk
from headrace.snapshots.notifications import announcements
from headrace.snapshots.snapshot_source import SnapshotSource
from headrace.snapshots.tables import Leaf, SnapshotTable, TableId
from headrace.snapshots.walker import Walker

log = logging.getLogger(__name__)

_RANGE_CHUNKS = 64
"""The most chunks of a range; its offset contains their bounds."""


class AttemptOver(Exception):
    """Raised if the snapshot was lost, and its unread part cannot be read on a later one."""


@dataclass(frozen=True)
class SnapshotOptions:
    """`chunk_bytes`: the target size of a chunk. `slices`: the number of tasks that read in
    parallel. `restarts`: a lost snapshot begins again with its first table. `streams`: changes are
    streamed after the rows, and so update rows that are read on a later snapshot."""

    chunk_bytes: int
    slices: int
    restarts: bool
    streams: bool


class SnapshotPlanner:
    """Plans the chunks of one snapshot, and of its continuation after a restart."""

    def __init__(
        self, source: SnapshotSource[Any, Any], options: SnapshotOptions, notifier: Notifier
    ) -> None:
        self._source, self._options, self._notifier = source, options, notifier
        self._renewed = False
        self._rows: dict[TableId, int] = {}

    def lock(self) -> None:
        """Lock the tables that will be read, before the snapshot is taken."""
        self._source.lock()

    def begin(self) -> SnapshotProgress:
        """Return the progress before the first chunk of the snapshot that the source holds."""
        return self._begun(None)

    def begin_blocking(
        self, conditions: Mapping[str, str | None], transaction: int | None, ordinal: int
    ) -> SnapshotProgress:
        """Return the progress before the first chunk, for the tables that signals ask for (by name,
        with their filters) while the stream waits. `ordinal` is the first chunk's. If the
        snapshot's rows show a transaction, they show the one of the signal (`transaction`, if it is
        known)."""
        begun = self._begun(conditions)
        begun_transaction = begun.transaction
        return replace(
            begun,
            transaction=begun_transaction
            if begun_transaction is None or transaction is None
            else transaction,
            after=beginning(ordinal),
            blocking=True,
        )

    def _begun(self, conditions: Mapping[str, str | None] | None) -> SnapshotProgress:
        snapshot = self._source.held
        assert snapshot is not None
        tables = tuple(table.to_json() for table in self._source.tables(conditions))
        return SnapshotProgress(
            taken_us=snapshot.taken_us,
            transaction=snapshot.transaction,
            visible=snapshot.visible,
            table=0,
            after=None,
            chunks=(),
            tables=tables,
            done=not tables,
        )

    def next_range(self, progress: SnapshotProgress) -> SnapshotProgress | None:
        """Return the progress at the end of the next range of chunks; None when every chunk was
        read. Raises AttemptOver."""
        while True:
            self.ensure_held(progress)
            if self._renewed:
                self._renewed = False
                progress = self._recut(self._after_gap(progress))
            # Checked after the last chunk, too: its task may have read it on a later state.
            planned = None
            if not self._is_outdated(progress):
                planned = None if progress.done else self._planned(progress)
                if planned is None or not self._is_outdated(planned):
                    return planned
            self._source.let_go()

    def _is_outdated(self, progress: SnapshotProgress) -> bool:
        """Whether the snapshot no longer shows the tables still to be read, or those read last."""
        rest = _unread(progress)
        return bool(rest) and self._source.is_outdated(rest)

    def _planned(self, progress: SnapshotProgress) -> SnapshotProgress:
        """Return the progress at the end of the range that follows."""
        tables = _tables_of(progress)
        self._source.expect(tables)
        self._source.refresh()  # describes tables as of the time when their first chunk is planned
        walker = Walker(self._source, tables, progress.table, progress.after, self._rows_per_chunk)
        slices, chunk_bytes = self._options.slices, self._options.chunk_bytes
        chunks: list[Chunk] = []
        size = 0
        while len(chunks) < _RANGE_CHUNKS and size < slices * chunk_bytes:
            chunk = walker.next()
            if chunk is None:
                break
            chunks.append(chunk)
            size += max(1, chunk.rows) * walker.row_bytes
            if chunk.rows >= walker.chunk_rows // 2 and len(chunks) >= slices:
                break
        return replace(
            progress,
            table=walker.table,
            after=walker.place,
            chunks=tuple(chunk.to_json() for chunk in chunks),
            done=walker.finished,
            reread=False,
            notifications=announcements(
                self._notifier,
                [table.name for table in tables],
                chunks,
                begins=not progress.chunks and progress.table == 0,
            ),
        )

    def ensure_held(self, progress: SnapshotProgress) -> None:
        """Hold the snapshot of `progress`, or a later one that covers it when it was lost: then the
        next range continues by the rules of `resumed`."""
        if self._source.held is None and not self._source.regain(progress.visible):
            self._source.lock()
            snapshot = self._source.hold(progress.visible)
            self._renewed = True
            log.info("the snapshot continues with a later one, which sees %s", snapshot.visible)

    def resumed(self, progress: SnapshotProgress) -> SnapshotProgress:
        """Return the progress from which another process continues: unchanged if the database can
        still show the same state, otherwise by the rules of `_after_gap`. Raises AttemptOver."""
        if self._source.regain(progress.visible):
            return progress
        return self._after_gap(progress)

    def _after_gap(self, progress: SnapshotProgress) -> SnapshotProgress:
        """Return the progress from which to continue after the snapshot was lost. Raises
        AttemptOver.

        The chunks of the range that ends at `progress` count as being read: they may have been read
        on the lost snapshot or again on a later one. A table without a key must not be read on a
        later one at all: rows inserted since then would be delivered twice.
        """
        if not self._options.streams:
            # No stream will contain the changes between the two snapshots.
            raise AttemptOver
        tables = _tables_of(progress)
        self._source.expect(tables)
        rest = _unread(progress)
        self._source.refresh(rest)
        if any(t.kind is not ChunkKind.KEY and not self._source.has_key(t) for t in rest):
            raise AttemptOver
        place = progress.after
        if place is None:
            return progress
        first = beginning(place["ordinal"])
        touched = {chunk["table"] for chunk in progress.chunks}
        if place["leaf"] > 0 or place["lower"] is not None:
            touched.add(progress.table)
        if touched and self._options.restarts:
            return replace(progress, table=0, after=first, reread=True, done=False)
        for number in sorted(touched):
            if tables[number].kind is not ChunkKind.KEY:
                return replace(progress, table=number, after=first, reread=True, done=False)
        return progress

    def _recut(self, progress: SnapshotProgress) -> SnapshotProgress:
        """Add partitions that were created since the tables were listed; they are read after the
        others of their table. If its last chunk was already handed out, planning returns to that
        table."""
        tables = _tables_of(progress)
        first = _first_unread(progress)
        rest = tables[first:]
        if not rest:
            return progress
        begun = [_begun(progress, number, table) for number, table in enumerate(rest, first)]
        recut = list(self._source.recut(rest, begun))
        listed = tuple(table.to_json() for table in [*tables[:first], *recut])
        progress = replace(progress, tables=listed)
        for number, (before, now) in enumerate(zip(rest, recut, strict=True), first):
            if number < progress.table and len(now.leaves) > len(before.leaves):
                assert progress.after is not None
                place = beginning(progress.after["ordinal"]) | {"leaf": len(before.leaves)}
                return replace(progress, table=number, after=place, reread=True, done=False)
        return progress

    def chunks(self, progress: SnapshotProgress) -> list[tuple[Chunk, SnapshotTable]]:
        """Return the chunks of the range that ends at `progress`, each with its table."""
        tables = _tables_of(progress)
        self._source.expect(tables)
        chunks = map(Chunk.from_json, progress.chunks)
        return [(chunk, tables[chunk.table]) for chunk in chunks]

    def _rows_per_chunk(self, leaf: Leaf) -> int:
        if leaf.id not in self._rows:
            self._rows[leaf.id] = rows_per_chunk(
                self._source.rows(leaf),
                leaf.pages * self._source.page_bytes,
                self._options.chunk_bytes,
                self._options.slices,
            )
        return self._rows[leaf.id]

    def close(self) -> None:
        """Let the snapshot go; never raises."""
        self._source.close()


def beginning(ordinal: int) -> dict[str, Any]:
    """Return the place of a table's first chunk, which has this ordinal, as in an offset."""
    return {"leaf": 0, "lower": None, "ordinal": ordinal}


def asked_again(after: Offset[P]) -> Offset[P]:
    """Return the offset after a blocking snapshot that cannot continue from `after`: it asks for
    another snapshot of the tables that were not read to their end, with their filters."""
    progress = after.snapshot
    assert progress is not None
    left = [Pending(table.name, "", table.condition) for table in _unread(progress)]
    names = ", ".join(table.name for table in left)
    log.warning(
        "the blocking snapshot cannot continue with a later state: it starts again: %s", names
    )
    ended = after.after_snapshot()
    signals = ended.signals or SignalProgress()
    requested = (*left, *signals.blocking)
    xid = progress.transaction if requested else None
    return replace(ended, signals=replace(signals, blocking=requested, xid=xid))


def _unread(progress: SnapshotProgress) -> list[SnapshotTable]:
    """Return the tables that were not read to their end, and those of the range that is read
    now."""
    return _tables_of(progress)[_first_unread(progress) :]


def _first_unread(progress: SnapshotProgress) -> int:
    return min([progress.table, *(int(chunk["table"]) for chunk in progress.chunks)])


def _begun(progress: SnapshotProgress, number: int, table: SnapshotTable) -> int:
    """Return how many leaves of the table `number` were handed out, at least in part."""
    if number < progress.table:
        return len(table.leaves)
    if number > progress.table or progress.after is None:
        return 0
    return int(progress.after["leaf"]) + (progress.after["lower"] is not None)


def _tables_of(progress: SnapshotProgress) -> list[SnapshotTable]:
    tables = [SnapshotTable.from_json(table) for table in progress.tables]
    with reading(progress.chunks):
        last = max((chunk["table"] for chunk in progress.chunks), default=-1)
        if last >= len(tables):
            raise ValueError(f"there is no table {last}")
    return tables
