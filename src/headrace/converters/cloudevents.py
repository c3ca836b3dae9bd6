"""Debezium's CloudEventsConverter: it rearranges an event's tree, which JSON or Avro then encodes.

Attributes and their order are those of `io.debezium.converters.CloudEventsConverter`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import cast

import pyarrow as pa

from headrace.connect.encoding import Encoding
from headrace.connect.records import (
    Cell,
    Choice,
    Column,
    Concat,
    Constant,
    Guarded,
    Instant,
    Node,
    RowField,
    Struct,
    TextPart,
    TransactionField,
)
from headrace.connect.schema import Field, Schema, Type
from headrace.connect.trees import fields, select
from headrace.converters.avro.converter import AvroConverter
from headrace.converters.embedded import Embedded
from headrace.converters.json.program import compile_json
from headrace.converters.json.values import JsonOptions
from headrace.converters.program import MadeColumns, Program
from headrace.debezium.naming.names import NameAdjustment
from headrace.errors import HeadraceError

_TEXT = Schema(Type.STRING)
_OPTIONAL_TEXT = Schema(Type.STRING, optional=True)
_BYTES = Schema(Type.BYTES)
_PREFIX = "iodebezium"
_DATA_SUFFIX = "-data"
_ABOUT_THE_EVENT = ("source", "op", "ts_ms", "ts_us", "ts_ns", "transaction")
_TRANSACTION = ("id", "total_order", "data_collection_order")
_AS_INT32 = (Type.INT8, Type.INT16, Type.INT32)


@dataclass(frozen=True)
class CloudEventsOptions:
    """The converter's options. `identity` are the parts of a connector's event ids: the label
    before the value, and the name of the field of `source`."""

    identity: tuple[tuple[str, str], ...]
    extensions: bool = True
    schema_name: str | None = None
    names: NameAdjustment = NameAdjustment()  # noqa: RUF009 - immutable


class CloudEventsConverter:
    """Values as CloudEvents in JSON, or in Avro (see `headrace.converters.converter`).

    Records that are not change events (heartbeats, transactions) have no value, as with Debezium.
    """

    def __init__(
        self, options: CloudEventsOptions, data: JsonOptions, avro: AvroConverter | None
    ) -> None:
        """`data` says how JSON is written, and whether the data has its schema; with `avro`, both
        event and data are Avro."""
        self._options = options
        self._data = data
        self._avro = avro
        self.column = pa.string() if avro is None else pa.binary()

    def program(
        self,
        topic: str,
        node: Node,
        made_columns: MadeColumns,
        *,
        null_has_schema: bool,  # noqa: ARG002
    ) -> Program:
        envelope = node.node if isinstance(node, Guarded) else node
        json = replace(self._data, schemas_enable=False)
        if not {"source", "op"} <= fields(envelope).keys():
            return compile_json(Constant(_OPTIONAL_TEXT, None), json, made_columns)
        data = self._data_of(envelope)
        if self._avro is None:
            embedded = Embedded(data.schema, data)
            if self._data.schemas_enable:
                lead = b'{"schema":' + data.schema.json.encode() + b',"payload":'
                embedded = Embedded(data.schema, data, lead, b"}")
            return compile_json(self._event(envelope, embedded, None), json, made_columns)
        head = self._avro.head(topic + _DATA_SUFFIX, data.schema)
        uri = f"{self._avro.registry_url}/schemas/ids/{int.from_bytes(head[1:], 'big')}"
        event = self._event(envelope, Embedded(_BYTES, data, head), uri)
        return self._avro.program(topic, event, made_columns, null_has_schema=False)

    def constant(self, topic: str, schema: Schema, value: object) -> bytes | None:  # noqa: ARG002
        raise HeadraceError(
            "converters.no_event",
            f"a header of {topic} is not a change event",
            "Use header.converter=json.",
        )

    def _data_of(self, envelope: Node) -> Struct:
        connector = _constant(envelope, "connector")
        members = {n: m for n, m in fields(envelope).items() if n not in _ABOUT_THE_EVENT}
        described = {field.name: field.schema for field in envelope.schema.fields}
        schema = Schema(
            Type.STRUCT,
            name=f"io.debezium.connector.{connector}.Data",
            fields=tuple(Field(name, described[name]) for name in members),
        )
        return Struct(schema, tuple(members.values()))

    def _event(self, envelope: Node, data: Embedded, data_schema: str | None) -> Struct:
        options = self._options
        connector, server = _constant(envelope, "connector"), _constant(envelope, "name")
        members: dict[str, Node | Embedded] = {
            "id": Concat(_TEXT, _identity(envelope, options.identity)),
            "source": Constant(_TEXT, f"/debezium/{connector}/{server}"),
            "specversion": Constant(_TEXT, "1.0"),
            "type": Constant(_TEXT, f"io.debezium.connector.{connector}.DataChangeEvent"),
            "time": _time(envelope),
            "datacontenttype": Constant(
                _TEXT, "application/json" if self._avro is None else "application/avro"
            ),
        }
        if data_schema is not None:
            members["dataschema"] = Constant(_TEXT, data_schema)
        if options.extensions:
            members |= _extensions(envelope)
        members["data"] = data
        name = options.schema_name
        if name is None:
            name = f"{server}.{_constant(envelope, 'db')}.CloudEvents.Envelope"
        schema = Schema(
            Type.STRUCT,
            name=options.names.schema(name),
            fields=tuple(Field(key, member.schema) for key, member in members.items()),
        )
        return Struct(schema, cast("tuple[Node, ...]", tuple(members.values())))


def _constant(envelope: Node, name: str) -> str:
    """Return the value of a source field that is the same in all events of a shape."""
    node = select(envelope, f"source.{name}")
    if isinstance(node, Constant):
        return str(node.value)
    raise HeadraceError(
        "converters.no_event",
        f"the field source.{name} is not the same in all events of a table",
        "Use the converter cloudevents on a connector's own events, without a transform that "
        "changes source, or set value.converter.schema.cloudevents.name.",
    )


def _identity(envelope: Node, identity: Sequence[tuple[str, str]]) -> tuple[TextPart, ...]:
    """The parts of an event's id; a null becomes the text null."""
    parts: list[TextPart] = []
    for label, name in identity:
        before = f"{';' if parts else ''}{label}:"
        node = select(envelope, f"source.{name}")
        if node is None:
            parts.append(TextPart(Constant(_TEXT, "null"), before))
        elif isinstance(node, Concat):
            parts += _spliced(node, before)
        else:
            assert not isinstance(node, (Struct, Instant))
            parts.append(TextPart(node, before, null=f"{before}null"))
    return tuple(parts)


def _spliced(node: Concat, before: str) -> list[TextPart]:
    """Return the parts of a text that is part of another text."""
    first, *others = node.parts
    null = None if first.null is None else before + first.null
    return [replace(first, before=before + first.before, null=null), *others]


def _time(envelope: Node) -> Node:
    node = select(envelope, "source.ts_ms")
    if isinstance(node, (RowField, TransactionField)):
        return Instant(_TEXT, node)
    if isinstance(node, (Cell, Column)):
        decode = node.decode

        def instant(raw: bytes) -> object:
            value = decode(raw)
            return _iso(value) if isinstance(value, int) else None

        return replace(node, schema=_TEXT, encoding=Encoding.PYTHON, decode=instant)
    raise HeadraceError(
        "converters.no_event",
        "the field source.ts_ms of an event is not a number of its row",
        "Use the converter cloudevents on a connector's own events.",
    )


def _iso(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"


def _extensions(envelope: Node) -> dict[str, Node]:
    """`iodebeziumop`, the source's fields and those of the transaction."""
    operation = select(envelope, "op")
    source = select(envelope, "source")
    assert operation is not None
    assert source is not None
    members: dict[str, Node] = {_extension("op"): _typed(operation, _TEXT)}
    for field in source.schema.fields:
        node = select(envelope, f"source.{field.name}")
        assert node is not None
        members[_extension(field.name)] = _attribute(node, optional=field.schema.optional)
    for name in _TRANSACTION:
        node = select(envelope, f"transaction.{name}")
        node = Constant(_OPTIONAL_TEXT, None) if node is None else node
        members[_extension(f"tx{name}")] = _attribute(node, optional=True)
    return members


def _extension(name: str) -> str:
    """The name of an extension attribute: only letters and digits are allowed."""
    return _PREFIX + "".join(c for c in name if c.isascii() and c.isalnum())


def _attribute(node: Node, *, optional: bool) -> Node:
    """A field as an attribute: the specification only has texts, booleans and 32-bit numbers."""
    kind = node.schema.type
    if kind is Type.BOOLEAN:
        return _typed(node, Schema(Type.BOOLEAN, optional=optional))
    if kind in _AS_INT32:
        return _typed(node, Schema(Type.INT32, optional=optional))
    text = Schema(Type.STRING, optional=optional)
    if isinstance(node, Constant):
        value = node.schema.default if node.value is None else node.value
        return Constant(text, None if value is None else str(value))
    if kind is Type.INT64:
        assert not isinstance(node, (Struct, Concat, Instant))
        return Concat(text, (TextPart(node),))
    if kind is Type.STRING:
        return _typed(node, text)
    raise HeadraceError(
        "converters.no_attribute",
        f"a source field of type {kind.value} cannot be an attribute of a CloudEvent",
        "Set value.converter.extension.attributes.enable=false.",
    )


def _typed(node: Node, schema: Schema) -> Node:
    """A node with another schema; a null becomes the default of the node's own schema."""
    default = node.schema.default
    if isinstance(node, Guarded):
        inner = _typed(node.node, schema)
        return replace(node, node=inner)
    if isinstance(node, Choice) and default is not None:
        texts = tuple((value, text or str(default)) for value, text in node.texts)
        return replace(node, schema=schema, texts=texts, otherwise=node.otherwise or str(default))
    if isinstance(node, (Cell, Column)) and node.null is None:
        return replace(node, schema=schema, null=default)
    if isinstance(node, Constant) and node.value is None:
        return replace(node, schema=schema, value=default)
    return replace(node, schema=schema)
