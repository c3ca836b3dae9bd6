"""Batches applied to a table as the sink does it, in a few lines, and what readers see of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import duckdb_extension_delta
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder
from pyroaring import BitMap

from headrace.sinks.replicas.files.data_files import FIELD_ID
from headrace.sinks.replicas.lake import (
    TIME,
    ColumnChange,
    DataFile,
    LakeTable,
    Storage,
    TableChange,
    TableSchema,
    Transaction,
)
from headrace.sinks.replicas.outcomes import MicroBatch

Row = Mapping[str, Any]


def arrow_rows(schema: TableSchema, rows: Iterable[Row]) -> pa.Table:
    """Rows of a table."""
    fields = pa.schema([(column.name, column.type) for column in schema.columns])
    return pa.Table.from_pylist([dict(row) for row in rows], schema=fields)


def batch_properties(batch: int, query: str = "q1") -> dict[str, str]:
    """The properties that the sink stores with a batch."""
    properties = MicroBatch(
        query, batch, json.dumps({"lsn": batch}), run=f"run of {batch}"
    ).properties
    return properties | {TIME: "2026-01-02T03:04:05Z"}


def planned(
    transaction: Transaction, rows: Sequence[Row], deleted: Iterable[int], name: str = "0-1"
) -> TableChange:
    """The change that puts rows in place of those of their ids and deletes others. `name` is what
    its files are called by."""
    storage = transaction.storage
    keys = pa.array({row["id"] for row in rows} | set(deleted))
    vectors, removed = [], []
    for file in transaction.files:
        before = storage.read_vector(file)
        after = before | BitMap(_positions(storage, file, keys))
        if len(after) == file.rows:
            removed.append(file)
        elif after != before:
            vectors.append(
                (file, storage.write_vector(file, after, f"{name}-{uuid4()}"), len(after))
            )
    added = []
    if rows:
        added.append(storage.write_rows(arrow_rows(storage.schema, rows), f"{name}-{uuid4()}"))
    return TableChange(added, vectors, removed)


def apply(
    table: LakeTable,
    batch: int,
    rows: Sequence[Row],
    deleted: Iterable[int] = (),
    change: ColumnChange | None = None,
) -> None:
    """One batch in one commit."""
    transaction = table.begin(change or ColumnChange())
    transaction.commit(planned(transaction, rows, deleted, f"{batch}-1"), batch_properties(batch))


def live_rows(storage: Storage, file: DataFile) -> pa.Table:
    """The rows of a file that no vector deletes, by today's names."""
    content = pq.read_table(file.path)
    ids = [int(field.metadata[FIELD_ID]) for field in content.schema]
    columns = [content.column(ids.index(storage.field_id(n))) for n in storage.schema.names]
    live = pa.table(columns, names=list(storage.schema.names))
    dead = storage.read_vector(file)
    return live.filter(pa.array([place not in dead for place in range(live.num_rows)]))


def seen_by_duckdb(root: Path) -> list[Row]:
    """The rows by their ids."""
    folder = Path(duckdb_extension_delta.__file__).parent
    extension = next(folder.rglob("*.duckdb_extension"))
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute(f"LOAD '{extension}'")
        connection.execute("SET TimeZone = 'UTC'")
        relation = connection.execute(f"SELECT * FROM delta_scan('{root}') ORDER BY id")
        return list(relation.to_arrow_table().to_pylist())


def seen_by_delta_rs(root: Path) -> list[Row]:
    """The rows by their ids."""
    builder = QueryBuilder().register("seen", DeltaTable(str(root)))
    return list(pa.table(builder.execute("SELECT * FROM seen ORDER BY id")).to_pylist())


def _positions(storage: Storage, file: DataFile, keys: pa.Array) -> np.ndarray:
    schema = pq.read_schema(file.path)
    ids = [int(field.metadata[FIELD_ID]) for field in schema]
    name = schema.names[ids.index(storage.field_id("id"))]
    key_column = pq.read_table(file.path, columns=[name]).column(0)
    mask = pc.is_in(key_column.cast(pa.int64()), value_set=keys.cast(pa.int64()))
    return np.flatnonzero(mask.to_numpy()).astype(np.uint32)
