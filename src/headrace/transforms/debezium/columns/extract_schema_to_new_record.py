"""ExtractSchemaToNewRecord: adds a description of the source's columns to each change event."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum

from headrace.config.configuration import Configuration
from headrace.config.kinds import choice
from headrace.config.property import Group, Property
from headrace.connect.evaluation.values import nulls, tombstones
from headrace.connect.records import Constant, Node, Records, Shape, struct_of
from headrace.connect.schema import Field, Schema, Type
from headrace.connect.trees import (
    fields,
    select,
    with_added,
    with_defaults,
    with_fields,
    with_schema,
)
from headrace.errors import HeadraceError
from headrace.transforms.debezium.envelopes import envelope_of
from headrace.transforms.example import Example
from headrace.transforms.transform import Declaration, Ordering, PerShape

_SCHEMA = "io.debezium.connector.source.Schema"
_COLUMN = "__debezium.source.column"
_TEXT = Schema(Type.STRING)
_OPTIONAL_INT = Schema(Type.INT32, optional=True)
_COLUMN_SCHEMA = Schema(
    Type.STRUCT,
    name="io.debezium.connector.source.schema.Column",
    version=1,
    fields=(
        Field("name", _TEXT),
        Field("typeName", _TEXT),
        Field("length", _OPTIONAL_INT),
        Field("scale", _OPTIONAL_INT),
        Field("comment", Schema(Type.STRING, optional=True)),
    ),
)
_TABLE_SCHEMA = Schema(
    Type.STRUCT,
    name="io.debezium.connector.source.schema.Table",
    version=1,
    fields=(Field("columns", Schema(Type.ARRAY, values=_COLUMN_SCHEMA)),),
)


class Adjustment(StrEnum):
    """Adjustment of schema names."""

    NONE = "none"
    AVRO = "avro"
    AVRO_UNICODE = "avro_unicode"


class ExtractSchemaToNewRecordOptions(Configuration):
    """Options of ExtractSchemaToNewRecord."""

    schema_name_adjustment_mode = Property(
        "schema.name.adjustment.mode",
        choice(Adjustment),
        "none",
        Group.CONVERTERS,
        "As the connector's property. The names of the schemas that are added suit every mode.",
    )


class ExtractSchemaToNewRecord:
    """See DECLARATION."""

    ordering = Ordering.KEEPS_KEY
    takes_schemas_only = True

    def __init__(self, _options: ExtractSchemaToNewRecordOptions) -> None:
        self._described = PerShape(_described)

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.no_source_columns")."""
        envelope = envelope_of(records.shape)
        if envelope is None:
            yield records
            return
        images = fields(envelope)
        passing = tombstones(records)
        passing |= nulls(records, images.get("before")) & nulls(records, images.get("after"))
        if passing.any():
            yield records.with_rows(passing)
            records = records.with_rows(~passing)
        if len(records):
            yield records.with_shape(self._described(records.shape))


def _described(shape: Shape) -> Shape:
    """The shape with `sourceSchema` after the fields of the envelope."""
    envelope = envelope_of(shape)
    assert envelope is not None
    members = {name: with_defaults(node) for name, node in fields(envelope).items()}
    table = select(envelope, "source.table")
    row = members.get("after")
    if table is None or row is None or row.schema.type is not Type.STRUCT:
        raise HeadraceError(
            "transforms.no_source_columns",
            f"change events of {shape.topic} have no table and no columns",
            "Use ExtractSchemaToNewRecord with relational databases; give it a predicate.",
        )
    columns = [_column(shape, field) for field in row.schema.fields]
    added: dict[str, Node] = {
        "id": with_schema(table, _TEXT),
        "table": Constant(_TABLE_SCHEMA, {"columns": columns}),
    }
    value = with_added(
        with_fields(envelope, members), {"sourceSchema": struct_of(_SCHEMA, added, version=1)}
    )
    return replace(shape, value=replace(value, schema=replace(value.schema, default=None)))


def _column(shape: Shape, field: Field) -> dict[str, object]:
    """Return the column description in a field's schema parameters."""
    said = dict(field.schema.parameters)
    name, type_name = said.get(f"{_COLUMN}.name"), said.get(f"{_COLUMN}.type")
    if name is None or type_name is None:
        raise HeadraceError(
            "transforms.no_source_columns",
            f"the schema of {field.name} in change events of {shape.topic} does not contain the "
            f"type of the source's column",
            "Set column.propagate.source.type=.* or datatype.propagate.source.type=.* of the "
            "connector.",
        )
    return {
        "name": name,
        "typeName": type_name,
        "length": _integer(shape, field, said.get(f"{_COLUMN}.length")),
        "scale": _integer(shape, field, said.get(f"{_COLUMN}.scale")),
        "comment": said.get(f"{_COLUMN}.comment"),
    }


def _integer(shape: Shape, field: Field, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        number = int(text)
    except ValueError:
        number = 2**31
    if not -(2**31) <= number < 2**31:
        raise HeadraceError(
            "transforms.no_source_columns",
            f"the schema of {field.name} in change events of {shape.topic} has {text!r} for a "
            "length or scale",
            "The parameters __debezium.source.column.length and .scale are whole numbers.",
        )
    return number


DECLARATION = Declaration(
    "ExtractSchemaToNewRecord",
    "Adds `sourceSchema` to change events: the table's name, and for each column, its name, type, "
    "length, scale and comment in the source. The connector must provide them: "
    "`column.propagate.source.type=.*` or `datatype.propagate.source.type=.*` (and "
    "`include.schema.comments=true`, where the connector has it); without them every change event "
    "is an error. Truncations, tombstones and other records pass as they are.",
    ExtractSchemaToNewRecordOptions,
    ExtractSchemaToNewRecord,
    example=Example(
        {"before": None, "after": {"id": 1}, "source": {"table": "orders"}, "op": "c"},
        {},
        key={"id": 1},
        topic="s.orders",
        names={"value": "s.orders.Envelope", "value.after": "s.orders.Value"},
        parameters={
            "value.after.id": {f"{_COLUMN}.name": "id", f"{_COLUMN}.type": "INT4"},
        },
    ),
)
