"""The `source` block: what every connector says about a record's origin, and its own fields."""

from __future__ import annotations

from enum import StrEnum

from headrace.connect.schema import Field, Schema, Type

_STRING = Schema(Type.STRING)
_INT64 = Schema(Type.INT64)
_OPTIONAL_STRING = Schema(Type.STRING, optional=True)
_OPTIONAL_INT64 = Schema(Type.INT64, optional=True)


class SnapshotMarker(StrEnum):
    """The `snapshot` field: which part of a snapshot a record belongs to."""

    TRUE = "true"
    FIRST = "first"
    FIRST_IN_DATA_COLLECTION = "first_in_data_collection"
    LAST_IN_DATA_COLLECTION = "last_in_data_collection"
    LAST = "last"
    FALSE = "false"
    INCREMENTAL = "incremental"


SNAPSHOT = Schema(
    Type.STRING,
    optional=True,
    name="io.debezium.data.Enum",
    version=1,
    parameters=(("allowed", ",".join(SnapshotMarker)),),
    default=SnapshotMarker.FALSE.value,
)


def source_schema(name: str, own: tuple[Field, ...], version: int = 1) -> Schema:
    """A connector's Source schema: the fields shared by all connectors, then its own.

    `name` is the schema's full name, e.g. `io.debezium.connector.postgresql.Source`. `ts_ms` is
    required; `ts_us` and `ts_ns`, younger, stand after `sequence`.
    """
    shared = (
        Field("version", _STRING),
        Field("connector", _STRING),
        Field("name", _STRING),
        Field("ts_ms", _INT64),
        Field("snapshot", SNAPSHOT),
        Field("db", _STRING),
        Field("sequence", _OPTIONAL_STRING),
        Field("ts_us", _OPTIONAL_INT64),
        Field("ts_ns", _OPTIONAL_INT64),
    )
    return Schema(Type.STRUCT, name=name, version=version, fields=shared + own)


POSTGRESQL = source_schema(
    "io.debezium.connector.postgresql.Source",
    (
        Field("schema", _STRING),
        Field("table", _STRING),
        Field("txId", _OPTIONAL_INT64),
        Field("lsn", _OPTIONAL_INT64),
        Field("xmin", _OPTIONAL_INT64),
        Field("origin", _OPTIONAL_STRING),
        Field("origin_lsn", _OPTIONAL_INT64),
    ),
)
"""PostgreSQL's source block."""
