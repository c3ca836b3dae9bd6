"""Chunks of incremental snapshots of Db2: ranges of keys with the rows that are committed when they
are read, one after the other or in parallel. Each of them sees what Capture had written before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.connectors.db2 import sql
from headrace.connectors.db2.capture import Capture, needed_columns
from headrace.connectors.db2.clock import server_time_us
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection, Cursor
from headrace.connectors.db2.lsn import LSN_BYTES, place_of
from headrace.connectors.db2.reading.dialect import SQL, SQLGLOT, bound
from headrace.connectors.db2.reading.kept_connection import kept_connection
from headrace.connectors.db2.reading.snapshot_reader import images_of
from headrace.connectors.db2.reading.snapshot_source import commit_image, key_texts
from headrace.connectors.db2.reading.table_catalog import snapshot_catalog
from headrace.connectors.db2.rows.images import Db2Images
from headrace.connectors.db2.types.declarations import LARGE
from headrace.relational.events import RelationFacts
from headrace.relational.reading.chunk_targets import ChunkTargets
from headrace.relational.reading.driver_chunks import READING, DriverChunks, DriverRanges, Target
from headrace.relational.reading.kept_connection import KeptConnection
from headrace.relational.table import Column
from headrace.signals.progress import Key
from headrace.snapshots.incremental.chunk_source import KeyRange, Skipped
from headrace.snapshots.incremental.lanes import Lanes
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.snapshots.incremental.visibility import SeenBefore


class Db2Ranges(DriverRanges):
    """See DriverRanges."""

    sql = SQL
    large = LARGE

    def _cursor(self, statement: str) -> Cursor:
        cursor: Cursor = self._kept.get().cursor(*bound(statement))
        return cursor

    def _key_texts(
        self, rows: Sequence[tuple[Any, ...]], key: Sequence[Column]
    ) -> list[tuple[str | None, ...]]:
        return key_texts(rows, key)

    def _images(self, facts: RelationFacts, cursor: Cursor) -> Db2Images:
        return images_of(facts, cursor)

    def _bounds(self, whole: KeyRange[Target], size: int, count: int) -> list[Key]:
        """Return the bounds, each sought after the one before."""
        target, bounds = whole.target, list[Key]()
        lower = whole.lower
        for _ in range(count):
            rest = KeyRange(target, lower, whole.upper)
            statement = SQL.key_after(
                target.table.path, target.columns, SQL.conditions(rest), size - 1
            )
            keys = self._keys(statement, target.columns)
            if not keys:
                break
            lower = keys[0]
            bounds.append(lower)
        return bounds

    def _selected(self, target: Target) -> list[str]:
        needed = {*needed_columns(target.facts), *target.table.key}
        needed |= {column.name for column in target.columns}
        columns, names = target.table.by_name, target.facts.cell_names
        return [sql.readable(columns[name]) for name in names if name in needed]


class _Lane(Db2Ranges):
    """See `snapshots.incremental.lanes.Lane`."""

    def __init__(self, config: Db2Config) -> None:
        super().__init__(config, kept_connection(config))
        self._kept.get()

    @property
    def closed(self) -> bool:
        """Whether the connection was lost."""
        return self._kept.closed

    def read(self, _state: int, keys: KeyRange[Target]) -> ChunkRows | Skipped:
        """Return the rows of a range, which show everything that was committed before."""
        with self._kept.transaction(READING):
            return self.read_range(keys)

    def close(self) -> None:
        """Close the connection; never raises."""
        self._kept.close()


class _Transaction(Db2Ranges):
    """See `snapshots.incremental.source.ChunkTransaction`."""

    def __init__(
        self,
        config: Db2Config,
        session: KeptConnection[Connection],
        lanes: Lanes[Target, int],
        place: int,
        taken_us: int,
    ) -> None:
        super().__init__(config, session)
        self.taken_us = taken_us
        self.visibility = SeenBefore(place)
        self._lanes, self._place = lanes, place

    def row_bytes(self, target: Target) -> float | None:
        """Return the mean size of a row, by the pages and rows of the table; None if it has
        none."""
        (leaf,) = target.table.leaves
        return leaf.pages * 4096 / leaf.rows if leaf.rows > 0 and leaf.pages > 0 else None

    def read(self, ranges: Sequence[KeyRange[Target]]) -> list[ChunkRows | Skipped]:
        """Read the first range on this connection, the others on the lanes."""
        return self._lanes.read(self.read_range, self._place, ranges)


class Db2ChunkSource(DriverChunks[int]):
    """See DriverChunks."""

    def __init__(self, config: Db2Config, capture: Capture) -> None:
        session = kept_connection(config)
        targets = ChunkTargets(snapshot_catalog(session.get), capture, SQLGLOT)
        super().__init__(config, session, targets, capture.key_rendering, lambda: _Lane(config))
        self._config, self._lsn_bytes = config, LSN_BYTES

    def position(self) -> int:
        """Return the place after the last commit that Capture has written."""
        with self._kept.transaction(READING) as connection:
            ((newest,),) = connection.rows(sql.newest_lsn(self._config))
        if newest is None:
            return 0
        self._lsn_bytes = len(newest)
        return place_of(bytes(newest)) + 1

    def transaction_image(self, place: int, kind: int) -> bytes:
        """See ChunkSource: the number of the commit that rows show."""
        return commit_image(self._lsn_bytes, place, kind)

    @contextmanager
    def transaction(self, *, shared: bool) -> Iterator[_Transaction]:  # noqa: ARG002
        """See ChunkSource: its reads see what Capture has written so far."""
        place = self.position()
        with self._kept.transaction(READING) as connection:
            taken_us = server_time_us(connection)
            yield _Transaction(self._config, self._kept, self._lanes, place, taken_us)
