"""Reads incremental chunks: the next rows of tables, on a state of the database that says what it
sees."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic

from headrace.signals.progress import Key, Pending
from headrace.snapshots.incremental.rows import ChunkRows, ReadChunk
from headrace.snapshots.incremental.sizes import ChunkSizes
from headrace.snapshots.incremental.source import (
    ChunkSource,
    ChunkTransaction,
    KeyRange,
    Skipped,
    T,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Part(Generic[T]):
    """A range that is to be read; without, the table has `ended`."""

    table: Pending
    keys: KeyRange[T] | None
    maximum: Key | None = None
    ended: str | None = None


class ChunkReader(Generic[T]):
    """Chunks of a database's tables, one table behind the other."""

    def __init__(self, source: ChunkSource[T]) -> None:
        self._source = source

    def chunks(
        self,
        tables: Sequence[Pending],
        after: Key | None,
        maximum: Key | None,
        sizes: ChunkSizes,
    ) -> list[ReadChunk]:
        """The next chunks of `tables`; `sizes.at_once` of them have rows. The first table is read
        from `after` to `maximum`; without, its largest key is found. A chunk with less rows than
        asked for is a table's last one, unless they are Debezium's. Raises HeadraceError."""
        count = sizes.at_once
        with self._source.transaction(shared=count > 1) as transaction:
            parts: list[_Part[T]] = []
            for table in tables:
                room = count - sum(part.keys is not None for part in parts)
                if room <= 0:
                    break
                bounds = (None, None) if parts else (after, maximum)
                parts += self._parts(transaction, table, *bounds, sizes, room)
            ranges = [part.keys for part in parts if part.keys is not None]
            rows = iter(transaction.read(ranges))
            return list(_chunks(transaction, parts, rows, ends_early=not sizes.as_debezium))

    def again(self, table: Pending, lower: Key | None, upper: Key | None) -> ChunkRows:
        """The rows of a chunk as they are now. Raises HeadraceError, and Skipped."""
        target = self._source.target(table)
        with self._source.transaction(shared=False) as transaction:
            (rows,) = transaction.read([KeyRange(target, lower, upper)])
        if isinstance(rows, Skipped):
            raise rows
        return rows

    def _parts(
        self,
        transaction: ChunkTransaction[T],
        table: Pending,
        after: Key | None,
        maximum: Key | None,
        sizes: ChunkSizes,
        room: int,
    ) -> list[_Part[T]]:
        try:
            target = self._source.target(table)
            with transaction.planning(target):
                if maximum is None:
                    maximum = transaction.largest_key(target)
                    if maximum is None:
                        return [_Part(table, None, ended="EMPTY")]
                size = sizes.rows(table, lambda: transaction.row_bytes(target))
                whole = KeyRange(target, after, maximum, None, sizes.chunk_bytes)
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
            "SUCCEEDED" if ends else None,
        )
        if rows.cut:
            return  # what comes behind it is read when the rest of it was
