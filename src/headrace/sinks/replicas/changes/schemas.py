"""Tables of topics: the name and columns of a replica, derived from the shape of a topic's records,
and the JSON of a table's schema. Reads no rows.

Columns have the types of `headrace.converters.typed.types`, except that small integers are int32,
because table formats have no smaller ones. The comment of a column is the `doc` of its schema.
Shapes have no comment of the table.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa

from headrace.connect.records import (
    ColumnOrigin,
    Constant,
    Guarded,
    Node,
    Shape,
    Struct,
    TableOrigin,
)
from headrace.connect.schema import Schema, Type
from headrace.connect.trees import as_struct, fields, member, select
from headrace.converters.typed.types import typed, typed_constants
from headrace.debezium import geometry
from headrace.debezium.decimals import VARIABLE_SCALE_DECIMAL
from headrace.errors import HeadraceError
from headrace.relational.types.vectors import SPARSE_VECTOR_SCHEMA
from headrace.sinks.replicas.changes.declared_documents import (
    DOCUMENT,
    ID,
    DocumentColumns,
    form_of,
)
from headrace.sinks.replicas.lake import Column, TableName, TableSchema

_ALTERED = ("masked", "truncateLength")
"""Parameters of columns whose values are not those of the database."""
_OWN_DOCS = {
    schema.doc
    for schema in (
        VARIABLE_SCALE_DECIMAL,
        SPARSE_VECTOR_SCHEMA,
        geometry.POINT,
        geometry.GEOMETRY,
        geometry.GEOGRAPHY,
        geometry.CIRCLE,
        geometry.LINE,
    )
}
"""The docs of schemas that describe the type, and so are not comments of a column."""
_SMALL = (pa.int8(), pa.int16())
_PLAIN: Mapping[str, pa.DataType] = {
    str(kind): kind
    for kind in (
        pa.int32(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.bool_(),
        pa.string(),
        pa.binary(),
        pa.date32(),
        pa.timestamp("us"),
        pa.timestamp("us", "UTC"),
    )
}


def table_name(topic: str, prefix: str) -> TableName:
    """Return the table of a topic: the name is its last segment, the namespace consists of those
    between `prefix` (topic.prefix) and it. A topic without the prefix keeps all its segments."""
    *outer, name = topic.removeprefix(f"{prefix}.").split(".")
    return TableName(("_".join(outer),) if outer else (), name)


@dataclass(frozen=True, eq=False)
class TableShape:
    """The columns of a table, by the shape of its records, and the node of each of them.

    With `has_documents` rows are documents, and an update may come without one. `documents` are the
    columns that are declared for them, which have no nodes; ID and DOCUMENT always have nodes,
    whether or not they are columns. `before` has the nodes of columns before the change, as far as
    records have such, and `committed` those of the time of the source's commit, in microseconds and
    in milliseconds (None: records do not have it).
    """

    schema: TableSchema
    json: str
    nodes: Mapping[str, Node]
    has_documents: bool = False
    documents: DocumentColumns | None = None
    before: Mapping[str, Node] = field(default_factory=dict)
    committed: tuple[Node | None, Node | None] = (None, None)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of the key."""
        return self.schema.key

    @property
    def has_text(self) -> bool:
        """Whether a column is the text of the documents."""
        return self.has_documents and (self.documents is None or self.documents.has_text)


def table_shape(
    shape: Shape, envelope: Struct, documents: DocumentColumns | None = None
) -> TableShape:
    """Return the table of records whose value is an envelope. The nodes of key columns are those of
    the records' keys, which deletes have as well. A constant that only the key has, as a router of
    several tables to one topic adds it, becomes the first column. `documents` are the columns that
    are declared for the topic.

    Raises HeadraceError("replicas.key_not_carried", for a table whose deletes lack columns of its
    key), ("replicas.key_not_in_row", "replicas.key_altered", "replicas.columns_alike",
    "replicas.no_rows", "replicas.no_documents"), and what `typed` raises.
    """
    table = _without_past(shape, fields(envelope), documents)
    committed = select(envelope, "source.ts_us"), select(envelope, "source.ts_ms")
    return replace(
        table, before=_before(table, fields(envelope).get("before")), committed=committed
    )


def _before(table: TableShape, image: Node | None) -> dict[str, Node]:
    """Return the nodes of columns, except those of the key, in an image before changes."""
    if image is None or table.documents is not None:
        return {}
    if table.has_documents:
        return {DOCUMENT: image}
    row = as_struct(image)
    names = [name for name in table.schema.names if name not in table.key]
    return {} if row is None else {n: member(row, n) for n in names if n in row.schema.places}


def _without_past(
    shape: Shape, images: Mapping[str, Node], documents: DocumentColumns | None
) -> TableShape:
    topic, row, key = shape.topic, as_struct(images.get("after")), as_struct(shape.key)
    if row is None:
        return _of_documents(topic, images.get("after"), fields(key), documents, shape.origin)
    if documents is not None:
        raise HeadraceError(
            "replicas.no_documents",
            f"headrace.sink.{documents.option} declares columns of documents, and records of "
            f"{topic} hold rows, which have columns already",
            "Leave the option out.",
        )
    if shape.origin is not None and shape.origin.not_in_deletes and key is not None:
        raise key_not_carried(topic, shape.origin.not_in_deletes)
    members = {name: member(row, name) for name in row.schema.places}
    keys = {} if key is None else {name: member(key, name) for name in key.schema.places}
    of_router = _of_router(keys, members)
    for name in keys.keys() - of_router.keys():
        _check_key(topic, name, keys[name], members)
    columns = of_router | members
    schemas = {name: node.schema for name, node in columns.items()}
    return _table(topic, columns | keys, schemas, tuple(keys), shape.origin)


def _of_router(keys: Mapping[str, Node], columns: Container[str]) -> dict[str, Node]:
    """Return the members of a key that identify the table of a record: constants that no row
    has."""
    return {name: node for name, node in keys.items() if is_constant(node) and name not in columns}


def is_constant(node: Node) -> bool:
    """Whether a node has the same value in every row that has it."""
    return isinstance(node.node if isinstance(node, Guarded) else node, Constant)


def key_not_carried(topic: str, columns: Iterable[str]) -> HeadraceError:
    """Return the error for a table whose log lacks columns of the key."""
    return HeadraceError(
        "replicas.key_not_carried",
        f"{topic}: the log does not carry the value of {', '.join(columns)}, which is part of the "
        "key, of every row that is changed or deleted",
        "Have the log carry it (headrace check FILE has the statement), or choose other "
        "columns for the key by message.key.columns. Copy a table that has stopped again after "
        "that: headrace resync.",
    )


def _of_documents(
    topic: str,
    after: Node | None,
    key: Mapping[str, Node],
    documents: DocumentColumns | None,
    origin: TableOrigin | None,
) -> TableShape:
    if after is None or after.schema.type is not Type.STRING:
        raise HeadraceError(
            "replicas.no_rows",
            f"records of {topic} have neither rows nor documents in `after`",
            "Leave out the transform that takes them away.",
        )
    of_router = _of_router(key, ("id",))
    if key.keys() - of_router.keys() != {"id"}:
        raise HeadraceError(
            "replicas.key_not_in_row",
            f"records of {topic} hold documents, and their key is not a struct of `id`",
            "Leave out the transform that changes the key.",
        )
    nodes = {**of_router, ID: key["id"], DOCUMENT: after}
    origin = origin or TableOrigin(topic)
    added = tuple(_column(name, node.schema, None) for name, node in of_router.items())
    columns = (*added, *_document_columns(documents))
    _refuse_alike(topic, (column.name for column in columns))
    keys = (ID, *of_router)
    schema = TableSchema(columns, keys, source=origin.name, source_id=origin.id)
    return TableShape(schema, to_json(schema), nodes, has_documents=True, documents=documents)


def _document_columns(documents: DocumentColumns | None) -> tuple[Column, ...]:
    """Return the columns of documents. Their ids contain the field and the form of its values, so
    that after another declaration the values of one column are never taken for those of another.
    The values of a new column in existing rows are known only from their documents."""
    text = pa.string()
    id_schema = None if documents is None else documents.id_schema
    of_key = Column(ID, text, is_required=True, id=f"{ID} as text")
    if id_schema is not None:
        of_key = replace(of_key, type=lake_type(id_schema), id=f"{ID} {form_of(id_schema)}")
    of_document = Column(DOCUMENT, text, id=f"{DOCUMENT} as text", is_known=False)
    if documents is None:
        return of_key, of_document
    columns = {
        declared.name: Column(
            declared.name,
            lake_type(declared.schema),
            id=f"{declared.name} {form_of(declared.schema)}",
            is_known=False,
        )
        for declared in documents.fields
    }
    if documents.has_text:
        return of_key, of_document, *columns.values()
    return tuple(columns.get(declared.name, of_key) for declared in documents.declared.fields)


def _check_key(topic: str, name: str, node: Node, members: Mapping[str, Node]) -> None:
    column = members.get(name)
    if column is None:
        raise HeadraceError(
            "replicas.key_not_in_row",
            f"the key of {topic} has the field {name}, which is no column of its rows",
            "Have the column in the rows (column.include.list, column.exclude.list), or choose "
            "other columns for the key by message.key.columns.",
        )
    altered = is_constant(column) is not is_constant(node)
    altered |= any(parameter in _ALTERED for parameter, _ in column.schema.parameters)
    if altered or typed(column.schema) != typed(node.schema):
        raise HeadraceError(
            "replicas.key_altered",
            f"the rows of {topic} show another value in the column {name} than the key does",
            "Leave columns of the key out of column.mask.*, column.truncate.* and transforms.",
        )


def _table(
    topic: str,
    nodes: Mapping[str, Node],
    schemas: Mapping[str, Schema],
    key: tuple[str, ...],
    origin: TableOrigin | None = None,
) -> TableShape:
    _refuse_alike(topic, schemas)
    origin = origin or TableOrigin(topic)
    columns = tuple(
        _column(n, schema_of_column, origin.columns.get(n))
        for n, schema_of_column in schemas.items()
    )
    schema = TableSchema(
        columns,
        key,
        source=origin.name,
        source_id=origin.id,
        left_out=origin.left_out,
        key_doubt=origin.key_doubt,
    )
    return TableShape(schema, to_json(schema), nodes)


def _column(name: str, schema: Schema, origin: ColumnOrigin | None) -> Column:
    default, is_known = schema.default if origin is None else origin.filler, True
    if origin is not None:
        is_known = origin.is_known
    try:
        value = _value(schema, default)
    except (TypeError, ValueError, pa.ArrowException, HeadraceError):
        value, is_known = None, False
    return Column(
        name,
        lake_type(schema),
        None if schema.doc in _OWN_DOCS else schema.doc,
        value,
        not schema.optional,
        "" if origin is None else origin.id,
        is_known,
    )


def _refuse_alike(topic: str, names: Iterable[str]) -> None:
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            raise HeadraceError(
                "replicas.columns_alike",
                f"the columns {other} and {name} of {topic} differ in case only, which a table "
                "does not allow",
                "Rename or drop one at the source, or leave both out by column.exclude.list.",
            )


def lake_type(schema: Schema) -> pa.DataType:
    """Return the type of a column of a replica. Raises as `typed`."""
    return _plain_form(typed(schema))


def _plain_form(kind: pa.DataType) -> pa.DataType:
    """Return a type without large forms and small integers."""
    if kind in _SMALL:
        return pa.int32()
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_large_list(kind):
        return pa.list_(_plain_form(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_plain_form(kind.key_type), _plain_form(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(child.name, _plain_form(child.type)) for child in kind])
    return kind


def to_json(schema: TableSchema) -> str:
    """Convert a schema to JSON. Equal schemas have equal texts, so texts can be compared
    instead."""
    columns = [
        {"name": column.name, "type": _type_json(column.type)}
        | ({} if column.comment is None else {"comment": column.comment})
        | ({} if column.default is None else {"default": _default_json(column.default)})
        | ({"required": True} if column.is_required else {})
        | ({"id": column.id} if column.id else {})
        | ({} if column.is_known else {"unknown": True})
        for column in schema.columns
    ]
    members: dict[str, object] = {"columns": columns, "key": schema.key}
    if schema.comment is not None:
        members["comment"] = schema.comment
    if schema.source:
        members["source"] = [schema.source, schema.source_id]
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))


@lru_cache(1024)
def of_json(text: str) -> TableSchema:
    """Parse the text of a schema that `to_json` wrote."""
    members = json.loads(text)
    columns = (
        Column(
            column["name"],
            kind,
            column.get("comment"),
            _default_of(column.get("default"), kind),
            column.get("required", False),
            column.get("id", ""),
            not column.get("unknown", False),
        )
        for column in members["columns"]
        for kind in (_type_of(column["type"]),)
    )
    source = members.get("source", ("", ""))
    return TableSchema(tuple(columns), tuple(members["key"]), members.get("comment"), *source)


def _type_json(kind: pa.DataType) -> object:
    if pa.types.is_decimal128(kind):
        return {"decimal": [kind.precision, kind.scale]}
    if pa.types.is_list(kind):
        return {"list": _type_json(kind.value_type)}
    if pa.types.is_map(kind):
        return {"map": [_type_json(kind.key_type), _type_json(kind.item_type)]}
    if pa.types.is_struct(kind):
        return {"struct": [[child.name, _type_json(child.type)] for child in kind]}
    if str(kind) not in _PLAIN:
        raise TypeError(f"{kind} is no type of a column")
    return str(kind)


def _type_of(type_json: Any) -> pa.DataType:
    if isinstance(type_json, str):
        return _PLAIN[type_json]
    ((form, parts),) = type_json.items()
    if form == "decimal":
        return pa.decimal128(*parts)
    if form == "list":
        return pa.list_(_type_of(parts))
    if form == "map":
        return pa.map_(*map(_type_of, parts))
    return pa.struct([(name, _type_of(child)) for name, child in parts])


def _value(schema: Schema, default: object) -> object:
    """Convert a Connect value to a Python value of a column's type."""
    if default is None:
        return None
    value: object = typed_constants(schema, [default])[0].as_py()
    return value


def _default_json(value: object) -> object:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case Decimal():
            return str(value)
        case date():
            return value.isoformat()
        case list():
            return [_default_json(element) for element in value]
        case dict():
            return {name: _default_json(element) for name, element in value.items()}
    return value


def _default_of(default: Any, kind: pa.DataType) -> object:
    if default is None:
        return None
    if pa.types.is_binary(kind):
        return base64.b64decode(default)
    if pa.types.is_decimal(kind):
        return Decimal(default)
    if pa.types.is_date(kind):
        return date.fromisoformat(default)
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat(default)
    if pa.types.is_list(kind):
        return [_default_of(element, kind.value_type) for element in default]
    if pa.types.is_struct(kind):
        return {field.name: _default_of(default.get(field.name), field.type) for field in kind}
    return default
