"""Change events as node trees: the envelope with two images, the key, the headers.

Shared by the connectors, which provide the cells and the source block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.connect.records import (
    Cell,
    Constant,
    Header,
    Image,
    Node,
    On,
    ProcessingTime,
    RowField,
    Shape,
    Struct,
)
from headrace.connect.schema import Field, Schema, Type
from headrace.debezium.envelope import (
    NEW_KEY_HEADER,
    OLD_KEY_HEADER,
    envelope_schema,
    key_schema,
    value_schema,
)
from headrace.debezium.event_format import EnvelopeForm, EventFormat
from headrace.debezium.naming.names import AS_NAMED, NameAdjustment
from headrace.errors import HeadraceError

CONTEXT_HEADER_PREFIX = "__debezium.context."


@dataclass(frozen=True)
class ColumnCells:
    """A captured column: its name, and its cell in the new image, or a constant instead of a cell;
    both have the column's schema."""

    name: str
    cell: Cell | Constant

    def of(self, image: Image) -> Cell | Constant:
        """Return the column's cell in another image; a constant is returned unchanged."""
        return replace(self.cell, image=image) if isinstance(self.cell, Cell) else self.cell


def context_headers(logical_name: str, task: str, connector: str, run: str) -> tuple[Header, ...]:
    """Headers of `extended.headers.enabled`, which identify the connector that streamed the
    event."""
    values = {
        "connectorLogicalName": logical_name,
        "taskId": task,
        "connectorName": connector,
        "runId": run,
    }
    text = Schema(Type.STRING)
    return tuple(
        Header(CONTEXT_HEADER_PREFIX + name, Constant(text, value))
        for name, value in values.items()
    )


def _row(columns: Sequence[ColumnCells], schema: Schema, image: Image) -> Struct:
    return Struct(schema, tuple(column.of(image) for column in columns), image)


def change_event(
    topic: str,
    columns: Sequence[ColumnCells],
    key: Sequence[ColumnCells],
    source: Struct,
    headers: tuple[Header, ...],
    transaction: Node,
    event_format: EventFormat,
    names: NameAdjustment = AS_NAMED,
) -> Shape:
    """The shape of a table's change events. `key` is in key order; empty: no key. `transaction` is
    their transaction block (`headrace.debezium.transactions`).

    Raises HeadraceError("debezium.field_name_twice") when two columns get the same field name.
    """
    name = names.schema(topic)
    row = value_schema(name, _fields(topic, columns, names)).as_optional()
    images = {"before": _row(columns, row, Image.OLD), "after": _row(columns, row, Image.NEW)}
    value = envelope(name, images, source, transaction, event_format.envelope)
    if not key:
        return Shape(topic, None, value, headers)
    keys = key_schema(name, _fields(topic, key, names))
    other = Struct(keys, tuple(column.of(Image.COUNTERPART) for column in key))
    changed = (
        Header(NEW_KEY_HEADER, other, On.DELETE),
        Header(OLD_KEY_HEADER, other, On.CREATE),
    )
    return Shape(
        topic,
        Struct(keys, tuple(column.of(Image.KEY) for column in key), Image.KEY),
        value,
        changed + headers,
    )


def envelope(
    topic: str, images: Mapping[str, Node], source: Struct, transaction: Node, form: EnvelopeForm
) -> Struct:
    """The envelope of events: `images` are the state before and after a change, by the names of
    their fields. `topic` is already adjusted (`NameAdjustment`)."""
    described = (Field(name, image.schema) for name, image in images.items())
    schema = envelope_schema(topic, described, source.schema, form)
    rest: dict[str, Node] = {"transaction": transaction}
    for field in schema.fields:
        if field.name == "op":
            rest[field.name] = RowField(field.schema, "operation", character=True)
        elif field.name.startswith("ts_"):
            rest[field.name] = ProcessingTime(field.schema, field.name[3:])
    return Struct(schema, (*images.values(), source, *(rest[name] for name in form.fields)))


def field_names(table: str, columns: Iterable[str], names: NameAdjustment) -> list[str]:
    """The field names of a table's columns. Raises HeadraceError("debezium.field_name_twice")."""
    columns_by_field: dict[str, str] = {}
    for column in columns:
        name = names.field(column)
        if name in columns_by_field:
            raise HeadraceError(
                "debezium.field_name_twice",
                f"the columns {columns_by_field[name]} and {column} of {table} get the same field "
                f"name {name}",
                "Rename one, exclude one, or set field.name.adjustment.mode=avro_unicode, which "
                "keeps names distinct.",
            )
        columns_by_field[name] = column
    return list(columns_by_field)


def _fields(topic: str, columns: Sequence[ColumnCells], names: NameAdjustment) -> list[Field]:
    fields = field_names(topic, (column.name for column in columns), names)
    return [Field(n, column.cell.schema) for n, column in zip(fields, columns, strict=True)]
