"""Logical decoding messages (`pg_logical_emit_message`): schemas and shapes of their records."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connect.encoding import Encoding
from headrace.connect.records import Cell, Image, Node, ProcessingTime, RowField, Shape, Struct
from headrace.connect.schema import Field, Schema, Type
from headrace.connectors.postgresql.source import postgresql_source
from headrace.connectors.postgresql.types import binary as binary_types
from headrace.debezium import transactions
from headrace.debezium.event_format import CURRENT, EventFormat
from headrace.relational.events import RelationalSettings, RelationFacts
from headrace.streaming.facts import EventSettings, TopicFacts

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


@dataclass(frozen=True)
class MessageFacts(TopicFacts):
    """Logical messages; their images have prefix and content. `transactional` ones are part of a
    transaction."""

    transactional: bool
    origin: str | None = None

    collection = transactions.MESSAGES
    """What transaction metadata counts messages under."""

    def shape(self, settings: EventSettings) -> Shape:
        """The shape of messages, which have no context headers."""
        assert isinstance(settings, RelationalSettings)
        no_table = RelationFacts("", "", "", (), (), origin=self.origin)
        return _message_shape(
            self.topic,
            settings.source.block(no_table, settings),
            settings.transaction_block(counted=self.transactional),
            settings,
        )


def _message_shape(topic: str, source: Struct, block: Node, settings: RelationalSettings) -> Shape:
    shown = binary_types.unknown(settings.types)
    value = message_value_schema(shown.schema.type, settings.format)

    def of(schema: Schema, name: str) -> Schema:
        found = schema.field_named(name)
        assert found is not None
        return found

    message = of(value, "message")
    prefix = of(message, "prefix")

    def text(image: Image) -> Cell:
        return Cell(prefix, image, 0, Encoding.STRING, 0, lambda raw: raw.decode())

    content = Cell(of(message, "content"), Image.NEW, 1, Encoding.PYTHON, 0, shown.decoder)
    return Shape(
        topic,
        Struct(MESSAGE_KEY, (text(Image.KEY),), Image.KEY),
        Struct(
            value,
            (
                RowField(of(value, "op"), "operation", character=True),
                ProcessingTime(of(value, "ts_ms"), "ms"),
                source,
                *((block,) if settings.format.counts_messages else ()),
                Struct(message, (text(Image.NEW), content)),
            ),
        ),
    )
