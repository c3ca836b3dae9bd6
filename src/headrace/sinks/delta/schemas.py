"""Columns of a Delta table: the JSON of its log, Arrow's types, and the permitted changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from headrace.errors import HeadraceError
from headrace.sinks.replicas.files.data_files import FIELD_ID
from headrace.sinks.replicas.lake import Column, ColumnChange, TableSchema

if TYPE_CHECKING:
    import pyarrow as pa

ID, PHYSICAL_NAME = "delta.columnMapping.id", "delta.columnMapping.physicalName"
_TYPE_CHANGES = "delta.typeChanges"
_COMMENT = "comment"
Type = str | dict[str, Any]
Field = dict[str, Any]
_WHOLE = ("byte", "short", "integer", "long")
_DIGITS_OF_WHOLE = {"byte": 10, "short": 10, "integer": 10, "long": 20}


def schema_json(columns: Sequence[Column]) -> str:
    """The JSON of a new table's columns, to which Kernel gives ids. Raises as `delta_type`."""
    _check_names([column.name for column in columns])
    return _struct_json([_new_field(column, None) for column in columns])


def table_schema(fields: Sequence[Field], key: Sequence[str], comment: str | None) -> TableSchema:
    """A table's columns. Raises HeadraceError("delta.column_not_understood")."""
    columns = []
    for field in fields:
        try:
            kind = arrow_type(field["type"])
        except ValueError as unknown:
            raise HeadraceError(
                "delta.column_not_understood",
                f"The column {field['name']} has the type {unknown}, which headrace does not write",
                "Drop the column, or let headrace copy the table into a new one.",
            ) from None
        columns.append(Column(field["name"], kind, field["metadata"].get(_COMMENT)))
    return TableSchema(tuple(columns), tuple(key), comment)


def physical_schema(fields: Sequence[Field]) -> pa.Schema:
    """The columns as data files have them: physical names, ids in the fields' metadata."""
    import pyarrow as pa

    return pa.schema([_physical(field) for field in fields])


def changed_fields(
    fields: Sequence[Field], change: ColumnChange, last_id: int
) -> tuple[list[Field], bool]:
    """The columns after a change, with ids for new ones, and whether a type became wider.

    Raises HeadraceError("replicas.column_not_taken").
    """
    ids = count(last_id + 1)
    changed: list[Field] = []
    widened = False
    known = {field["name"] for field in fields}
    for name in (*change.dropped, *change.renamed, *change.retyped):
        if name not in known:
            raise _not_taken(name, "the Delta table has no such column")
    for field in fields:
        name = field["name"]
        if name in change.dropped:
            continue
        kind = field["type"]
        if name in change.retyped:
            kind = _wider(name, kind, change.retyped[name], ids)
            widened = widened or _is_wider(field["type"], kind)
        metadata = {n: value for n, value in field["metadata"].items() if n != _TYPE_CHANGES}
        renamed = change.renamed.get(name, name)
        changed.append({**field, "name": renamed, "type": kind, "metadata": metadata})
    changed += [_new_field(column, ids) for column in change.added]
    _check_names([field["name"] for field in changed])
    if not changed:
        raise _not_taken(", ".join(change.dropped), "a Delta table has one column at least")
    by_name = {field["name"]: field for field in changed}
    for name, comment in change.commented.items():
        if name not in by_name:
            raise _not_taken(name, "the Delta table has no such column")
        by_name[name]["metadata"].pop(_COMMENT, None)
        if comment is not None:
            by_name[name]["metadata"][_COMMENT] = comment
    return changed, widened


def fields_json(fields: Sequence[Field]) -> str:
    """The JSON of columns."""
    return _struct_json(list(fields))


def delta_type(name: str, kind: pa.DataType, ids: Iterator[int] | None = None) -> Type:
    """The JSON of an Arrow type. `ids` are for members of structs; None: Kernel gives them.

    Raises HeadraceError("replicas.column_not_taken"), which names the column.
    """
    import pyarrow as pa
    import pyarrow.types as types

    plain = _plain_types().get(kind)
    if plain is not None:
        return plain
    if types.is_decimal128(kind) and 0 <= kind.scale <= kind.precision <= 38:
        return f"decimal({kind.precision},{kind.scale})"
    if types.is_large_string(kind):
        return "string"
    if types.is_large_binary(kind):
        return "binary"
    if types.is_list(kind) or types.is_large_list(kind):
        element = delta_type(name, kind.value_type, ids)
        return {"type": "array", "elementType": element, "containsNull": True}
    if types.is_map(kind):
        return {
            "type": "map",
            "keyType": delta_type(name, kind.key_type, ids),
            "valueType": delta_type(name, kind.item_type, ids),
            "valueContainsNull": True,
        }
    if types.is_struct(kind) and kind.num_fields:
        members = [Column(member.name, member.type) for member in kind]
        _check_names([member.name for member in members], name)
        return {"type": "struct", "fields": [_new_field(column, ids, name) for column in members]}
    type_name = "an empty struct" if kind == pa.struct([]) else str(kind)
    raise _not_taken(name, f"Delta has no type for {type_name}")


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type of a JSON type. Raises ValueError, which names the type."""
    import pyarrow as pa

    if isinstance(kind, str):
        for arrow, text in _plain_types().items():
            if text == kind:
                return arrow
        if kind.startswith("decimal("):
            precision, scale = kind[len("decimal(") : -1].split(",")
            return pa.decimal128(int(precision), int(scale))
        raise ValueError(kind)
    match kind["type"]:
        case "array":
            return pa.list_(arrow_type(kind["elementType"]))
        case "map":
            return pa.map_(arrow_type(kind["keyType"]), arrow_type(kind["valueType"]))
        case "struct":
            return pa.struct(
                [(member["name"], arrow_type(member["type"])) for member in kind["fields"]]
            )
    raise ValueError(kind["type"])


def _plain_types() -> Mapping[pa.DataType, str]:
    import pyarrow as pa

    return {
        pa.bool_(): "boolean",
        pa.int8(): "byte",
        pa.int16(): "short",
        pa.int32(): "integer",
        pa.int64(): "long",
        pa.float32(): "float",
        pa.float64(): "double",
        pa.string(): "string",
        pa.binary(): "binary",
        pa.date32(): "date",
        pa.timestamp("us", "UTC"): "timestamp",
        pa.timestamp("us"): "timestamp_ntz",
    }


def _struct_json(fields: list[Field]) -> str:
    return json.dumps({"type": "struct", "fields": fields})


def _new_field(column: Column, ids: Iterator[int] | None, parent: str | None = None) -> Field:
    metadata: dict[str, Any] = {}
    if ids is not None:
        metadata = {ID: next(ids), PHYSICAL_NAME: f"col-{uuid4()}"}
    if column.comment is not None:
        metadata[_COMMENT] = column.comment
    path = column.name if parent is None else f"{parent}.{column.name}"
    kind = delta_type(path, column.type, ids)
    return {"name": column.name, "type": kind, "nullable": True, "metadata": metadata}


def _physical(field: Field) -> pa.Field:
    import pyarrow as pa

    metadata = {FIELD_ID: str(field["metadata"][ID])}
    kind = _physical_type(field["type"])
    return pa.field(field["metadata"][PHYSICAL_NAME], kind, metadata=metadata)


def _physical_type(kind: Type) -> pa.DataType:
    import pyarrow as pa

    if isinstance(kind, dict):
        match kind["type"]:
            case "array":
                return pa.list_(pa.field("element", _physical_type(kind["elementType"])))
            case "map":
                return pa.map_(_physical_type(kind["keyType"]), _physical_type(kind["valueType"]))
            case "struct":
                return pa.struct([_physical(member) for member in kind["fields"]])
    return arrow_type(kind)


def _wider(name: str, kind: Type, arrow_kind: pa.DataType, ids: Iterator[int]) -> Type:
    """A type made wider, or with more members of a struct; what stays keeps its ids."""
    import pyarrow.types as types

    if isinstance(kind, dict):
        if kind["type"] == "array" and (
            types.is_list(arrow_kind) or types.is_large_list(arrow_kind)
        ):
            element = _wider(name, kind["elementType"], arrow_kind.value_type, ids)
            return {**kind, "elementType": element}
        if kind["type"] == "map" and types.is_map(arrow_kind):
            key = _wider(name, kind["keyType"], arrow_kind.key_type, ids)
            value = _wider(name, kind["valueType"], arrow_kind.item_type, ids)
            return {**kind, "keyType": key, "valueType": value}
        if kind["type"] == "struct" and types.is_struct(arrow_kind):
            return _wider_struct(name, kind, arrow_kind, ids)
        raise _not_widened(name, kind["type"], str(arrow_kind))
    wider = delta_type(name, arrow_kind, ids)
    if not isinstance(wider, str) or not _fits(kind, wider):
        raise _not_widened(name, kind, str(arrow_kind))
    return wider


def _wider_struct(
    name: str, kind: dict[str, Any], arrow_kind: pa.DataType, ids: Iterator[int]
) -> Type:
    fields = kind["fields"]
    before = [field["name"] for field in fields]
    after = [member.name for member in arrow_kind]
    if after[: len(before)] != before:
        raise _not_taken(name, "its members are dropped or in another order")
    _check_names(after, name)
    members = []
    for field, member in zip(fields, arrow_kind, strict=False):
        metadata = {n: value for n, value in field["metadata"].items() if n != _TYPE_CHANGES}
        inner = _wider(f"{name}.{member.name}", field["type"], member.type, ids)
        members.append({**field, "type": inner, "metadata": metadata})
    added = [Column(member.name, member.type) for member in list(arrow_kind)[len(before) :]]
    members += [_new_field(column, ids, name) for column in added]
    return {**kind, "fields": members}


def _fits(kind: str, wider: str) -> bool:
    """Whether Delta takes the type as one that is wider, or the same."""
    if kind == wider:
        return True
    if kind in _WHOLE and wider in _WHOLE:
        return _WHOLE.index(kind) < _WHOLE.index(wider)
    if (kind, wider) in (("float", "double"), ("date", "timestamp_ntz")):
        return True
    if wider == "double":
        return kind in ("byte", "short", "integer")
    if wider.startswith("decimal"):
        precision, scale = _digits(wider)
        if kind in _DIGITS_OF_WHOLE:
            return precision - scale >= _DIGITS_OF_WHOLE[kind]
        if kind.startswith("decimal"):
            before, places = _digits(kind)
            return scale >= places and precision - before >= scale - places
    return False


def _is_wider(kind: Type, other: Type) -> bool:
    """Whether a plain type of it changed."""
    if isinstance(kind, str) or isinstance(other, str):
        return kind != other
    for part in ("elementType", "keyType", "valueType"):
        if part in kind and _is_wider(kind[part], other[part]):
            return True
    members = zip(kind.get("fields", ()), other.get("fields", ()), strict=False)
    return any(_is_wider(before["type"], after["type"]) for before, after in members)


def _digits(kind: str) -> tuple[int, int]:
    precision, scale = kind[len("decimal(") : -1].split(",")
    return int(precision), int(scale)


def _check_names(names: Sequence[str], parent: str | None = None) -> None:
    folded: dict[str, str] = {}
    for name in names:
        path = name if parent is None else f"{parent}.{name}"
        if not name or "\n" in name:
            raise _not_taken(path, "Delta does not accept an empty name or one with a line break")
        other = folded.setdefault(name.lower(), name)
        if other is not name:
            raise _not_taken(path, f"Delta does not distinguish it from {other}")


def _not_widened(name: str, kind: str, wider: str) -> HeadraceError:
    return _not_taken(name, f"Delta cannot make {wider} of {kind}")


def _not_taken(name: str, why: str) -> HeadraceError:
    return HeadraceError(
        "replicas.column_not_taken",
        f"The column {name} cannot be in the Delta table: {why}",
        "Leave the column out or change it (column.exclude.list, a transform), or copy the table "
        "again into a new one.",
    )
