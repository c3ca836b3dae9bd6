"""Chunks of incremental snapshots of Oracle: ranges of keys as of one SCN, which is their place
among the transactions, read one after the other or in parallel."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.connectors.oracle.capture import Capture
from headrace.connectors.oracle.clock import current_scn
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection, Cursor
from headrace.connectors.oracle.reading.dialect import SQLGLOT, shown, sql_at
from headrace.connectors.oracle.reading.kept_connection import kept_connection
from headrace.connectors.oracle.reading.table_catalog import PAGE_BYTES, snapshot_catalog
from headrace.connectors.oracle.rows.images import OracleImages, images_of, key_texts
from headrace.connectors.oracle.rows.invalid_texts import has_mark, invalid_key
from headrace.connectors.oracle.scn import after_scn
from headrace.connectors.oracle.types.declarations import LONG_VALUES
from headrace.relational.events import RelationFacts
from headrace.relational.reading.chunk_sql import ChunkSql
from headrace.relational.reading.chunk_targets import ChunkTargets
from headrace.relational.reading.driver_chunks import READING, DriverChunks, DriverRanges, Target
from headrace.relational.reading.kept_connection import KeptConnection
from headrace.relational.table import Column
from headrace.snapshots.incremental.chunk_source import KeyRange, Skipped
from headrace.snapshots.incremental.lanes import Lanes
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.snapshots.incremental.visibility import SeenBefore


class OracleRanges(DriverRanges):
    """See DriverRanges; the rows are as of an SCN."""

    large = LONG_VALUES

    def __init__(self, config: OracleConfig, session: KeptConnection[Connection], scn: int) -> None:
        super().__init__(config, session)
        self._scn = scn

    @property
    def sql(self) -> ChunkSql:
        """The SQL as of the SCN."""
        return sql_at(self._scn)

    def _cursor(self, statement: str) -> Cursor:
        connection: Connection = self._kept.get()
        return connection.cursor(statement, rows=self._at_once, exact=True)

    def _key_texts(
        self, rows: Sequence[tuple[Any, ...]], key: Sequence[Column]
    ) -> list[tuple[str | None, ...]]:
        if any(map(has_mark, rows)):
            raise invalid_key(key)
        return key_texts(rows, key)

    def _images(self, facts: RelationFacts, cursor: Cursor) -> OracleImages:
        return images_of(facts.name, facts.columns, cursor.columns)

    def _selected(self, target: Target) -> list[str]:
        columns = target.table.by_name
        return shown(self.sql, [columns[name] for name in target.facts.cell_names])


class _Lane(OracleRanges):
    """See `snapshots.incremental.lanes.Lane`."""

    def __init__(self, config: OracleConfig) -> None:
        super().__init__(config, kept_connection(config), 0)
        self._kept.get()

    @property
    def closed(self) -> bool:
        """Whether the connection was lost."""
        return self._kept.closed

    def read(self, scn: int, keys: KeyRange[Target]) -> ChunkRows | Skipped:
        """Return the rows of a range as of an SCN."""
        self._scn = scn
        with self._kept.transaction(READING):
            return self.read_range(keys)

    def close(self) -> None:
        """Close the connection; never raises."""
        self._kept.close()


class _Transaction(OracleRanges):
    """See `snapshots.incremental.source.ChunkTransaction`."""

    def __init__(
        self,
        config: OracleConfig,
        session: KeptConnection[Connection],
        lanes: Lanes[Target, int],
        scn: int,
    ) -> None:
        super().__init__(config, session, scn)
        self.taken_us = time.time_ns() // 1000
        self.visibility = SeenBefore(after_scn(scn))
        self._lanes = lanes

    def row_bytes(self, target: Target) -> float | None:
        """Return the mean size of a row, by the blocks and rows of the table; None if it has
        none."""
        (leaf,) = target.table.leaves
        return leaf.pages * PAGE_BYTES / leaf.rows if leaf.rows > 0 and leaf.pages > 0 else None

    def read(self, ranges: Sequence[KeyRange[Target]]) -> list[ChunkRows | Skipped]:
        """Read the first range on this connection, the others on the lanes."""
        return self._lanes.read(self.read_range, self._scn, ranges)


class OracleChunkSource(DriverChunks[int]):
    """See DriverChunks."""

    def __init__(self, config: OracleConfig, capture: Capture) -> None:
        session = kept_connection(config)
        catalog = snapshot_catalog(session.get, comments=capture.reads_comments)
        targets = ChunkTargets(catalog, capture, SQLGLOT)
        super().__init__(config, session, targets, capture.key_rendering, lambda: _Lane(config))
        self._config, self.qualifier = config, f"{capture.database}."

    def position(self) -> int:
        """Return the place after the last commit."""
        return after_scn(self._scn())

    def _scn(self) -> int:
        with self._kept.transaction(READING) as connection:
            return current_scn(connection)

    @contextmanager
    def transaction(self, *, shared: bool) -> Iterator[_Transaction]:  # noqa: ARG002
        """See ChunkSource: its reads see what is committed by now, and nothing else."""
        scn = self._scn()
        with self._kept.transaction(READING):
            yield _Transaction(self._config, self._kept, self._lanes, scn)
