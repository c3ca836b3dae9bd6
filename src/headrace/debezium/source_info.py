"""The `source` block: the fields on a record's origin that all connectors share, and their own
fields."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.connect.records import Choice, Constant, Node, Struct, TransactionField
from headrace.connect.rows import MARKERS
from headrace.connect.schema import Field, Schema, Type
from headrace.debezium.event_format import EventFormat, SnapshotMarker

_STRING = Schema(Type.STRING)
_INT64 = Schema(Type.INT64)
_OPTIONAL_STRING = Schema(Type.STRING, optional=True)
_OPTIONAL_INT64 = Schema(Type.INT64, optional=True)


def snapshot_schema(event_format: EventFormat) -> Schema:
    """The schema of `snapshot`."""
    return Schema(
        Type.STRING,
        optional=True,
        name="io.debezium.data.Enum",
        version=1,
        parameters=(("allowed", ",".join(event_format.markers)),),
        default=SnapshotMarker.FALSE.value,
    )


def source_schema(name: str, own_fields: tuple[Field, ...], event_format: EventFormat) -> Schema:
    """A connector's Source schema: the fields shared by all connectors, then its own.

    `name` is the schema's full name, `io.debezium.connector.DATABASE.Source`. `ts_ms` is
    required; `ts_us` and `ts_ns`, which are newer, come after `sequence`.
    """
    precise = (Field("ts_us", _OPTIONAL_INT64), Field("ts_ns", _OPTIONAL_INT64))
    shared = (
        Field("version", _STRING),
        Field("connector", _STRING),
        Field("name", _STRING),
        Field("ts_ms", _INT64),
        Field("snapshot", snapshot_schema(event_format)),
        Field("db", _STRING),
        Field("sequence", _OPTIONAL_STRING),
        *(precise if event_format.precise_times else ()),
    )
    return Schema(
        Type.STRUCT, name=name, version=event_format.source_version, fields=shared + own_fields
    )


def snapshot_marker(schema: Schema) -> Choice:
    """The node of `snapshot`: the row's marker. `false` is written as null, as in Debezium, because
    it is the schema's default."""
    texts = tuple(
        (number, None if marker == SnapshotMarker.FALSE else marker)
        for number, marker in enumerate(MARKERS)
    )
    return Choice(schema, "marker", texts)


def source_block(schema: Schema, own_nodes: Mapping[str, Node], /, **constants: object) -> Struct:
    """Build a source block. `own_nodes` are nodes by the names of their fields. Of the other
    fields, `snapshot` is the row's marker, `ts_ms`, `ts_us` and `ts_ns` are the time of its
    transaction, and the rest come from `constants`, or are null. Constants that are not fields of
    the block become texts that are not shown in it."""
    nodes: list[Node] = []
    for field in schema.fields:
        if field.name in own_nodes:
            nodes.append(own_nodes[field.name])
        elif field.name == "snapshot":
            nodes.append(snapshot_marker(field.schema))
        elif field.name in ("ts_ms", "ts_us", "ts_ns"):
            nodes.append(TransactionField(field.schema, "commit_" + field.name[3:]))
        else:
            nodes.append(Constant(field.schema, constants.get(field.name)))
    field_names = {field.name for field in schema.fields}
    unshown = {
        name: Constant(_OPTIONAL_STRING, value)
        for name, value in constants.items()
        if name not in field_names
    }
    return Struct(schema, tuple(nodes), unshown=unshown)
