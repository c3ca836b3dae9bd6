"""A table of a stream of change events as typed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from headrace.config.formats import OF_SPARK
from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.records import Shape
from headrace.connect.schema import Schema, Type
from headrace.connectors.registry import event_shapes, parse_configuration, sampled_schema
from headrace.converters.typed.types import typed
from headrace.documents.target_schema.ddl import ddl
from headrace.documents.target_schema.policies import ConflictPolicy, UnknownFields
from headrace.errors import HeadraceError
from headrace.spark.query.format_options import is_configuration, read_configuration
from headrace.spark.tables.documents import with_documents
from headrace.spark.tables.forms import decoded, wire_type
from headrace.spark.tables.misfits import CORRUPT, refused
from headrace.spark.tables.unknown_columns import UnknownColumns, column_names
from headrace.spark.versions.types import spark_type

PLACES = ("sequence", "partition", "offset", "timestamp")
"""Columns of events with their place, which are kept."""
_IMAGES = ("before", "after")
_MAX_TEXT = str((1 << 31) - 1)
_OPTIONS = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": CORRUPT,
    "maxStringLen": _MAX_TEXT,
}
_JSON_NAME = "io.debezium.data.Json"


@dataclass(frozen=True)
class _Layout:
    """The types of a table's events: its rows, its keys (None: left as text) and the source block.
    `is_document`: `before` and `after` are texts of Extended JSON. `topic` is the table's, if
    known. `unknown` says what happens to columns that events have and the rows do not."""

    row: DataType
    key: StructType | None
    source: DataType
    is_document: bool
    topic: str | None = None
    unknown: UnknownFields = UnknownFields.DROP


def table(
    events: DataFrame,
    name: str,
    schema: str | StructType | Mapping[str, object] | PathLike[str],
    *,
    key: str | Sequence[str] | None = (),
    documents: bool = False,
    conflict: str = "fail",
) -> DataFrame:
    """See `headrace.table`."""
    key = [key] if isinstance(key, str) else list(key or ())
    if is_configuration(schema):
        properties = read_configuration(schema, "headrace.table")
        layout = _layout_from_database(parse_configuration(properties.split(OF_SPARK)[0]), name)
    else:
        layout = _declared(_row_type(schema), key, documents=documents)
    of_table = events
    if "topic" in events.columns:
        topic = layout.topic or name
        matches = F.col("topic") == topic
        if layout.topic is None:
            matches |= F.endswith(F.col("topic"), F.lit(f".{name}"))
        of_table = events.where(matches)
    return _columns(of_table, layout, _policy(conflict), name)


def _policy(conflict: str) -> ConflictPolicy:
    try:
        return ConflictPolicy(conflict)
    except ValueError:
        raise HeadraceError(
            "spark.no_such_policy",
            f"conflict = {conflict!r}: expected one of {', '.join(ConflictPolicy)}",
            "Choose the result for a value that its column cannot hold exactly: an error (fail), "
            "null, or null and the value in the column __rest (rest).",
        ) from None


_PARSED, _PARSED_KEY, _VALUE, _KEY = "__parsed", "__parsed_key", "__value", "__key"
"""Intermediate columns, so that a text is parsed once, however many columns are made of it."""


def _columns(events: DataFrame, layout: _Layout, conflict: ConflictPolicy, name: str) -> DataFrame:
    kind = events.schema["value"].dataType
    is_wire = isinstance(kind, StringType | BinaryType)
    if isinstance(kind, StructType):
        events = events.withColumn(_VALUE, F.col("value"))
    elif isinstance(kind, VariantType):
        envelope = _envelope(layout, is_wire=False)
        value = F.variant_get("value", "$", _ddl(envelope))
        events = events.withColumn(_VALUE, value)
    elif is_wire:
        envelope = _envelope(layout, is_wire=True)
        events = _unwrapped(events, "value", envelope, _PARSED, _VALUE)
    else:
        raise HeadraceError(
            "spark.events_not_understood",
            f"the column value is {kind.simpleString()}, which holds no change events",
            "Pass events whose value is JSON (string or binary), VARIANT, or a struct of "
            "value.converter=row.",
        )
    keys: list[Column] = []
    if "key" in events.columns:
        events, key = _key(events, layout)
        keys = [key.alias("key")]
    unknown = None
    if layout.unknown is UnknownFields.FAIL and isinstance(layout.row, StructType):
        payload = F.col(_PARSED).getField("payload") if is_wire else F.lit(None)
        names = column_names(kind, F.col(_VALUE), payload)
        unknown = None if names is None else UnknownColumns(name, layout.row.names, names)
    fields = _fields(F.col(_VALUE), layout, unknown, is_wire=is_wire)
    others = [F.col(place) for place in PLACES if place in events.columns]
    frame = events.select(*keys, *fields, *others)
    if not layout.is_document or isinstance(layout.row, StringType):
        return frame
    unknown_fields = UnknownFields.DROP if conflict is ConflictPolicy.NULL else layout.unknown
    return with_documents(frame, _IMAGES, layout.row, conflict, unknown_fields)


def _unwrapped(
    events: DataFrame, name: str, kind: StructType, parsed: str, unwrapped: str
) -> DataFrame:
    """Return the events with the column `unwrapped`: JSON as a struct, with or without its
    schema."""
    text = F.col(name).cast("string")
    prefix = "key." if name == "key" else ""
    corrupt = StructField(CORRUPT, StringType())
    if "payload" in kind.names:
        whole = StructType([*kind.fields, corrupt])
        events = events.withColumn(parsed, F.from_json(text, whole, _OPTIONS))
        fits = F.struct(*(F.col(parsed).getField(f.name).alias(f.name) for f in kind.fields))
        fits = F.when(F.col(parsed).isNotNull(), fits)
        failure = refused(F.col(parsed), kind, text, prefix)
    else:
        whole = StructType([*kind.fields, StructField("payload", kind), corrupt])
        events = events.withColumn(parsed, F.from_json(text, whole, _OPTIONS))
        plain = F.struct(*(F.col(parsed).getField(f.name).alias(f.name) for f in kind.fields))
        payload, payload_text = (
            F.col(parsed).getField("payload"),
            F.get_json_object(text, "$.payload"),
        )
        fits = F.coalesce(payload, plain)
        failure = F.when(
            payload_text.isNotNull(), refused(payload, kind, payload_text, prefix)
        ).otherwise(refused(plain, kind, text, prefix))
    is_misfit = F.col(parsed).getField(CORRUPT).isNotNull()
    return events.withColumn(unwrapped, F.when(is_misfit, failure).otherwise(fits))


def _envelope(layout: _Layout, *, is_wire: bool) -> StructType:
    row: DataType = StringType() if layout.is_document else layout.row
    if is_wire and not layout.is_document:
        row = wire_type(layout.row)
    return StructType(
        [
            StructField("op", StringType()),
            StructField("before", row),
            StructField("after", row),
            StructField("source", wire_type(layout.source) if is_wire else layout.source),
            StructField("ts_ms", LongType()),
        ]
    )


def _fields(
    value: Column,
    layout: _Layout,
    columns: UnknownColumns | None,
    *,
    is_wire: bool,
) -> list[Column]:
    no_operation = F.when(
        ~_is_tombstone(is_wire=is_wire), F.raise_error(F.lit(_NO_EVENT)).cast("string")
    )
    columns_of_event: list[Column] = [F.coalesce(value.getField("op"), no_operation).alias("op")]
    for name in _IMAGES:
        image = value.getField(name)
        if is_wire and not layout.is_document:
            image = decoded(image, layout.row, name)
        if columns is not None and not layout.is_document:
            image = columns.refused(image, layout.row)
        columns_of_event.append(image.alias(name))
    source = value.getField("source")
    columns_of_event.append(
        (decoded(source, layout.source, "source") if is_wire else source).alias("source")
    )
    columns_of_event.append(value.getField("ts_ms").alias("ts_ms"))
    return columns_of_event


_NO_EVENT = (
    "headrace.table: a value without op is not a change event. Pass the events as the connector or "
    "Debezium made them, before ExtractNewRecordState and the like."
)


def _is_tombstone(*, is_wire: bool) -> Column:
    """Return whether an event has no value: null, or JSON's null as payload of a schema."""
    value = F.col("value")
    if not is_wire:
        return value.isNull()
    text = value.cast("string")
    no_payload = F.get_json_object(text, "$.payload").isNull()
    with_schema = text.rlike(r'^\s*\{\s*"(schema|payload)"')
    return text.isNull() | (with_schema & no_payload)


def _ddl(kind: DataType) -> str:
    """Return the type as a text, whatever the names of its fields."""
    if isinstance(kind, StructType):
        fields = (f"`{f.name.replace('`', '``')}`: {_ddl(f.dataType)}" for f in kind.fields)
        return f"struct<{', '.join(fields)}>"
    if isinstance(kind, ArrayType):
        return f"array<{_ddl(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{_ddl(kind.keyType)}, {_ddl(kind.valueType)}>"
    return kind.simpleString()


def _key(events: DataFrame, layout: _Layout) -> tuple[DataFrame, Column]:
    """Return the events, perhaps with more columns, and their key."""
    kind, column = events.schema["key"].dataType, F.col("key")
    if isinstance(kind, StructType):
        return events, column
    if layout.key is None:
        return events, column if isinstance(kind, VariantType) else column.cast("string")
    if isinstance(kind, VariantType):
        return events, F.variant_get(column, "$", _ddl(layout.key))
    wire = wire_type(layout.key)
    assert isinstance(wire, StructType)
    events = _unwrapped(events, "key", wire, _PARSED_KEY, _KEY)
    return events, F.when(column.isNotNull(), decoded(F.col(_KEY), layout.key, "key"))


def topics_named(topics: Sequence[str], name: str) -> list[str]:
    """Return the topics that are `name`, or end with it after a dot; if none does, those that do so
    in any case, as filters compare names."""
    exact = [topic for topic in topics if f".{topic}".endswith(f".{name}")]
    lowered = f".{name}".lower()
    return exact or [topic for topic in topics if f".{topic}".lower().endswith(lowered)]


_NONE = "is not the name of a captured table"
_SEVERAL = "matches the topics of several captured tables"


def _layout_from_database(config: ConnectorConfig, name: str) -> _Layout:
    """Return the layout of a table, read from its database."""
    shapes = event_shapes(config)
    topics = topics_named([shape.topic for shape in shapes], name)
    chosen = [shape for shape in shapes if shape.topic in topics]
    if len(chosen) != 1:
        known = ", ".join(shape.topic for shape in shapes[:10]) or "none"
        raise HeadraceError(
            "spark.no_such_table",
            f"{name} {_SEVERAL if chosen else _NONE}; the topics of the captured tables: {known}",
            "Name a captured table as its topic does, such as inventory.orders.",
        )
    unknown = UnknownFields(config.headrace_table_unknown_columns)
    layout = replace(_layout_of(chosen[0]), unknown=unknown)
    if not layout.is_document:
        return layout
    row = StructType.fromDDL(ddl(sampled_schema(config, layout.topic)))
    return replace(layout, row=row)


def _layout_of(shape: Shape) -> _Layout:
    assert shape.value is not None
    fields = {field.name: field.schema for field in shape.value.schema.fields}
    after = fields["after"]
    is_document = after.type is Type.STRING and after.name == _JSON_NAME
    row = StringType() if is_document else _spark_type(after)
    key = None if shape.key is None else _spark_type(shape.key.schema)
    assert key is None or isinstance(key, StructType)
    return _Layout(row, key, _spark_type(fields["source"]), is_document, shape.topic)


_MADE_OF_PARTS = ("io.debezium.data.VariableScaleDecimal",)
"""The structs that Spark has as one value."""


def _spark_type(schema: Schema) -> DataType:
    """Return the Spark type of a schema's values; fields have the name of their schema as
    comment."""
    if schema.type is not Type.STRUCT or not schema.fields or schema.name in _MADE_OF_PARTS:
        kind: DataType = spark_type(typed(schema))
        return kind
    return StructType(
        [
            StructField(f.name, _spark_type(f.schema), metadata=_comment(f.schema))
            for f in schema.fields
        ]
    )


def _comment(schema: Schema) -> dict[str, str]:
    while schema.type in (Type.ARRAY, Type.MAP) and schema.values is not None:
        schema = schema.values
    return {} if schema.name is None else {"comment": schema.name}


def _row_type(schema: object) -> str | StructType:
    """Return declared columns; a text for whole documents is returned unchanged. Raises
    HeadraceError("spark.schema_not_understood")."""
    if isinstance(schema, StructType):
        return schema
    if not isinstance(schema, str):
        value = f"a {type(schema).__name__}"
    elif schema.strip().upper() in _WHOLE:
        return schema
    else:
        try:
            columns = StructType.fromDDL(schema)
        except PySparkException:
            columns = None
        if isinstance(columns, StructType):
            return columns
        value = f"{schema.strip()[:100]!r}"
    raise HeadraceError(
        "spark.schema_not_understood",
        f"headrace.table: the schema is {value}, neither columns nor a configuration",
        "Give it columns as DDL ('id INT, name STRING') or as a StructType, or the source's "
        "configuration: a dict, the path of its file, or what headrace.options returned.",
    )


def _declared(schema: str | StructType, key: Sequence[str], *, documents: bool) -> _Layout:
    whole = schema.strip().upper() if isinstance(schema, str) else ""
    if whole in _WHOLE:
        return _Layout(_WHOLE[whole], _document_key(key), _SOURCE, is_document=True)
    assert isinstance(schema, StructType)
    row = schema
    if documents:
        return _Layout(row, _document_key(key), _SOURCE, is_document=True)
    missing = [name for name in key if name not in row.names]
    if missing:
        raise HeadraceError(
            "spark.no_such_column",
            f"the key column {missing[0]} is not a column of the schema",
            f"The columns are: {', '.join(row.names)}.",
        )
    keys = StructType([row[name] for name in key]) if key else None
    return _Layout(row, keys, _SOURCE, is_document=False)


_SOURCE = MapType(StringType(), StringType())
_WHOLE: dict[str, DataType] = {"VARIANT": VariantType(), "STRING": StringType()}
"""Schemas for whole documents."""


def _document_key(key: Sequence[str]) -> StructType:
    return StructType([StructField(name, StringType()) for name in key or ("id",)])
