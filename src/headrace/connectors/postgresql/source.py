"""PostgreSQL's source block: its schema, and the fields that are made of others."""

from __future__ import annotations

from functools import lru_cache

from headrace.connect.records import Concat, Part, RowField, TransactionField
from headrace.connect.schema import Field, Schema, Type
from headrace.debezium.event_format import EventFormat
from headrace.debezium.source_info import source_schema

_STRING = Schema(Type.STRING)
_INT64 = Schema(Type.INT64)
_OPTIONAL_STRING = Schema(Type.STRING, optional=True)
_OPTIONAL_INT64 = Schema(Type.INT64, optional=True)


@lru_cache
def postgresql_source(event_format: EventFormat) -> Schema:
    """The schema of the source block."""
    origins = (Field("origin", _OPTIONAL_STRING), Field("origin_lsn", _OPTIONAL_INT64))
    return source_schema(
        "io.debezium.connector.postgresql.Source",
        (
            Field("schema", _STRING),
            Field("table", _STRING),
            Field("txId", _OPTIONAL_INT64),
            Field("lsn", _OPTIONAL_INT64),
            Field("xmin", _OPTIONAL_INT64),
            *(origins if event_format.origins else ()),
        ),
        event_format,
    )


def lsn_pair(schema: Schema) -> Concat:
    """`sequence`: a JSON array, as text, of the last commit's LSN and the row's own."""
    last_commit = TransactionField(_OPTIONAL_INT64, "last_commit")
    return Concat(
        schema,
        (
            Part(last_commit, '["', '"', null="[null"),
            Part(RowField(_INT64, "lsn"), ',"', '"]'),
        ),
    )


def transaction_identifier() -> Concat:
    """The transaction's number and the row's LSN, as in `771:23803690`; null without number."""
    xid = TransactionField(_OPTIONAL_INT64, "xid")
    return Concat(_STRING, (Part(xid), Part(RowField(_INT64, "lsn"), ":")))
