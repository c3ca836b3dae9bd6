"""Heartbeat records, which show that a connector is alive, and carry its position."""

from __future__ import annotations

from headrace.connect.records import Constant, ProcessingTime, Shape, Struct
from headrace.connect.schema import Field, Schema, Type

KEY = Schema(
    Type.STRUCT,
    name="io.debezium.connector.common.ServerNameKey",
    version=1,
    fields=(Field("serverName", Schema(Type.STRING)),),
)

VALUE = Schema(
    Type.STRUCT,
    name="io.debezium.connector.common.Heartbeat",
    version=1,
    fields=(Field("ts_ms", Schema(Type.INT64)),),
)


def heartbeat(topic: str, server: str) -> Shape:
    """The shape of a connector's heartbeats; they need no image."""
    return Shape(
        topic,
        Struct(KEY, (Constant(Schema(Type.STRING), server),)),
        Struct(VALUE, (ProcessingTime(Schema(Type.INT64), "ms"),)),
    )
