"""Reads the rows of the source in chunks, as columns of a replica, in the same way as a first
copy."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from headrace.config.properties.connector import ConnectorConfig
from headrace.errors import HeadraceError
from headrace.signals.progress import Insert, Key, Pending, SignalProgress
from headrace.sinks.replicas.changes.change_tables import ChangeTables
from headrace.sinks.replicas.changes.schemas import table_name
from headrace.sinks.replicas.files.reading import conformed
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.options import ReplicaOptions
from headrace.sinks.replicas.state.resyncing import COMPLETE_RESULTS
from headrace.snapshots.incremental.chunk_source import Skipped
from headrace.snapshots.incremental.current_rows import CurrentRows
from headrace.snapshots.incremental.reader import ChunkReader, OtherOrder
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.snapshots.incremental.sizes import ChunkSizes
from headrace.spark.task import read_records

_NAME = "headrace verify"
_KEYS_OF_QUERY = 50
NOT_READABLE = "replicas.not_readable"
"""The code of the error for rows that cannot be read from the database."""


@dataclass(frozen=True)
class Chunk:
    """A range (lower, upper] of keys of a source table, in the `order` of keys; only with the rows
    that the filter `condition` selects (None: all)."""

    table: str
    lower: Key | None
    upper: Key | None
    order: str | None
    condition: str | None = None


class SourceRows:
    """The current rows of the source, read by a connector. Methods raise HeadraceError:
    ("replicas.not_readable") for a table that cannot be read, and errors of the conversion to
    columns."""

    def __init__(
        self, config: ConnectorConfig, options: ReplicaOptions, current: CurrentRows
    ) -> None:
        self._config, self._options, self._current = config, options, current
        self._reader: ChunkReader[Any] = current.reader()
        self._tables = ChangeTables(
            looks_up_documents=not config.without_documents,
            documents=options.documents,
            prefix=config.topic_prefix,
        )

    def place(self) -> int:
        """See CurrentRows."""
        return self._current.place()

    def chunks(
        self,
        table: str,
        progress: SignalProgress | None = None,
        condition: str | None = None,
    ) -> Iterator[tuple[Chunk, ChunkRows | None, SignalProgress]]:
        """Yield the chunks of a table from `progress` on, each with the progress after it; the last
        one may have no rows. With `condition` only the rows that this filter of a signal
        selects."""
        pending = Pending(table, _NAME, condition)
        at = progress or SignalProgress((pending,))
        config = self._config
        sizes = ChunkSizes(
            config.incremental_snapshot_chunk_size,
            adapts=True,
            lanes=config.headrace_incremental_snapshot_threads,
            max_bytes=config.headrace_range_max_bytes,
        )
        while at.running:
            began = time.monotonic()
            try:
                group = self._reader.chunks(at, sizes)
            except OtherOrder:
                raise changed_meanwhile(table) from None
            sizes.adapt(time.monotonic() - began, group)
            for read in group:
                if read.done is not None and read.done not in COMPLETE_RESULTS:
                    raise _not_readable(table, read.done)
                at = replace(at, maximum=read.maximum, order=read.order)
                chunk = Chunk(table, read.lower, read.upper, read.order, condition)
                if read.rows is not None:
                    at = replace(at, after=read.upper, scanned=at.scanned + len(read.rows))
                if read.done is not None:
                    at = replace(at, tables=())
                yield chunk, read.rows, at
                if read.done is not None:
                    return

    def again(self, chunk: Chunk) -> ChunkRows:
        """Return the current rows of a chunk."""
        pending = Pending(chunk.table, _NAME, chunk.condition)
        insert = Insert(
            (0, 0, 0, 0), 0, None, 0, pending, chunk.lower, chunk.upper, order=chunk.order
        )
        try:
            return self._reader.again(insert)
        except OtherOrder:
            raise changed_meanwhile(chunk.table) from None
        except Skipped as problem:
            raise _not_readable(chunk.table, str(problem)) from None

    def queries(self, keys: pa.Table) -> list[str] | None:
        """Return filters that select the rows of these keys, so that `chunks` reads few rows; None:
        not possible, because of the key's types or because transforms change keys."""
        if self._config.transforms:
            return None
        conditions: list[str] = []
        for first in range(0, keys.num_rows, _KEYS_OF_QUERY):
            key_values = keys.slice(first, _KEYS_OF_QUERY).to_pydict()
            condition = self._current.condition(
                list(key_values), list(zip(*key_values.values(), strict=True))
            )
            if condition is None:
                return None
            conditions.append(condition)
        return conditions

    def columns(
        self, table: str, rows: ChunkRows, replica: TableName, types: Mapping[str, pa.DataType]
    ) -> pa.Table:
        """Convert rows of the source to the replica's columns, in these types; without rows that
        transforms leave out or route elsewhere."""
        part = self._current.slice_of(Pending(table, _NAME), rows, time.time_ns() // 1000)
        tables = [pa.schema(list(types.items())).empty_table()]
        for records in read_records(part, self._config):
            changes, failures = self._tables.of_piece(records, part.sequences)
            for failure in failures:
                raise failure.error
            for changes_of_table in changes:
                name = self._options.placed(
                    table_name(changes_of_table.topic, self._config.topic_prefix)
                )
                if name == replica:
                    tables.append(_conformed(changes_of_table.rows, replica, types))
        return pa.concat_tables(tables)


def _conformed(rows: pa.Table, replica: TableName, types: Mapping[str, pa.DataType]) -> pa.Table:
    if missing := [name for name in types if name not in rows.column_names]:
        raise HeadraceError(
            "replicas.source_changed",
            f"{replica}: the source has no column {', '.join(missing)} any more",
            "Compare again, once the replica has the columns of the source.",
        )
    columns = {
        name: conformed(rows[name], kind, name, str(replica)) for name, kind in types.items()
    }
    return pa.table(columns)


def changed_meanwhile(table: str) -> HeadraceError:
    """Return the error for a source table whose columns or key changed while it was read."""
    return HeadraceError(
        "replicas.source_changed",
        f"{table} or its key was changed while its rows were compared",
        "Compare again, once the replica has the columns of the source.",
    )


def _not_readable(table: str, why: str) -> HeadraceError:
    return HeadraceError(
        NOT_READABLE,
        f"The rows of {table} cannot be read: {why}",
        "Give it a key, and the connector's user the right to read it; or leave it out by --table.",
    )
