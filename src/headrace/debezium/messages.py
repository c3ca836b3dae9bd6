"""Logical decoding messages (`pg_logical_emit_message`): key and value schemas."""

from __future__ import annotations

from headrace.connect.schema import Field, Schema, Type
from headrace.debezium import source_info, transactions

_PREFIX = Field("prefix", Schema(Type.STRING, optional=True))

MESSAGE_KEY = Schema(
    Type.STRUCT,
    name="io.debezium.connector.postgresql.MessageKey",
    version=1,
    fields=(_PREFIX,),
)


def message_value_schema(content: Type = Type.BYTES) -> Schema:
    """The value of a message event; `content` follows `binary.handling.mode` (bytes, string)."""
    message = Schema(
        Type.STRUCT,
        name="io.debezium.connector.postgresql.Message",
        version=1,
        fields=(_PREFIX, Field("content", Schema(content, optional=True))),
    )
    return Schema(
        Type.STRUCT,
        name="io.debezium.connector.postgresql.MessageValue",
        version=1,
        fields=(
            Field("op", Schema(Type.STRING)),
            Field("ts_ms", Schema(Type.INT64, optional=True)),
            Field("source", source_info.POSTGRESQL),
            Field("transaction", transactions.BLOCK),
            Field("message", message),
        ),
    )
