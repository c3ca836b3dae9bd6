"""Appends changes to a change log: one row for each change, in the order of the source."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.sinks.replicas.applying.change_columns import ChangeColumns, log_order
from headrace.sinks.replicas.applying.gathering import gathered
from headrace.sinks.replicas.changes.part import (
    COMMIT_TIME,
    OPERATION,
    Operation,
    Part,
)
from headrace.sinks.replicas.changes.parts_reading import read_part
from headrace.sinks.replicas.files.writing import write_files
from headrace.sinks.replicas.modes.own_columns import (
    ABSENT_VALUES,
    INSTANT,
    OP,
    PLACE,
    TIME,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from headrace.sinks.replicas.lake import DataFile, Storage, TableSchema

TRUNCATE = "t"
LETTERS: Mapping[Operation, str] = {
    Operation.INSERT: "c",
    Operation.UPDATE: "u",
    Operation.DELETE: "d",
    Operation.READ: "r",
}
"""Debezium's letters of operations."""


@dataclass(frozen=True)
class LogStep:
    """The argument of the step that writes some parts: those with files in `folder`, with new names
    of columns by former ones, by the path of the part. `schema` has the columns of the source,
    `truncates` are the sequences and times (microseconds) of every TRUNCATE to add; `table` is for
    messages."""

    parts: Sequence[Part]
    folder: Path
    schema: TableSchema
    storage: Storage
    name: str
    renamed: Mapping[str, Mapping[str, str]]
    truncates: Sequence[tuple[str, int]] = ()
    table: str = ""


def truncates_of(parts: Sequence[Part]) -> list[tuple[str, int]]:
    """Return the sequence and the time (microseconds) of every TRUNCATE, in order."""
    return sorted(
        {
            (place, time)
            for part in parts
            if part.truncates
            for place, time in json.loads(part.truncates)
        }
    )


def log_groups(parts: Sequence[Part], rows: int, size: int) -> list[list[Part]]:
    """Group parts in the order of their first changes, with at most about so many rows and bytes in
    each group."""
    groups: list[list[Part]] = []
    group_rows = group_size = 0
    for part in sorted((part for part in parts if part.path), key=lambda part: part.first):
        group_rows, group_size = group_rows + part.rows, group_size + part.size
        if not groups or group_rows > rows or group_size > size:
            groups.append([])
            group_rows, group_size = part.rows, part.size
        groups[-1].append(part)
    return groups


def write_log(step: LogStep) -> tuple[list[DataFile], int]:
    """Write the changes of some parts as rows of a change log; returns the files and the number of
    rows. Raises HeadraceError("replicas.value_not_taken"), OSError."""
    tables = [
        read_part(step.folder, part, (), None, step.renamed.get(part.path)) for part in step.parts
    ]
    shown_until = [part.shown_until for part in step.parts]
    rows = log_rows(tables, step.schema, step.truncates, step.table, shown_until)
    columns = [column.name for column in step.storage.schema.columns]
    return write_files(step.storage, rows.select(columns), step.name), rows.num_rows


def log_rows(
    tables: Sequence[pa.Table],
    schema: TableSchema,
    truncates: Sequence[tuple[str, int]] = (),
    table: str = "",
    shown_until: Sequence[str] = (),
) -> pa.Table:
    """Return the rows of changes: the columns of `schema` and those of a change log, in the order
    of the source."""
    changes = ChangeColumns(tables, schema, table=table, shown_until=shown_until)
    places = [
        *changes.positions().chunks,
        pa.array([place for place, _ in truncates], pa.string()),
    ]
    order = log_order([pa.chunked_array(places)])
    rows = np.arange(changes.count + len(truncates)) if order is None else order
    is_change = rows < changes.count
    columns = {}
    for column in schema.columns:
        values = changes.column(column.name)
        if truncates:
            nulls = pa.nulls(len(truncates), column.type)
            values = pa.chunked_array([*values.chunks, nulls], column.type)
        columns[column.name] = gathered(values, rows)
    operations = changes.numbers(OPERATION, np.int8)
    letters = pa.array([LETTERS.get(Operation(number)) for number in Operation] + [TRUNCATE])
    codes = np.concatenate([operations, np.full(len(truncates), len(Operation), np.int8)])
    columns[OP] = pa.chunked_array([letters.take(pa.array(codes[rows]))])
    columns[PLACE] = gathered(pa.chunked_array(places, pa.string()), rows)
    times = pa.array([time for _, time in truncates], pa.int64()).cast(INSTANT)
    known = changes.own(COMMIT_TIME, INSTANT).chunks
    columns[TIME] = gathered(pa.chunked_array([*known, times], INSTANT), rows)
    columns[ABSENT_VALUES] = _absent_values(changes, schema, rows, is_change)
    return pa.table(columns)


def _absent_values(
    changes: ChangeColumns,
    schema: TableSchema,
    rows: NDArray[np.int64],
    is_change: NDArray[np.bool_],
) -> pa.ChunkedArray:
    """Return the names of the columns whose values each row lacks; null: it has all."""
    kind = pa.list_(pa.string())
    flags = {name: changes.unavailable(name) for name in schema.names}
    known = {name: mask for name, mask in flags.items() if mask is not None}
    if not known:
        return pa.chunked_array([pa.nulls(len(rows), kind)])
    lacking = np.zeros((len(rows), len(known)), np.bool_)
    for number, mask in enumerate(known.values()):
        lacking[is_change, number] = mask[rows[is_change]]
    counts = lacking.sum(axis=1)
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    names = pa.array(list(known), pa.string()).take(pa.array(np.nonzero(lacking)[1]))
    lists = pa.ListArray.from_arrays(pa.array(ends), names, mask=pa.array(counts == 0))
    return pa.chunked_array([lists], kind)
