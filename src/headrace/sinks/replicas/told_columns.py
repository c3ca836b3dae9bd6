"""Which table and which columns of the source a replica has: ids that the source gives them, kept
in a property of the replica."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from headrace.sinks.replicas.lake import Column, ColumnChange, TableSchema


def with_ids(schema: TableSchema, text: str, wanted: TableSchema) -> TableSchema:
    """The schema of a replica with the ids of its property (empty: it has none), where these are of
    the table that the wanted schema is of: several tables may go into one replica."""
    if not text:
        return schema
    held = json.loads(text)
    if held["table"] != wanted.source:
        return schema
    ids = held["columns"] if wanted.source_id in ("", held["id"]) else {}
    columns = tuple(replace(each, id=ids.get(each.name, "")) for each in schema.columns)
    return replace(schema, columns=columns, source=held["table"], source_id=held["id"])


def is_replaced(current: TableSchema, wanted: TableSchema) -> bool:
    """Whether the source's table was dropped, and another one has its name."""
    ids = {current.source_id, wanted.source_id}
    return current.source == wanted.source and len(ids) == 2 and "" not in ids


def after(current: TableSchema, change: ColumnChange) -> TableSchema:
    """What a change of columns makes of a schema, as far as its ids are concerned."""
    columns: list[Column] = [
        replace(each, name=change.renamed.get(each.name, each.name))
        for each in current.columns
        if each.name not in change.dropped
    ]
    return replace(current, columns=(*columns, *change.added))


def property_of(schema: TableSchema, former: str = "") -> str:
    """The property with the ids of a schema; those that it lacks are as before. `former`, the
    property before (empty: there was none), stays where it is of another table of the source."""
    held: Any = json.loads(former) if former else {"table": schema.source, "id": "", "columns": {}}
    if not schema.source or held["table"] != schema.source:
        return former
    same = schema.source_id in ("", held["id"])
    known = held["columns"] if same else {}
    ids = {each.name: each.id or known.get(each.name, "") for each in schema.columns}
    made = {
        "table": schema.source,
        "id": schema.source_id or held["id"],
        "columns": {name: number for name, number in ids.items() if number},
    }
    return json.dumps(made, ensure_ascii=False)
