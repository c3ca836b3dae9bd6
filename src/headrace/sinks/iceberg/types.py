"""Iceberg's types and Arrow's, and schemas with the ids that data files name.

| Arrow | Iceberg |
|---|---|
| bool, float32, float64, string, binary, date32 | boolean, float, double, string, binary, date |
| int8, int16, int32; int64 | int; long |
| decimal128(p, s) | decimal(p, s) |
| timestamp[us] without and with a zone | timestamp, timestamptz |
| list, map, struct | list, map, struct, with ids of what is in them |
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.sinks.replicas.files.data_files import FIELD_ID
from headrace.sinks.replicas.lake import Column, TableSchema

LOCAL = pa.timestamp("us")
INSTANT = pa.timestamp("us", "UTC")

_PRIMITIVES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": LOCAL,
    "timestamptz": INSTANT,
}
_NAMES = {
    **{kind: name for name, kind in _PRIMITIVES.items()},
    pa.int8(): "int",
    pa.int16(): "int",
    pa.large_string(): "string",
    pa.large_binary(): "binary",
}
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")


def iceberg_type(kind: pa.DataType, ids: Iterator[int], column: str) -> Any:
    """The JSON of a type; `ids` number the nested fields, `column` is the name in errors.

    Raises HeadraceError("replicas.column_not_taken").
    """
    if (name := _NAMES.get(kind)) is not None:
        return name
    if pa.types.is_timestamp(kind) and kind.unit == "us":
        return "timestamptz"  # an instant, whatever zone it is shown in
    if pa.types.is_decimal128(kind) and 0 <= kind.scale <= kind.precision:
        return f"decimal({kind.precision}, {kind.scale})"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        number = next(ids)
        element = iceberg_type(kind.value_type, ids, f"{column}.element")
        return {
            "type": "list",
            "element-id": number,
            "element": element,
            "element-required": False,
        }
    if pa.types.is_map(kind):
        of_key, of_value = next(ids), next(ids)
        key = iceberg_type(kind.key_type, ids, f"{column}.key")
        value = iceberg_type(kind.item_type, ids, f"{column}.value")
        return {
            "type": "map",
            "key-id": of_key,
            "key": key,
            "value-id": of_value,
            "value": value,
            "value-required": False,
        }
    if pa.types.is_struct(kind) and kind.num_fields:
        numbers = [next(ids) for _ in kind]
        fields = [
            {
                "id": number,
                "name": inner.name,
                "required": False,
                "type": iceberg_type(inner.type, ids, f"{column}.{inner.name}"),
            }
            for number, inner in zip(numbers, kind, strict=True)
        ]
        return {"type": "struct", "fields": fields}
    raise HeadraceError(
        "replicas.column_not_taken",
        f"Column {column}: Iceberg has no type for values of the type {kind}",
        "Convert the column to another type by a transform, or leave it out of the source's tables "
        "by column.exclude.list.",
    )


def iceberg_field(column: Column, ids: Iterator[int]) -> dict[str, Any]:
    """The JSON of a column."""
    number = next(ids)
    field: dict[str, Any] = {"id": number, "name": column.name, "required": False}
    field["type"] = iceberg_type(column.type, ids, column.name)
    return field if column.comment is None else {**field, "doc": column.comment}


def iceberg_schema(schema: TableSchema) -> str:
    """The JSON of a new table's schema. Iceberg assigns new ids to the columns."""
    ids = iter(range(1, 1 << 30))
    fields = [iceberg_field(column, ids) for column in schema.columns]
    return json.dumps({"type": "struct", "schema-id": 0, "fields": fields})


def arrow_field(field: Mapping[str, Any], table: str) -> pa.Field:
    """A column in the form of data files: with ids, also of nested fields. `table` is the name of
    the table in errors. Raises HeadraceError("iceberg.column_not_understood")."""
    return pa.field(
        field["name"],
        _arrow(field["type"], table, field["name"]),
        nullable=not field.get("required"),
        metadata={FIELD_ID: str(field["id"])},
    )


def _arrow(kind: Any, table: str, column: str) -> pa.DataType:
    if isinstance(kind, str):
        if (known := _PRIMITIVES.get(kind)) is not None:
            return known
        if digits := _DECIMAL.fullmatch(kind):
            return pa.decimal128(int(digits[1]), int(digits[2]))
        raise HeadraceError(
            "iceberg.column_not_understood",
            f"Column {column} of the Iceberg table {table} has the type {kind}, which headrace "
            "does not write",
            "Drop the column, or let headrace keep a table of another name.",
        )
    match kind["type"]:
        case "list":
            element = _arrow(kind["element"], table, f"{column}.element")
            return pa.list_(_inner("element", element, kind["element-id"]))
        case "map":
            key = _arrow(kind["key"], table, f"{column}.key")
            value = _arrow(kind["value"], table, f"{column}.value")
            return pa.map_(
                _inner("key", key, kind["key-id"], nullable=False),
                _inner("value", value, kind["value-id"]),
            )
        case _:
            return pa.struct([arrow_field(inner, table) for inner in kind["fields"]])


def _inner(name: str, kind: pa.DataType, number: int, *, nullable: bool = True) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={FIELD_ID: str(number)})


def without_ids(kind: pa.DataType) -> pa.DataType:
    """The type without field ids, equal to a type that was created without them."""
    if pa.types.is_list(kind):
        return pa.list_(without_ids(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(without_ids(kind.key_type), without_ids(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(inner.name, without_ids(inner.type)) for inner in kind])
    return kind


def table_schema(
    schema: Mapping[str, Any], key: tuple[str, ...], comment: str | None, table: str
) -> TableSchema:
    """The columns of an Iceberg schema.

    Raises HeadraceError("iceberg.column_not_understood") for columns that headrace cannot fill.
    """
    columns = []
    for field in schema["fields"]:
        if field.get("required"):
            raise HeadraceError(
                "iceberg.column_not_understood",
                f"Column {field['name']} of the Iceberg table {table} is required, and headrace "
                f"keeps only tables in which every column may be null",
                f"ALTER TABLE {table} ALTER COLUMN {field['name']} DROP NOT NULL, or let headrace "
                "keep a table of another name.",
            )
        kind = without_ids(arrow_field(field, table).type)
        columns.append(Column(field["name"], kind, field.get("doc")))
    return TableSchema(tuple(columns), key, comment)
