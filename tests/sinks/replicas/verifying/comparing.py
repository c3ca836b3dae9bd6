"""Replicas that are compared with their source while a query runs, and corruptions of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyroaring import BitMap
from pyspark.sql.streaming.query import StreamingQuery

import headrace
from headrace.connectors.registry import parse_configuration
from headrace.sinks.replicas.definition import ReplicaDefinition
from headrace.sinks.replicas.files.live_rows import live_batches, live_rows
from headrace.sinks.replicas.files.writing import new_vector
from headrace.sinks.replicas.keys import KeySet
from headrace.sinks.replicas.lake import (
    BATCH,
    QUERY,
    ColumnChange,
    Lake,
    TableChange,
    TableName,
    Transaction,
)
from headrace.spark.sinks.comparison import ComparedTable, ComparisonRequest
from headrace.spark.sinks.definition import SinkQuery
from headrace.spark.sinks.registry import find_sink
from tests.sinks.replicas.replication import Replication

QUICK = {"headrace.acknowledge.interval": "300ms"}
"""The position of an idle log moves soon."""
Key = tuple[object, ...]


@contextmanager
def running(
    replication: Replication, source: Mapping[str, str] | None = None, **options: str
) -> Iterator[StreamingQuery]:
    """The query, which runs meanwhile."""
    query = replication.start(
        {**QUICK, **dict(source or {})}, trigger="200 milliseconds", **options
    )
    try:
        yield query
        error = headrace.error(query)
        assert error is None, error
    finally:
        query.stop()


def sink_query(
    replication: Replication, source: Mapping[str, str] | None = None, **options: str
) -> tuple[ReplicaDefinition, SinkQuery]:
    """The sink, and the query as `headrace verify` has it."""
    definition = find_sink(replication.lake.name)
    assert isinstance(definition, ReplicaDefinition)
    of_sink = {f"headrace.sink.{n.replace('_', '.')}": text for n, text in options.items()}
    query_properties = {
        **replication.database.properties(),
        **replication.lake.properties(),
        **of_sink,
        **dict(source or {}),
    }
    config = parse_configuration(query_properties)
    properties = {
        **definition.defaults(config),
        **query_properties,
        **definition.comparison_overrides,
    }
    state = replication.state
    query = SinkQuery(
        parse_configuration(properties), state / definition.name, state / "checkpoint"
    )
    return definition, query


def compare(
    replication: Replication,
    source: Mapping[str, str] | None = None,
    request: ComparisonRequest | None = None,
    **options: str,
) -> dict[str, ComparedTable]:
    """What `headrace verify` finds, by the names of the replicas."""
    definition, query = sink_query(replication, source, **options)
    compared_tables = definition.compare(replication.spark, query, request or ComparisonRequest())
    return {table.name: table for table in compared_tables}


class Writer:
    """Writes into a replica as its query would: nothing tells its commits from those of it."""

    def __init__(self, lake: Lake, namespace: str, name: str) -> None:
        lake_table = lake.table(TableName((namespace,), name))
        assert lake_table is not None
        self._table = lake_table

    def _rows(self, key: Key) -> tuple[list[tuple[str, int]], pa.Table]:
        schema = self._table.schema()
        kinds = [(name, column.type) for name in schema.key if (column := schema.column(name))]
        columns = [[value] for value in key]
        keys = pa.table(dict(zip(schema.key, columns, strict=True)), schema=pa.schema(kinds))
        key_set, transaction = KeySet(keys), self._table.begin(ColumnChange())
        storage = transaction.storage
        places: list[tuple[str, int]] = []
        row_tables = [pa.schema([(c.name, c.type) for c in schema.columns]).empty_table()]
        for file in transaction.files:
            for positions, rows in live_batches(storage, file, schema.names):
                at = key_set.find([rows[name] for name in schema.key])[0]
                places += [(file.path, position) for position in positions[at].tolist()]
                row_tables.append(rows.take(pa.array(at)))
        return places, pa.concat_tables(row_tables)

    def _commit(
        self, transaction: Transaction, rows: pa.Table, places: Sequence[tuple[str, int]]
    ) -> None:
        name = f"corrupted-{uuid4()}"
        added = [transaction.storage.write_rows(rows, name)] if rows.num_rows else []
        vectors, removed = [], []
        for file in transaction.files:
            dead = BitMap(position for path, position in places if path == file.path)
            if dead:
                vector = new_vector(transaction.storage, file, dead, name)
                if vector is None:
                    removed.append(file)
                else:
                    vectors.append(vector)
        batch_properties = {
            n: t for n, t in self._table.properties().items() if n in (QUERY, BATCH)
        }
        transaction.commit(
            TableChange(added=added, vectors=vectors, removed=removed), batch_properties
        )

    def lose(self, *key: object) -> None:
        """The row of a key is gone."""
        places, rows = self._rows(key)
        assert places
        self._commit(self._table.begin(ColumnChange()), rows.slice(0, 0), places)

    def double(self, *key: object) -> None:
        """The row of a key is there twice."""
        _, rows = self._rows(key)
        self._commit(self._table.begin(ColumnChange()), rows, [])

    def change(self, *key: object, **values: object) -> None:
        """Columns of the row of a key, perhaps those of the key, have other values."""
        places, rows = self._rows(key)
        assert rows.num_rows == 1
        transaction = self._table.begin(ColumnChange())
        for name, value in values.items():
            kind = rows[name].type
            at = rows.column_names.index(name)
            rows = rows.set_column(at, name, pa.array([value], kind))
        self._commit(transaction, rows, places)

    def row(self, *key: object) -> dict[str, Any]:
        """The row of a key."""
        (row,) = self._rows(key)[1].to_pylist()
        return dict(row)

    def restore(self, row: Mapping[str, Any], *key: object) -> None:
        """The row of a key has all the values of a former row again."""
        self.change(*key, **row)

    def count(self) -> int:
        """How many rows there are."""
        transaction = self._table.begin(ColumnChange())
        return sum(live_rows(transaction.storage, file).num_rows for file in transaction.files)


@contextmanager
def writing(replication: Replication, name: str, namespace: str = "public") -> Iterator[Writer]:
    """A writer of the replica of that name."""
    definition, query = sink_query(replication)
    lake = definition.format().open(replication.spark, definition.own_options(query.config))
    try:
        yield Writer(lake, namespace, name)
    finally:
        lake.close()
