"""Arrow's types and Spark's."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema, to_arrow_type
from pyspark.sql.types import DataType, StructType

from headrace.spark.versions.installed import REPORTS_STARTS

_SHAPE = "wkb"


def spark_type(kind: pa.DataType) -> DataType:
    """Return the type of Spark. Spark 4.1 fails at a field `wkb` without metadata, which it tests
    for a type of its own."""
    return from_arrow_type(kind if REPORTS_STARTS else _tagged(kind))


def arrow_type(kind: DataType, zone: str | None = "UTC") -> pa.DataType:
    """Return the type of Arrow; instants have a zone, which is UTC before Spark 4.2."""
    return to_arrow_type(kind, timezone=zone) if REPORTS_STARTS else to_arrow_type(kind)


def arrow_schema(schema: StructType, zone: str | None = "UTC") -> pa.Schema:
    """Return the schema with types as of `arrow_type`."""
    return to_arrow_schema(schema, timezone=zone) if REPORTS_STARTS else to_arrow_schema(schema)


def _tagged(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_tagged_field(field) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_tagged_field(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(_tagged_field(kind.key_field), _tagged_field(kind.item_field))
    return kind


def _tagged_field(field: pa.Field) -> pa.Field:
    tagged = field.with_type(_tagged(field.type))
    if field.name == _SHAPE and not field.metadata:
        return tagged.with_metadata({b"-": b""})
    return tagged
