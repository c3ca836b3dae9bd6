"""Changes of a table's columns."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.jvm import IcebergJvm
from headrace.sinks.iceberg.types import iceberg_type
from headrace.sinks.replicas.lake import ColumnChange, TableName, TableSchema


def change_columns(
    java: IcebergJvm, transaction: Any, schema: TableSchema, change: ColumnChange, name: TableName
) -> Sequence[Mapping[str, Any]]:
    """Put a change into a transaction; returns the JSON of the columns after it, with their ids.

    Raises HeadraceError("replicas.column_not_taken").
    """
    try:
        with java.failing("change its columns", name):
            update = transaction.updateSchema()
            _describe(java, update, schema, change, name)
            update.commit()
            after = java.iceberg.SchemaParser.toJson(transaction.table().schema())
    except HeadraceError as error:
        if error.code == "replicas.column_not_taken" or not _is_refused(error):
            raise
        raise HeadraceError(
            "replicas.column_not_taken",
            f"Iceberg refuses a change of the columns of {name}: {error.message}",
            "Copy the table again into a new one.",
        ) from None
    fields: list[Mapping[str, Any]] = json.loads(after)["fields"]
    return fields


def _is_refused(error: HeadraceError) -> bool:
    return any(
        text in error.message
        for text in ("IllegalArgumentException", "exceptions.ValidationException")
    )


def _describe(
    java: IcebergJvm, update: Any, schema: TableSchema, change: ColumnChange, name: TableName
) -> None:
    for column in change.dropped:
        update.deleteColumn(column)
    for column, kind in change.retyped.items():
        known = schema.column(column)
        if known is None:
            raise _not_taken(name, column, "it has no such column")
        _retype(java, update, column, known.type, kind, name)
    for before, after in change.renamed.items():
        update.renameColumn(before, after)
    ids = itertools.count(1_000_000)  # Iceberg assigns other ids
    for added in change.added:
        kind = java.type(iceberg_type(added.type, ids, added.name))
        update.addColumn(None, added.name, kind, added.comment)
    before_names = {after: before for before, after in change.renamed.items()}
    for column, comment in change.commented.items():
        update.updateColumnDoc(before_names.get(column, column), comment)


def _retype(
    java: IcebergJvm,
    update: Any,
    path: str,
    before: pa.DataType,
    after: pa.DataType,
    name: TableName,
) -> None:
    """Widen a column, or the types nested in it."""
    if pa.types.is_large_list(after):
        after = pa.list_(after.value_type)
    if pa.types.is_list(before) and pa.types.is_list(after):
        _retype(java, update, f"{path}.element", before.value_type, after.value_type, name)
        return
    if pa.types.is_map(before) and pa.types.is_map(after):
        if iceberg_key(before) == iceberg_key(after):
            _retype(java, update, f"{path}.value", before.item_type, after.item_type, name)
            return
    elif pa.types.is_struct(before) and pa.types.is_struct(after):
        known = {inner.name: inner.type for inner in before}
        members = {inner.name: inner.type for inner in after}
        for inner, kind in known.items():
            if inner not in members:
                raise _not_taken(name, f"{path}.{inner}", "it would be dropped from a struct")
            _retype(java, update, f"{path}.{inner}", kind, members[inner], name)
        ids = itertools.count(1_000_000)
        for inner in members.keys() - known.keys():
            added = iceberg_type(members[inner], ids, f"{path}.{inner}")
            update.addColumn(path, inner, java.type(added))
        return
    elif not pa.types.is_nested(before) and not pa.types.is_nested(after):
        ids = itertools.count(1)
        if iceberg_type(before, ids, path) != (kind := iceberg_type(after, ids, path)):
            update.updateColumn(path, java.type(kind))
        return
    raise _not_taken(name, path, f"Iceberg cannot make {after} of {before}")


def iceberg_key(kind: pa.DataType) -> Any:
    """The type of a map's keys, which Iceberg cannot widen."""
    return iceberg_type(kind.key_type, itertools.count(1), "key")


def _not_taken(name: TableName, column: str, why: str) -> HeadraceError:
    return HeadraceError(
        "replicas.column_not_taken",
        f"Column {column} of the Iceberg table {name} cannot be changed: {why}",
        "Copy the table again into a new one.",
    )
