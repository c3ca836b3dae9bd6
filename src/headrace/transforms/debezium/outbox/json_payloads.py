"""JSON payloads of an outbox as structs and lists of Connect."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace

from headrace.connect.json_values import MAX_CELLS, Allowance
from headrace.connect.schema import Field, Schema, Type
from headrace.transforms.path_lengths import PathLengths

_TEXT = Schema(Type.STRING, optional=True)
_BOOLEAN = Schema(Type.BOOLEAN, optional=True)
_NUMBER = Schema(Type.FLOAT64, optional=True)
_BYTES = Schema(Type.BYTES, optional=True)
_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")


def expanded(text: str, *, keeps_nulls: bool, most_cells: int = MAX_CELLS) -> tuple[Schema, object]:
    """Return the schema and the value of a JSON object or array.

    Members that are null are left out, or are optional bytes (`keeps_nulls`); empty arrays are left
    out. Half of a surrogate pair becomes U+FFFD. Raises ValueError for other texts, for arrays of
    several types and for numbers that do not fit a double, and
    HeadraceError("connect.too_many_cells") if the items of arrays would have more members than
    `most_cells`.
    """
    if not text.startswith(("{", "[")):
        raise ValueError("it is neither an object nor an array")
    parsed = json.loads(text)
    if _ESCAPED_HALF.search(text):
        parsed = json.loads(_HALF.sub("\ufffd", json.dumps(parsed, ensure_ascii=False)))
    schema = schema_of(parsed, keeps_nulls=keeps_nulls)
    return schema, value_in(schema, parsed, Allowance(most_cells, 0))


def schema_of(parsed: object, *, keeps_nulls: bool) -> Schema:
    """Return the schema of a parsed object or array. Raises ValueError as `expanded`."""
    schema = _schema("payload", parsed, PathLengths(), keeps_nulls=keeps_nulls)
    if schema is None:
        raise ValueError("it is an empty array")
    return schema


def _schema(
    key: str | None, value: object, lengths: PathLengths, *, keeps_nulls: bool
) -> Schema | None:
    """The schema of a value, whose structs are named after `key`; None if it is left out."""
    match value:
        case str():
            return _TEXT
        case bool():
            return _BOOLEAN
        case int() if -(1 << 31) <= value < 1 << 31:
            return Schema(Type.INT32, optional=True)
        case int() if -(1 << 63) <= value < 1 << 63:
            return Schema(Type.INT64, optional=True)
        case int() | float():
            return _NUMBER
        case list():
            items = _items(key, value, lengths, keeps_nulls=keeps_nulls) if value else None
            return None if items is None else Schema(Type.ARRAY, optional=True, values=items)
        case Mapping():
            described = []
            for name, item in value.items():
                path = lengths.take(f"{key}.{name}") if key else name
                inner = _schema(path, item, lengths, keeps_nulls=keeps_nulls)
                if inner is not None:
                    described.append(Field(name, inner))
            return Schema(Type.STRUCT, optional=True, name=key, fields=tuple(described))
    return _BYTES if keeps_nulls else None


def _items(
    key: str | None, values: list[object], lengths: PathLengths, *, keeps_nulls: bool
) -> Schema:
    """Return the common schema of an array's items; objects have the members of all items."""
    present = [value for value in values if value is not None]
    if not present and keeps_nulls:
        return _BYTES
    objects = [value for value in present if isinstance(value, Mapping)]
    name = key if objects else None
    schemas = [_schema(name, value, lengths, keeps_nulls=keeps_nulls) for value in present]
    kinds = {None if schema is None else schema.type for schema in schemas}
    first = schemas[0] if schemas else None
    if first is None or len(kinds) != 1:
        raise ValueError("an array has items of several types, or of none that is known")
    if not objects:
        return first
    members: dict[str, Field] = {}
    for schema in schemas:
        assert schema is not None
        for field in schema.fields:
            former = members.get(field.name)
            if former is None or (former.schema == _BYTES and field.schema != _BYTES):
                members[field.name] = field
    merged = tuple(members.values())
    # Debezium makes a separate schema for objects that differ, and does not make it optional.
    is_own = None not in values and any(
        item_schema and item_schema.fields != merged for item_schema in schemas
    )
    return replace(first, fields=merged, optional=first.optional and not is_own)


def value_in(schema: Schema, value: object, allowance: Allowance) -> object:
    """Convert a value to its schema. Raises ValueError if it does not fit, and HeadraceError
    ("connect.too_many_cells")."""
    if value is None:
        return None
    match schema.type:
        case Type.STRUCT if isinstance(value, Mapping):
            allowance.take(len(schema.fields))
            return {f.name: value_in(f.schema, value.get(f.name), allowance) for f in schema.fields}
        case Type.ARRAY if isinstance(value, list):
            assert schema.values is not None
            allowance.take(len(value))
            return [value_in(schema.values, item, allowance) for item in value]
        case Type.FLOAT64 if isinstance(value, int | float) and not isinstance(value, bool):
            return _double(value)
    kinds = {Type.STRING: str, Type.BOOLEAN: bool, Type.INT32: int, Type.INT64: int}
    if type(value) is not kinds.get(schema.type):
        raise ValueError("members of one name have several types")
    return value


def _double(value: float) -> float:
    """Return a number of JSON. Raises ValueError if it does not fit a double."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number != value:
        raise ValueError("no double holds a number")
    return number
