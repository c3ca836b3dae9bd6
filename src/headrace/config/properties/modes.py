"""The enumerations that connectors share. Values are Debezium's texts."""

from __future__ import annotations

from enum import StrEnum


class DecimalHandlingMode(StrEnum):
    """`decimal.handling.mode`: representation of decimal numbers in events."""

    PRECISE = "precise"
    DOUBLE = "double"
    STRING = "string"


class TimePrecisionMode(StrEnum):
    """`time.precision.mode`: the logical types of times, dates and timestamps."""

    ADAPTIVE = "adaptive"
    ADAPTIVE_TIME_MICROSECONDS = "adaptive_time_microseconds"
    CONNECT = "connect"
    ISOSTRING = "isostring"
    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"
    STRUCTURED = "structured"


class BinaryHandlingMode(StrEnum):
    """`binary.handling.mode`: representation of bytes in events."""

    BYTES = "bytes"
    BASE64 = "base64"
    BASE64_URL_SAFE = "base64-url-safe"
    HEX = "hex"


class FailureHandlingMode(StrEnum):
    """`event.processing.failure.handling.mode` and similar: the effect of an event that cannot be
    made on the stream."""

    FAIL = "fail"
    WARN = "warn"
    SKIP = "skip"
    IGNORE = "ignore"


class ConverterName(StrEnum):
    """Short names of converters, see CONVERTER_CLASSES."""

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
    "io.debezium.converters.binarydataconverter": "bytes",
    "jsonbytearray": "json",
    "org.apache.kafka.connect.storage.simpleheaderconverter": "simple",
}
"""Class names and Debezium Server's format names of converters, lower-case."""


class DecimalFormat(StrEnum):
    """`….converter.decimal.format`: representation of a decimal in JSON."""

    BASE64 = "BASE64"
    NUMERIC = "NUMERIC"


class SubjectStrategy(StrEnum):
    """`….subject.name.strategy`: the name of a schema's subject in a registry."""

    TOPIC = "TopicNameStrategy"
    """`<topic>-key` and `<topic>-value`."""
    RECORD = "RecordNameStrategy"
    """The record's full name."""
    TOPIC_RECORD = "TopicRecordNameStrategy"
    """`<topic>-<full name>`."""


class SliceOrder(StrEnum):
    """`headrace.slice.order`: the property by which a range's records are divided into slices."""

    KEY = "key"
    POSITION = "position"


class SliceTransport(StrEnum):
    """`headrace.slice.transport`: the way of a slice's bytes to its task."""

    AUTO = "auto"
    MEMORY = "memory"
    INLINE = "inline"


class SnapshotMode(StrEnum):
    """`snapshot.mode`: when existing rows are read."""

    INITIAL = "initial"
    INITIAL_ONLY = "initial_only"
    NO_DATA = "no_data"
    ALWAYS = "always"
    WHEN_NEEDED = "when_needed"
    CONFIGURATION_BASED = "configuration_based"
    RECOVERY = "recovery"
    CUSTOM = "custom"


class SnapshotResume(StrEnum):
    """`snapshot.resume`: the point from which a snapshot continues after a restart."""

    CHUNKS = "chunks"
    RESTART = "restart"


class UnknownColumns(StrEnum):
    """`headrace.table.unknown.columns`: handling of columns that a query does not know."""

    FAIL = "fail"
    DROP = "drop"


class TableIdentity(StrEnum):
    """`headrace.table.identity`: what identifies a table."""

    NAME = "name"
    ID = "id"


class CaseTwins(StrEnum):
    """`headrace.case.twins`: handling of tables with columns that differ only by case."""

    FAIL = "fail"
    TAKE = "take"


class UnknownProperties(StrEnum):
    """`headrace.unknown.properties`: handling of undeclared properties."""

    FAIL = "fail"
    WARN = "warn"
