"""Schemas and records of Kafka Connect in their JSON form."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]
Record = dict[str, Any]


def schema(type_name: str, name: str | None = None, **more: Any) -> Schema:
    """A required schema; `more` are optional, version, doc, parameters, default, fields, items,
    keys and values."""
    schema_members: Schema = {"type": type_name, "optional": False}
    if name is not None:
        schema_members["name"] = name
    return schema_members | more


def optional(required: Schema, **more: Any) -> Schema:
    """The optional form of a schema."""
    return required | {"optional": True} | more


def struct(name: str | None, fields: Mapping[str, Schema], **more: Any) -> Schema:
    """A struct of these fields, in order."""
    members = [member | {"field": field} for field, member in fields.items()]
    return schema("struct", name, fields=members, **more)


def array(items: Schema, **more: Any) -> Schema:
    """An array."""
    return schema("array", items=items, **more)


def mapping(keys: Schema, values: Schema, **more: Any) -> Schema:
    """A map."""
    return schema("map", keys=keys, values=values, **more)


INT8, INT16, INT32, INT64 = (schema(name) for name in ("int8", "int16", "int32", "int64"))
FLOAT, DOUBLE = schema("float"), schema("double")
BOOLEAN, STRING, BYTES = schema("boolean"), schema("string"), schema("bytes")


def decimal(scale: int, **more: Any) -> Schema:
    """Connect's Decimal."""
    parameters = {"scale": str(scale)}
    name = "org.apache.kafka.connect.data.Decimal"
    return schema("bytes", name, version=1, parameters=parameters, **more)


def logical(type_name: str, name: str, **more: Any) -> Schema:
    """A logical type of version 1."""
    return schema(type_name, name, version=1, **more)


CONNECT_DATE = logical("int32", "org.apache.kafka.connect.data.Date")
CONNECT_TIME = logical("int32", "org.apache.kafka.connect.data.Time")
CONNECT_TIMESTAMP = logical("int64", "org.apache.kafka.connect.data.Timestamp")
DATE = logical("int32", "io.debezium.time.Date")
TIME = logical("int32", "io.debezium.time.Time")
MICRO_TIME = logical("int64", "io.debezium.time.MicroTime")
NANO_TIME = logical("int64", "io.debezium.time.NanoTime")
TIMESTAMP = logical("int64", "io.debezium.time.Timestamp")
MICRO_TIMESTAMP = logical("int64", "io.debezium.time.MicroTimestamp")
NANO_TIMESTAMP = logical("int64", "io.debezium.time.NanoTimestamp")
ZONED_TIMESTAMP = logical("string", "io.debezium.time.ZonedTimestamp")
ZONED_TIME = logical("string", "io.debezium.time.ZonedTime")
MICRO_DURATION = logical("int64", "io.debezium.time.MicroDuration")
JSON = logical("string", "io.debezium.data.Json")
UUID = logical("string", "io.debezium.data.Uuid")
VARIABLE_SCALE_DECIMAL = struct(
    "io.debezium.data.VariableScaleDecimal", {"scale": INT32, "value": BYTES}, version=1
)


def raw(content: bytes) -> str:
    """The JSON form of bytes."""
    return base64.b64encode(content).decode()


def unscaled(value: int) -> str:
    """The JSON form of a decimal's unscaled value."""
    length = (value if value >= 0 else ~value).bit_length() // 8 + 1
    return raw(value.to_bytes(length, "big", signed=True))


def scaled(value: int, scale: int) -> dict[str, Any]:
    """A variable scale decimal."""
    return {"scale": scale, "value": unscaled(value)}


def part(part_schema: Schema | None, payload: Any) -> dict[str, Any]:
    """A key or a value."""
    return {"schema": part_schema, "payload": payload}


def header(name: str, header_schema: Schema | None, payload: Any) -> dict[str, Any]:
    """A header."""
    return {"name": name, "schema": header_schema, "payload": payload}


def record(
    topic: str,
    key: dict[str, Any] | None,
    value: dict[str, Any] | None,
    headers: Sequence[dict[str, Any]] = (),
    partition: int | None = None,
    timestamp: int | None = None,
) -> Record:
    """A record; `timestamp` in milliseconds since 1970."""
    return {
        "topic": topic,
        "partition": partition,
        "timestamp": timestamp,
        "key": key,
        "value": value,
        "headers": list(headers),
    }
