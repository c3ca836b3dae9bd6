"""The enumerations that connectors share. Values are Debezium's texts."""

from __future__ import annotations

from enum import StrEnum


class DecimalHandlingMode(StrEnum):
    PRECISE = "precise"
    DOUBLE = "double"
    STRING = "string"


class TimePrecisionMode(StrEnum):
    ADAPTIVE = "adaptive"
    ADAPTIVE_TIME_MICROSECONDS = "adaptive_time_microseconds"
    CONNECT = "connect"
    ISOSTRING = "isostring"
    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"
    STRUCTURED = "structured"


class BinaryHandlingMode(StrEnum):
    BYTES = "bytes"
    BASE64 = "base64"
    BASE64_URL_SAFE = "base64-url-safe"
    HEX = "hex"


class FailureHandlingMode(StrEnum):
    FAIL = "fail"
    WARN = "warn"
    SKIP = "skip"
    IGNORE = "ignore"


class ConverterName(StrEnum):
    JSON = "json"
    AVRO = "avro"
    CLOUDEVENTS = "cloudevents"
    VARIANT = "variant"
    ROW = "row"
    PROTOBUF = "protobuf"
    STRING = "string"
    BYTES = "bytes"
    SIMPLE = "simple"


CONVERTER_CLASSES = {
    "org.apache.kafka.connect.json.jsonconverter": "json",
    "io.confluent.connect.avro.avroconverter": "avro",
    "io.apicurio.registry.utils.converter.avroconverter": "avro",
    "io.debezium.converters.cloudeventsconverter": "cloudevents",
    "io.confluent.connect.protobuf.protobufconverter": "protobuf",
    "org.apache.kafka.connect.storage.stringconverter": "string",
    "simplestring": "string",
    "org.apache.kafka.connect.converters.bytearrayconverter": "bytes",
    "io.debezium.converters.bytearrayconverter": "bytes",
    "jsonbytearray": "bytes",
    "org.apache.kafka.connect.storage.simpleheaderconverter": "simple",
}
"""Class names and Debezium Server's format names of converters, lower-case."""


class DecimalFormat(StrEnum):
    BASE64 = "BASE64"
    NUMERIC = "NUMERIC"


class SliceOrder(StrEnum):
    KEY = "key"
    POSITION = "position"


class SliceTransport(StrEnum):
    AUTO = "auto"
    MEMORY = "memory"
    INLINE = "inline"


class SnapshotMode(StrEnum):
    INITIAL = "initial"
    INITIAL_ONLY = "initial_only"
    NO_DATA = "no_data"
    ALWAYS = "always"
    WHEN_NEEDED = "when_needed"
    CONFIGURATION_BASED = "configuration_based"
    CUSTOM = "custom"


class SnapshotResume(StrEnum):
    CHUNKS = "chunks"
    RESTART = "restart"


class UnknownProperties(StrEnum):
    FAIL = "fail"
    WARN = "warn"
