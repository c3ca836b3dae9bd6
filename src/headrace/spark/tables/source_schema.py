"""The columns of a source's tables in Spark's types: read from its catalogue, after its
transforms."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, StringType, StructType

from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.records import Node, Shape
from headrace.connect.schema import Schema
from headrace.connectors.registry import event_shapes
from headrace.converters.typed.types import typed
from headrace.errors import HeadraceError
from headrace.spark.versions.types import spark_type
from headrace.transforms.reading import chain_of

_ROLES = ("key", "value")
_LISTS = {
    "table_include_list": "table.include.list",
    "collection_include_list": "collection.include.list",
}


def spark_struct(schema: Schema, name: str) -> StructType:
    """Return the struct of a Connect struct's fields, all nullable; `name` is the property that
    requires it. Raises HeadraceError("spark.no_struct")."""
    kind = typed(schema)
    if not pa.types.is_struct(kind):
        raise HeadraceError(
            "spark.no_struct",
            f"{name}=row makes columns of fields, and the records have {schema.type.value} there",
            f"Set {name}=json, or remove the transform that drops the fields.",
        )
    struct = spark_type(kind)
    assert isinstance(struct, StructType)
    return struct


def row_shape(config: ConnectorConfig) -> Shape:
    """Return the shape of the only table of a stream, after its transforms.

    Raises HeadraceError("spark.row_of_several_tables"), ("spark.row_of_unknown_columns"), and the
    errors of the connector.
    """
    tables = event_shapes(config)
    include_list = next(
        (text for name, text in _LISTS.items() if hasattr(config, name)), "the tables"
    )
    roles = ", ".join(
        f"{role}.converter=row" for role in _ROLES if config.column_type(role) == "struct"
    )
    if len(tables) != 1:
        named = ", ".join(shape.topic for shape in tables[:5]) + (", …" if len(tables) > 5 else "")
        raise HeadraceError(
            "spark.row_of_several_tables",
            f"{roles} makes the columns of one table, and {include_list} selects {len(tables)}"
            + (f": {named}" if tables else ""),
            f"Let {include_list} select one table, one query for each, or use "
            "value.converter=variant, or json with headrace.table.",
        )
    shapes = chain_of(config).expected(tables[0])
    # After some transforms tombstones have a shape of their own, without a value.
    shapes = [shape for shape in shapes if shape.value is not None]
    if len({(_type_of(shape.key), _type_of(shape.value)) for shape in shapes}) != 1:
        raise HeadraceError(
            "spark.row_of_unknown_columns",
            f"{roles}: the transforms make records of {tables[0].topic} whose fields are known "
            f"only when the records exist",
            "Declare the columns with .schema(...) of the reader.",
        )
    return shapes[0]


def _type_of(node: Node | None) -> pa.DataType | None:
    return None if node is None else typed(node.schema)


def stream_columns(config: ConnectorConfig) -> StructType:
    """Return the six columns of a stream with the converter `row` for keys, values or both."""
    shape = row_shape(config)
    columns = StructType().add("topic", StringType(), False).add("partition", IntegerType())
    for role, node in (("key", shape.key), ("value", shape.value)):
        if config.column_type(role) != "struct":
            columns = columns.add(role, config.column_type(role))
            continue
        if node is None:
            raise HeadraceError(
                "spark.no_struct",
                f"{role}.converter=row: records of {shape.topic} have no {role}",
                f"Set {role}.converter=json, or give the table a key (message.key.columns).",
            )
        columns = columns.add(role, spark_struct(node.schema, f"{role}.converter"))
    header = StructType().add("key", StringType()).add("value", BinaryType())
    return columns.add("headers", ArrayType(header)).add("sequence", StringType(), False)
