"""Db2 under incremental snapshots: ranges of keys that are read as they are committed, one after
the other or at the same time. What Capture had written before is seen by each of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.connectors.db2 import sql
from headrace.connectors.db2.capture import Capture, needed_columns
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.lsn import LSN_BYTES, place_of
from headrace.connectors.db2.reading.dialect import SQL, SQLGLOT, bound
from headrace.connectors.db2.reading.kept_connection import KeptConnection
from headrace.connectors.db2.reading.snapshot_reader import READING, images_of
from headrace.connectors.db2.reading.snapshot_source import commit_image, key_texts
from headrace.connectors.db2.reading.table_catalog import SnapshotCatalog
from headrace.errors import HeadraceError
from headrace.relational.catalog import StoredTable
from headrace.relational.events import RelationFacts
from headrace.relational.reading.chunk_targets import ChunkTargets, TableTarget
from headrace.relational.reading.key_ranges import Block, KeyRanges
from headrace.relational.table import Column
from headrace.signals.progress import Key, Pending
from headrace.snapshots.incremental.lanes import Lanes
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.snapshots.incremental.source import ChunkSource, KeyRange, Skipped
from headrace.snapshots.incremental.visibility import SeenBefore

Target = TableTarget[StoredTable]


class Db2Ranges(KeyRanges[StoredTable]):
    """See KeyRanges; on a connection of its own."""

    sql = SQL

    def __init__(self, config: Db2Config, kept: KeptConnection) -> None:
        self._config, self._kept = config, kept
        self._facts: RelationFacts

    @contextmanager
    def planning(self, target: Target) -> Iterator[None]:  # noqa: ARG002
        """What fails because of the table becomes Skipped, and a lost connection a HeadraceError
        that may be tried again."""
        try:
            with self._kept.translated(READING):
                yield
        except HeadraceError as error:
            if error.retriable:
                raise
            raise Skipped("SQL_EXCEPTION", error.message) from None

    def _rows(self, statement: str) -> Sequence[tuple[Any, ...]]:
        return self._kept.get().rows(*bound(statement))

    def _keys(self, statement: str, key: Sequence[Column]) -> list[Key]:
        return list(key_texts(self._rows(statement), key))

    def _bounds(self, whole: KeyRange[Target], size: int, count: int) -> list[Key]:
        """One after the other: each is sought behind the one before."""
        target, bounds = whole.target, list[Key]()
        lower = whole.lower
        for _ in range(count):
            rest = KeyRange(target, lower, whole.upper)
            statement = SQL.key_behind(
                target.table.path, target.columns, SQL.conditions(rest), size - 1
            )
            found = self._keys(statement, target.columns)
            if not found:
                break
            lower = found[0]
            bounds.append(lower)
        return bounds

    def read_range(self, keys: KeyRange[Target]) -> ChunkRows | Skipped:
        """See KeyRanges."""
        self._facts = keys.target.facts
        return super().read_range(keys)

    def _selected(self, target: Target) -> list[str]:
        needed = {*needed_columns(target.facts), *target.table.key}
        needed |= {column.name for column in target.columns}
        columns, names = target.table.by_name, target.facts.cell_names
        return [sql.readable(columns[name]) for name in names if name in needed]

    def _blocks(self, select: str, max_bytes: int | None) -> tuple[list[Block], bool]:
        cursor = self._kept.get().cursor(*bound(select))
        images = images_of(self._facts, cursor)
        blocks: list[Block] = []
        size = 0
        while rows := cursor.fetch(self._config.snapshot_fetch_size):
            block = images.block(rows)
            blocks.append(block)
            size += len(block.images)
            if max_bytes is not None and size > max_bytes:
                cursor.close()
                return blocks, True
        cursor.close()
        return blocks, False


class _Lane(Db2Ranges):
    """See `snapshots.incremental.lanes.Lane`."""

    def __init__(self, config: Db2Config) -> None:
        super().__init__(config, KeptConnection(config))
        self._kept.get()

    @property
    def closed(self) -> bool:
        """Whether the connection was lost."""
        return self._kept.closed

    def read(self, _state: int, keys: KeyRange[Target]) -> ChunkRows | Skipped:
        """The rows of a range, which see whatever was committed before."""
        with self._kept.transaction(READING):
            return self.read_range(keys)

    def close(self) -> None:
        """Close the connection; never raises."""
        self._kept.close()


class _Transaction(Db2Ranges):
    """See `snapshots.incremental.source.ChunkTransaction`."""

    def __init__(
        self, config: Db2Config, kept: KeptConnection, lanes: Lanes[Target, int], place: int
    ) -> None:
        super().__init__(config, kept)
        self.taken_us = time.time_ns() // 1000
        self.visibility = SeenBefore(place)
        self._lanes, self._place = lanes, place

    def row_bytes(self, target: Target) -> float | None:
        """By the pages of the table and its rows; None: it has none."""
        (leaf,) = target.table.leaves
        return leaf.pages * 4096 / leaf.rows if leaf.rows > 0 and leaf.pages > 0 else None

    def read(self, ranges: Sequence[KeyRange[Target]]) -> list[ChunkRows | Skipped]:
        """The first range by this connection, the others by the lanes."""
        return self._lanes.read(self.read_range, self._place, ranges)


class Db2ChunkSource(ChunkSource[Target]):
    """See ChunkSource: one connection and lanes beside it, opened when they are first needed."""

    def __init__(self, config: Db2Config, capture: Capture) -> None:
        self._config, self._capture = config, capture
        self._kept = KeptConnection(config)
        self._targets = ChunkTargets(SnapshotCatalog(self._kept.get), capture, SQLGLOT)
        self._lanes: Lanes[Target, int] = Lanes(
            config.headrace_incremental_snapshot_threads, lambda: _Lane(config)
        )
        self._lsn_bytes = LSN_BYTES

    def close(self) -> None:
        """Close the connections; never raises."""
        self._lanes.close()
        self._kept.close()

    def rest(self) -> None:
        """Close the lanes until something is to be read."""
        self._lanes.close()

    def tables(self) -> list[str]:
        """See ChunkSource."""
        with self._kept.transaction("Listing tables"):
            return self._targets.names()

    def position(self) -> int:
        """Behind the last commit that Capture has written."""
        with self._kept.transaction(READING) as connection:
            ((newest,),) = connection.rows(sql.newest_lsn(self._config))
        if newest is None:
            return 0
        self._lsn_bytes = len(newest)
        return place_of(bytes(newest)) + 1

    def transaction_image(self, place: int, kind: int) -> bytes:
        """See ChunkSource: the number of the commit that rows show."""
        return commit_image(self._lsn_bytes, place, kind)

    def target(self, pending: Pending) -> Target:
        """See ChunkSource."""
        with self._kept.transaction("Describing a table"):
            return self._targets.target(pending, self._capture.key_rendering)

    @contextmanager
    def transaction(self, *, shared: bool) -> Iterator[_Transaction]:  # noqa: ARG002
        """See ChunkSource: what Capture has written by now is seen by whatever is read then."""
        place = self.position()
        with self._kept.transaction(READING):
            yield _Transaction(self._config, self._kept, self._lanes, place)
