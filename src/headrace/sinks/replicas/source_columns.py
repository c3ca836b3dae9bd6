"""The source table and columns of a replica, with the ids that the source gives them: stored in a
property of the replica. Other columns of a replica were added by others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headrace.connect.records import UNCERTAIN_ID
from headrace.sinks.replicas.lake import (
    DELETED,
    DELETED_ID,
    Column,
    ColumnChange,
    TableSchema,
    is_own,
)


def with_ids(schema: TableSchema, text: str, target: TableSchema) -> TableSchema:
    """Return the schema of a replica with the ids of its property (empty: no property), and in the
    order of the property, which is the source's. Unchanged if the property is not of the table of
    `target`: several tables may be merged into one replica. Columns that the property does not name
    are foreign, and come last."""
    if not text:
        return schema
    members = json.loads(text)
    if members["table"] != target.source:
        return schema
    names = members["columns"]
    ids = names if target.source_id in ("", members["id"]) else {}
    places = {name: place for place, name in enumerate(names)}
    columns = tuple(
        replace(column, id=ids.get(column.name, ""), is_foreign=_is_foreign(column.name, names))
        for column in sorted(
            schema.columns, key=lambda column: places.get(column.name, len(places))
        )
    )
    return replace(schema, columns=columns, source=members["table"], source_id=members["id"])


def is_replaced(current: TableSchema, target: TableSchema) -> bool:
    """Return whether the source's table was dropped, and another one has its name."""
    ids = {current.source_id, target.source_id}
    return current.source == target.source and len(ids) == 2 and "" not in ids


def after(current: TableSchema, change: ColumnChange) -> TableSchema:
    """Return a schema after a change of columns, with regard to its ids."""
    columns: list[Column] = [
        replace(column, name=change.renamed.get(column.name, column.name))
        for column in current.columns
        if column.name not in change.dropped
    ]
    return replace(current, columns=(*columns, *change.added))


def property_of(schema: TableSchema, former: str = "") -> str:
    """Return the property with the ids of a schema; ids that it lacks are as before. `former`, the
    property before (empty: no property), is kept if it is of another table of the source."""
    members: Any = (
        json.loads(former) if former else {"table": schema.source, "id": "", "columns": {}}
    )
    if not schema.source or members["table"] != schema.source:
        return former
    same = schema.source_id in ("", members["id"])
    known = members["columns"] if same else {}
    ids = {
        column.name: "" if column.id == UNCERTAIN_ID else column.id or known.get(column.name, "")
        for column in schema.columns
        if not column.is_foreign
    }
    late = {"table": schema.source, "id": schema.source_id or members["id"], "columns": ids}
    return json.dumps(late, ensure_ascii=False)


def property_after(schema: TableSchema, text: str, change: ColumnChange) -> str:
    """Return the property of a replica with this schema and property after a change of its
    columns."""
    current = with_ids(schema, text, TableSchema((), (), source=table_of(text)))
    return property_of(after(current, change), text)


def marks_deletes(text: str) -> bool:
    """Return whether the replica has headrace's column that marks rows that the source deleted."""
    return bool(text) and json.loads(text)["columns"].get(DELETED) == DELETED_ID


def lacking(schema: TableSchema, text: str) -> list[str]:
    """Return columns of the source that the property names and the replica no longer has."""
    members = json.loads(text) if text else {"columns": ()}
    return [name for name in members["columns"] if schema.column(name) is None]


def table_of(text: str) -> str:
    """Return the source table of the property; empty: no property."""
    return str(json.loads(text)["table"]) if text else ""


def without_ids(text: str) -> str:
    """Return the property without ids, for a replica that is filled again, perhaps from another
    table of that name."""
    if not text:
        return text
    members = json.loads(text)
    ids = dict.fromkeys(members["columns"], "")
    if marks_deletes(text):
        ids[DELETED] = DELETED_ID
    late = {"table": members["table"], "id": "", "columns": ids}
    return json.dumps(late, ensure_ascii=False)


def _is_foreign(name: str, names: Mapping[str, str]) -> bool:
    return name not in names and not is_own(name)
