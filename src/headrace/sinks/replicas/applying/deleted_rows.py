"""Rows that soft deletes keep in a table, marked by the column DELETED. The column is added when
deletes become soft; it is dropped, and the rows that it marks are removed, when deletes become
hard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import HeadraceError
from headrace.sinks.replicas.files.bitmaps import bitmap
from headrace.sinks.replicas.files.compacting import fill
from headrace.sinks.replicas.files.reading import DataFileReader
from headrace.sinks.replicas.files.writing import new_vector
from headrace.sinks.replicas.lake import (
    DELETED,
    DELETED_ID,
    SOURCE,
    Column,
    ColumnChange,
    TableChange,
    TableName,
    TableSchema,
)
from headrace.sinks.replicas.source_columns import marks_deletes, property_after

if TYPE_CHECKING:
    from headrace.sinks.replicas.lake import DataFile, LakeTable, Storage, Transaction
    from headrace.sinks.replicas.runners import Runner

_FILES_OF_A_STEP = 64
_COLUMN = Column(DELETED, pa.bool_(), id=DELETED_ID)
_ADDED, _DROPPED = ColumnChange(added=(_COLUMN,)), ColumnChange(dropped=(DELETED,))


def with_deleted_column(name: TableName, schema: TableSchema) -> TableSchema:
    """Return the schema of a replica with soft deletes, from the schema of its source. Raises
    HeadraceError("replicas.column_reserved")."""
    if schema.column(DELETED) is None:
        return replace(schema, columns=(*schema.columns, _COLUMN))
    if not schema.source:
        return schema
    raise HeadraceError(
        "replicas.column_reserved",
        f"{name}: the source has a column {DELETED}, which headrace keeps with "
        "headrace.sink.deletes=soft",
        "Leave the column out by column.exclude.list, or set headrace.sink.deletes=hard.",
    )


def deletes_change(table: LakeTable, *, is_soft: bool) -> bool:
    """Whether a table has the column and should not, or the reverse."""
    if is_soft:
        return table.schema().column(DELETED) is None
    return marks_deletes(table.properties().get(SOURCE, ""))


def change_deletes(
    table: LakeTable,
    names: tuple[str, str],
    runner: Runner,
    own_properties: Mapping[str, str],
    *,
    is_soft: bool,
) -> None:
    """Switch a table between soft and hard deletes.

    To soft: one commit adds the column, false in every row. To hard: one commit removes the rows
    that it marks, the next one drops the column; `deletes_change` is still true after a kill
    between them.

    `names` are the prefixes of the names of data files and of vectors; nothing else may sweep the
    latter. `own_properties` are the properties of the query's own commits. Raises HeadraceError,
    OSError.
    """
    change = _ADDED if is_soft else _DROPPED
    source = property_after(table.schema(), table.properties().get(SOURCE, ""), change)
    marked = {**own_properties, SOURCE: source} if source else own_properties
    if is_soft:
        transaction = table.begin(change)
        filled = fill(transaction, f"{names[0]}deletes", runner, {DELETED: False})
        transaction.commit(filled, marked)
        return
    transaction = table.begin(ColumnChange())
    removal = _removal(transaction, f"{names[1]}{uuid4().hex[:8]}", runner)
    if removal.vectors or removal.removed:
        transaction.commit(removal, own_properties)
    table.begin(change).commit(TableChange(), marked)


def _removal(transaction: Transaction, name: str, runner: Runner) -> TableChange:
    """Return the change that removes the rows that the column marks. `name` is part of the names of
    the vectors, which are deleted after an error."""
    files = transaction.files
    steps = [
        MarkedStep(transaction.storage, files[first : first + _FILES_OF_A_STEP], name)
        for first in range(0, len(files), _FILES_OF_A_STEP)
    ]
    try:
        marked = [
            marked_file for group in runner.run(remove_marked, steps) for marked_file in group
        ]
    except Exception:
        transaction.storage.sweep(name)
        raise
    return TableChange(
        vectors=[vector for _, vector in marked if vector is not None],
        removed=[file for file, vector in marked if vector is None],
    )


@dataclass(frozen=True)
class MarkedStep:
    """The argument of the step: files that may have marked rows."""

    storage: Storage
    files: Sequence[DataFile]
    name: str


def remove_marked(
    step: MarkedStep,
) -> list[tuple[DataFile, tuple[DataFile, str, int] | None]]:
    """Return the files with live rows that are marked, and their new vectors; None: no row
    remains."""
    files_and_vectors = []
    for file in step.files:
        marked, first = bitmap(), 0
        with DataFileReader(step.storage, file) as reader:
            for rows in reader.batches([DELETED]) if reader.has(DELETED) else ():
                indices = pc.indices_nonzero(rows[DELETED].fill_null(False))
                marked |= bitmap(place + first for place in indices.to_pylist())
                first += rows.num_rows
        if file.vector is not None:
            marked -= step.storage.read_vector(file)
        if marked:
            files_and_vectors.append((file, new_vector(step.storage, file, marked, step.name)))
    return files_and_vectors
