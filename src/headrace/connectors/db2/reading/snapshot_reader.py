"""Reads chunks of a snapshot in tasks, each on its own connection, with the snapshot's
isolation."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import (
    Connection,
    Cursor,
    Isolation,
    connect,
    translated_error,
)
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.reading.dialect import bound
from headrace.connectors.db2.rows.images import Db2Images, images_at
from headrace.connectors.db2.types.declarations import LARGE
from headrace.relational.events import RelationFacts
from headrace.relational.reading.driver_chunks import READING
from headrace.relational.rows.fetch_sizes import rows_at_once
from headrace.snapshots.modes import SnapshotRule
from headrace.snapshots.slices import ChunkQuery, SnapshotReader, SnapshotRows

log = logging.getLogger(__name__)

MODE = "snapshot.isolation.mode"
_ISOLATIONS = {
    "read_uncommitted": Isolation.UR,
    "read_committed": Isolation.CS,
    "repeatable_read": Isolation.RS,
    "exclusive": Isolation.RS,
}


def isolation_of(config: Db2Config) -> Isolation:
    """Return the isolation for snapshot.isolation.mode: JDBC's REPEATABLE_READ, which Debezium
    requests, is RS, and keeps a lock on each row of a chunk until the chunk is read. If it is not
    set and the stream follows, it is CS: changes that are made while rows are read come again in
    the stream."""
    if not config.is_set(MODE) and SnapshotRule.of(config).streams:
        return Isolation.CS
    return _ISOLATIONS[str(config.snapshot_isolation_mode)]


def images_of(facts: RelationFacts, cursor: Cursor) -> Db2Images:
    """Return the converter of a cursor's rows to images: columns by their names; columns that it
    does not return are null."""
    places = {name: place for place, name in enumerate(cursor.columns)}
    return images_at(
        facts.name, facts.columns, [places.get(column.name) for column in facts.columns]
    )


class Db2SnapshotRows(SnapshotRows):
    """See SnapshotRows; the driver fetches `snapshot.fetch.size` rows at once, or fewer."""

    def __init__(self, config: Db2Config, connection: Connection) -> None:
        self._config, self._connection = config, connection

    def blocks(self, query: ChunkQuery) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows of a statement. If a signal's filter fails on a row, the rows end there.
        Raises HeadraceError."""
        facts = query.facts
        assert isinstance(facts, RelationFacts)
        try:
            cursor = self._connection.cursor(*bound(query.query))
            images = images_of(facts, cursor)
            kinds = (str(column.type) for column in facts.columns)
            size = rows_at_once(self._config.snapshot_fetch_size, kinds, LARGE)
            while rows := cursor.fetch(size):
                yield images.block(rows)
            cursor.close()
        except DriverError as error:
            if not query.filtered or not error.is_of_statement:
                doing = f"Reading rows of {facts.name}"
                raise translated_error(error, self._config, doing) from None
            reason = self._config.hidden.in_error(error.text)
            log.error(
                "Reading %s stopped early: the filter of the signal failed: %s", facts.name, reason
            )

    def count(self, query: ChunkQuery, rows: int) -> int:
        """See SnapshotRows."""
        if query.count is None:
            return rows
        try:
            ((count,),) = self._connection.rows(*bound(query.count))
        except DriverError as error:
            if not query.filtered or not error.is_of_statement:
                doing = f"Counting rows of {query.facts.name}"
                raise translated_error(error, self._config, doing) from None
            return rows  # a signal's filter fails on a row
        return int(count)


@dataclass(frozen=True)
class Db2SnapshotReader(SnapshotReader):
    """See `headrace.snapshots.slices.SnapshotReader`."""

    config: Db2Config

    @contextmanager
    def open(self) -> Iterator[Db2SnapshotRows]:
        """See SnapshotReader. Raises HeadraceError."""
        with connect(self.config) as connection:
            try:
                connection.isolate(isolation_of(self.config))
            except DriverError as error:
                raise translated_error(error, self.config, READING) from None
            yield Db2SnapshotRows(self.config, connection)
