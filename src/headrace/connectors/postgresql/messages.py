"""Logical decoding messages (`pg_logical_emit_message`): facts and shape of their records."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.connect.encoding import Encoding
from headrace.connect.records import (
    Cell,
    Image,
    Node,
    ProcessingTime,
    RowField,
    Shape,
    struct_of,
)
from headrace.connect.schema import Schema, Type
from headrace.debezium import transactions
from headrace.relational.events import RelationalSettings, RelationFacts
from headrace.relational.types import binary
from headrace.streaming.facts import EventSettings, TopicFacts

_PACKAGE = "io.debezium.connector.postgresql"
_PREFIX = Schema(Type.STRING, optional=True)


def _prefix(image: Image) -> dict[str, Node]:
    return {"prefix": Cell(_PREFIX, image, 0, Encoding.STRING, 0, bytes.decode)}


@dataclass(frozen=True)
class MessageFacts(TopicFacts):
    """Logical messages; their images have prefix and content, which `binary.handling.mode` renders.
    `transactional` messages are part of a transaction."""

    transactional: bool
    origin: str | None = None

    collection = transactions.MESSAGES
    """The collection under which transaction metadata counts messages."""

    def shape(self, settings: EventSettings) -> Shape:
        """The shape of messages, which have no context headers."""
        assert isinstance(settings, RelationalSettings)
        no_table = RelationFacts("", "", "", (), (), origin=self.origin)
        rendering = binary.raw(settings.types.binary_handling_mode)
        content = Schema(rendering.schema.type, optional=True)
        members: dict[str, Node] = {
            "op": RowField(Schema(Type.STRING), "operation", character=True),
            "ts_ms": ProcessingTime(Schema(Type.INT64, optional=True), "ms"),
            "source": settings.source.block(no_table, settings),
        }
        if settings.format.counts_messages:
            members["transaction"] = settings.transaction_block(counted=self.transactional)
        members["message"] = struct_of(
            f"{_PACKAGE}.Message",
            _prefix(Image.NEW)
            | {"content": Cell(content, Image.NEW, 1, Encoding.PYTHON, 0, rendering.decoder)},
            version=1,
        )
        key = struct_of(f"{_PACKAGE}.MessageKey", _prefix(Image.KEY), version=1)
        value = struct_of(f"{_PACKAGE}.MessageValue", members, version=1)
        return Shape(self.topic, replace(key, image=Image.KEY), value)
