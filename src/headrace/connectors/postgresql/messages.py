"""Logical decoding messages (`pg_logical_emit_message`): key and value schemas."""

from __future__ import annotations

from headrace.connect.schema import Field, Schema, Type
from headrace.connectors.postgresql.source import postgresql_source
from headrace.debezium import transactions
from headrace.debezium.event_format import CURRENT, EventFormat

_PREFIX = Field("prefix", Schema(Type.STRING, optional=True))

MESSAGE_KEY = Schema(
    Type.STRUCT,
    name="io.debezium.connector.postgresql.MessageKey",
    version=1,
    fields=(_PREFIX,),
)


def message_value_schema(content: Type = Type.BYTES, event_format: EventFormat = CURRENT) -> Schema:
    """The value of a message event; `content` follows `binary.handling.mode` (bytes, string)."""
    message = Schema(
        Type.STRUCT,
        name="io.debezium.connector.postgresql.Message",
        version=1,
        fields=(_PREFIX, Field("content", Schema(content, optional=True))),
    )
    block = (Field("transaction", transactions.BLOCK),) if event_format.counts_messages else ()
    return Schema(
        Type.STRUCT,
        name="io.debezium.connector.postgresql.MessageValue",
        version=1,
        fields=(
            Field("op", Schema(Type.STRING)),
            Field("ts_ms", Schema(Type.INT64, optional=True)),
            Field("source", postgresql_source(event_format)),
            *block,
            Field("message", message),
        ),
    )
