"""Columns that headrace adds to those of the source in change logs and histories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import OURS, Column, TableName, TableSchema
from headrace.sinks.replicas.modes.mode import Mode

OP, PLACE, TIME, ABSENT_VALUES = "__op", "__position", "__commit_time", "__absent"
"""Columns of a change log: Debezium's letter of the operation, the place of the change in the order
of the source, the time of the source's commit, and the names of the columns whose values the log
does not carry in this change (null: it carries all)."""
VALID_FROM, VALID_TO, FROM_PLACE, TO_PLACE, IS_CURRENT = (
    "valid_from",
    "valid_to",
    "valid_from_position",
    "valid_to_position",
    "is_current",
)
"""Columns of a history: the times of the source's commits from which and until which a version is
valid, the places of these changes in the order of the source, and whether the version is the
current one of its key. The end of a current version is null."""
INSTANT = pa.timestamp("us", "UTC")


def _column(name: str, kind: pa.DataType) -> Column:
    return Column(name, kind, id=f"{OURS}{name}")


OWN_COLUMNS: Mapping[Mode, tuple[Column, ...]] = {
    Mode.REPLICA: (),
    Mode.APPEND: (
        _column(OP, pa.string()),
        _column(PLACE, pa.string()),
        _column(TIME, INSTANT),
        _column(ABSENT_VALUES, pa.list_(pa.string())),
    ),
    Mode.HISTORY: (
        _column(VALID_FROM, INSTANT),
        _column(VALID_TO, INSTANT),
        _column(FROM_PLACE, pa.string()),
        _column(TO_PLACE, pa.string()),
        _column(IS_CURRENT, pa.bool_()),
    ),
}
"""The columns by mode, which follow those that the source has when the table is created."""


def with_own_columns(name: TableName, schema: TableSchema, mode: Mode) -> TableSchema:
    """Return the schema of a table, from the schema of its source. Its key is what its files are
    sorted and searched by: the place of a change; whether a version is current, and the key of the
    source. Raises HeadraceError("replicas.column_reserved") for a column of the source that has the
    name of one of headrace's."""
    own_columns = OWN_COLUMNS[mode]
    if not own_columns:
        return schema
    names = {column.name.casefold(): column.name for column in own_columns}
    for column in schema.columns:
        if (reserved := names.get(column.name.casefold())) is not None:
            raise HeadraceError(
                "replicas.column_reserved",
                f"{name}: the source has a column {column.name}, and headrace adds a column "
                f"{reserved} to a table of headrace.sink.mode={mode}",
                "Leave the column out by column.exclude.list, rename it at the source, or choose "
                "another mode for the table.",
            )
    key = (IS_CURRENT, *schema.key) if mode is Mode.HISTORY else (PLACE,)
    return replace(schema, columns=(*schema.columns, *own_columns), key=key)


def without_own_columns(schema: TableSchema, mode: Mode) -> TableSchema:
    """Return the columns of the source, and its key (of a change log: no key), from the schema of a
    table."""
    own_names = {column.name for column in OWN_COLUMNS[mode]}
    if not own_names:
        return schema
    columns = tuple(column for column in schema.columns if column.name not in own_names)
    return replace(schema, columns=columns, key=tuple(n for n in schema.key if n not in own_names))


def current_keys(keys: pa.Table) -> pa.Table:
    """Return the keys by which the current versions are looked up, from those of the source."""
    flags = pa.chunked_array([pa.repeat(pa.scalar(True), keys.num_rows)], pa.bool_())
    return pa.table([flags, *keys.columns], names=[IS_CURRENT, *keys.column_names])


def apart(rows: pa.Table, key: tuple[str, ...]) -> list[pa.Table]:
    """Divide rows of a table with this key into those that are written to different files: current
    and closed versions, because only the former are looked up. All other rows are together."""
    if key[:1] != (IS_CURRENT,) or rows.schema.field(IS_CURRENT).type != pa.bool_():
        return [rows]
    is_current = rows[IS_CURRENT].fill_null(False)
    divided = [rows.filter(is_current), rows.filter(pc.invert(is_current))]
    return [part for part in divided if part.num_rows]
