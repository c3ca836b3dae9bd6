"""Reads chunks of a snapshot in tasks, each on its own connection, as of the snapshot's SCN."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.connectors.oracle.clock import current_scn
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection, connect, translated_error
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.reading.chunk_query import (
    ROWS_GONE_FROM_UNDO,
    SCN_NOT_READABLE,
    RowsQuery,
)
from headrace.connectors.oracle.rows.images import images_of
from headrace.connectors.oracle.types.declarations import LONG_VALUES
from headrace.errors import HeadraceError
from headrace.relational.events import RelationFacts
from headrace.relational.reading.driver_chunks import READING
from headrace.relational.rows.fetch_sizes import rows_at_once
from headrace.snapshots.image_block import ImageBlock
from headrace.snapshots.slices import ChunkQuery, SnapshotReader, SnapshotRows

log = logging.getLogger(__name__)

_NO_TABLE = 942
_MAX_SCNS = 5
"""The most SCNs as of which a chunk is read, one after the other, while undo loses its rows."""


class OracleSnapshotRows(SnapshotRows):
    """See SnapshotRows; the driver fetches `snapshot.fetch.size` rows at once, or fewer."""

    def __init__(self, config: OracleConfig, connection: Connection) -> None:
        self._config, self._connection = config, connection

    def blocks(self, query: ChunkQuery) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows of a chunk. If a signal's filter fails on a row, the rows end there; if
        the SCN of the snapshot is gone and a later one may be used, the rest is read as of the
        latter. Raises HeadraceError."""
        facts, rows = query.facts, query.query
        assert isinstance(facts, RelationFacts)
        assert isinstance(rows, RowsQuery)
        scn = rows.scn
        last_key: tuple[str, ...] | None = None
        for attempt in itertools.count(1):
            try:
                for block, last in self._read(rows.statement(scn, last_key), facts):
                    yield block
                    if rows.may_read_later:
                        last_key = rows.key_of(last) or last_key
                return
            except DriverError as error:
                if (
                    rows.may_read_later
                    and error.code in SCN_NOT_READABLE
                    and attempt < self._most_scns
                ):
                    scn = self._now()
                    reason = self._config.hidden.in_error(error.text)
                    log.warning("%s is read further as of SCN %d: %s", facts.name, scn, reason)
                    continue
                problem = translated_error(error, self._config, f"Reading rows of {facts.name}")
                if error.code in ROWS_GONE_FROM_UNDO and not rows.may_read_later:
                    problem = _no_later_scn(problem)
                elif error.code == _NO_TABLE and rows.override is None:
                    problem = altered(problem)
                if not query.filtered or problem.retriable:
                    raise problem from None
                reason = self._config.hidden.in_error(error.text)
                log.error(
                    "Reading %s stopped early: the filter of the signal failed: %s",
                    facts.name,
                    reason,
                )
                return

    def _read(
        self, statement: str, facts: RelationFacts
    ) -> Iterator[tuple[ImageBlock, tuple[Any, ...]]]:
        """Yield blocks of rows, each with its last row. Raises DriverError."""
        kinds = (str(column.type) for column in facts.columns)
        size = rows_at_once(self._config.snapshot_fetch_size, kinds, LONG_VALUES)
        cursor = self._connection.cursor(statement, rows=size, exact=True)
        images = images_of(facts.name, facts.columns, cursor.columns)
        while rows := cursor.fetch(size):
            yield images.block(rows), rows[-1]
        cursor.close()

    @property
    def _most_scns(self) -> int:
        return max(_MAX_SCNS, self._config.snapshot_database_errors_max_retries)

    def _now(self) -> int:
        """Return the current SCN. Raises HeadraceError."""
        try:
            return current_scn(self._connection)
        except DriverError as error:
            raise translated_error(error, self._config, READING) from None

    def count(self, query: ChunkQuery, rows: int) -> int:
        """See SnapshotRows."""
        if query.count is None:
            return rows
        try:
            ((count,),) = self._connection.rows(query.count)
        except DriverError:
            return rows  # a signal's filter fails on a row, or the SCN is gone
        return int(count)


def altered(problem: HeadraceError) -> HeadraceError:
    """Return the error of a table that was altered or dropped while it was read."""
    return HeadraceError(
        problem.code,
        problem.message,
        "The table is described and read again; the rows of one that was dropped are left out. "
        f"{problem.remedy}",
        retriable=True,
    )


def _no_later_scn(problem: HeadraceError) -> HeadraceError:
    """Return the error of rows that may not be read as of a later SCN, because there is no key or
    no stream."""
    return HeadraceError(
        problem.code,
        problem.message,
        "Raise UNDO_RETENTION (ALTER SYSTEM SET UNDO_RETENTION = 21600;) and the undo tablespace, "
        "and start with a new checkpoint: these rows have no key, or no stream follows them, so "
        "that they cannot be read on under a later SCN.",
    )


@dataclass(frozen=True)
class OracleSnapshotReader(SnapshotReader):
    """See `headrace.snapshots.slices.SnapshotReader`."""

    config: OracleConfig

    @contextmanager
    def open(self) -> Iterator[OracleSnapshotRows]:
        """See SnapshotReader. Raises HeadraceError."""
        with connect(self.config, container=self.config.container) as connection:
            yield OracleSnapshotRows(self.config, connection)
