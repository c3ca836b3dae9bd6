"""Reads incremental chunks: the next rows of tables, on a state of the database with a known
visibility."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic

from headrace.signals.progress import Insert, Key, Pending, SignalProgress
from headrace.snapshots.incremental.chunk_source import (
    ChunkSource,
    ChunkTransaction,
    KeyRange,
    Skipped,
    T,
)
from headrace.snapshots.incremental.rows import ChunkRows, ReadChunk
from headrace.snapshots.incremental.sizes import ChunkSizes

log = logging.getLogger(__name__)

SUCCEEDED = "SUCCEEDED"


class OtherOrder(Exception):
    """Raised if `table` was replaced since bounds of its chunks were found, or its rows have
    another order now."""

    def __init__(self, table: Pending) -> None:
        super().__init__(
            f"{table.name} or its key was changed while its rows were read: it is read again from "
            "its first row on"
        )
        self.table = table


@dataclass(frozen=True)
class _Part(Generic[T]):
    """A range to read; without `keys`, the table has `ended` with that status."""

    table: Pending
    keys: KeyRange[T] | None
    maximum: Key | None = None
    ended: str | None = None


class ChunkReader(Generic[T]):
    """Reads chunks of a database's tables, one table after the other."""

    def __init__(self, source: ChunkSource[T]) -> None:
        self._source = source

    def chunks(
        self,
        progress: SignalProgress,
        sizes: ChunkSizes,
    ) -> list[ReadChunk]:
        """Return the next chunks of the tables of `progress`; `sizes.parallel_chunks` of them have
        rows. The first table is read from `after` to `maximum`; without `maximum`, its largest key
        is looked up. A chunk with fewer rows than requested is a table's last one, unless windows
        are Debezium's. Raises HeadraceError, and OtherOrder."""
        count = sizes.parallel_chunks
        with self._source.transaction(shared=count > 1) as transaction:
            parts: list[_Part[T]] = []
            for table in progress.tables:
                room = count - sum(part.keys is not None for part in parts)
                if room <= 0:
                    break
                begun = SignalProgress() if parts else progress
                parts += self._parts(transaction, table, begun, sizes, room)
            ranges = [part.keys for part in parts if part.keys is not None]
            rows = iter(transaction.read(ranges))
            chunks = list(_chunks(transaction, parts, rows, ends_early=not sizes.is_debezium_sized))
        for chunk in chunks:
            # Detects a change of the other tables' order, during this read, before the next one.
            if chunk.done == SUCCEEDED:
                self._require_order(chunk.table, chunk.order)
        return chunks

    def again(self, insert: Insert) -> ChunkRows:
        """Return the current rows of a chunk. Raises HeadraceError, Skipped, and OtherOrder."""
        table, order = insert.table, insert.order
        assert table is not None
        target = self._source.target(table)
        if order is not None and target.order != order:
            raise OtherOrder(table)
        with self._source.transaction(shared=False) as transaction:
            (rows,) = transaction.read([KeyRange(target, insert.lower, insert.upper)])
        if isinstance(rows, Skipped):
            raise rows
        self._require_order(table, target.order)
        return rows

    def _require_order(self, table: Pending, order: str | None) -> None:
        """Raise OtherOrder if the table, which was just read, has another order now."""
        if order is not None and self.has_other_order(table, order):
            raise OtherOrder(table)

    def has_other_order(self, table: Pending, order: str) -> bool:
        """Whether a table that can be read has another order now."""
        try:
            return self._source.target(table).order != order
        except Skipped:
            return False

    def _parts(
        self,
        transaction: ChunkTransaction[T],
        table: Pending,
        progress: SignalProgress,
        sizes: ChunkSizes,
        room: int,
    ) -> list[_Part[T]]:
        maximum = progress.maximum
        try:
            target = self._source.target(table)
            if progress.order is not None and target.order != progress.order:
                raise OtherOrder(table)
            with transaction.planning(target):
                if maximum is None:
                    maximum = transaction.largest_key(target)
                    if maximum is None:
                        return [_Part(table, None, ended="EMPTY")]
                size = sizes.rows(table, lambda: transaction.row_bytes(target))
                whole = KeyRange(target, progress.after, maximum, None, sizes.chunk_bytes)
                ranges = transaction.split(whole, size, room)
        except Skipped as problem:
            log.warning("%s is not read: %s", table.name, problem)
            return [_Part(table, None, ended=problem.status)]
        return [_Part(table, keys, maximum) for keys in ranges]


def _chunks(
    transaction: ChunkTransaction[T],
    parts: Sequence[_Part[T]],
    rows_of_ranges: Iterator[ChunkRows | Skipped],
    *,
    ends_early: bool,
) -> Iterator[ReadChunk]:
    visibility, taken_us = transaction.visibility, transaction.taken_us
    ended: Pending | None = None
    for part in parts:
        if part.keys is None:
            yield ReadChunk(part.table, None, visibility, taken_us, done=part.ended)
            continue
        rows = next(rows_of_ranges)
        if part.table is ended:
            continue  # a chunk before this one could not be read
        if isinstance(rows, Skipped):
            log.warning("%s is not read: %s", part.table.name, rows)
            ended = part.table
            yield ReadChunk(part.table, None, visibility, taken_us, done=rows.status)
            continue
        limit = part.keys.limit
        ends = limit is not None and len(rows) < (limit if ends_early else 1) and not rows.cut
        yield ReadChunk(
            part.table,
            rows if len(rows) else None,
            visibility,
            taken_us,
            part.keys.lower,
            rows.last_key(part.keys.target.key) if len(rows) else None,
            part.maximum,
            part.keys.target.parts,
            SUCCEEDED if ends else None,
            part.keys.target.order,
        )
        if rows.cut:
            return  # the next chunks are read after the rest of this one
