"""A chain of the real transforms and predicates, over records in Kafka Connect's JSON form."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_LONGEST = 200  # characters of a message
_BUFFERED = ("BYTES", "STRUCT", "ARRAY")
_CONVERTER = {"schemas.enable": "true", "replace.null.with.default": "false"}


def _separate(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


class JavaRecords:
    """Records of Java out of JSON, and back."""

    def __init__(self, jpype: Any) -> None:
        self._jpype = jpype
        self._string = jpype.JClass("java.lang.String")
        self._source_record = jpype.JClass("org.apache.kafka.connect.source.SourceRecord")
        self._headers = jpype.JClass("org.apache.kafka.connect.header.ConnectHeaders")
        self._buffer = jpype.JClass("java.nio.ByteBuffer")
        self._integer = jpype.JClass("java.lang.Integer")
        self._long = jpype.JClass("java.lang.Long")
        self._converter = jpype.JClass("org.apache.kafka.connect.json.JsonConverter")()
        self._converter.configure(self.java_map(_CONVERTER), False)

    def java_map(self, entries: Mapping[str, str]) -> Any:
        """A java.util.Map of texts."""
        hash_map = self._jpype.JClass("java.util.HashMap")()
        for name, text in entries.items():
            hash_map.put(name, text)
        return hash_map

    def _read(self, part: dict[str, Any] | None) -> tuple[Any, Any]:
        """Schema and value of Java."""
        if part is None:
            return None, None
        text = self._string(json.dumps(part)).getBytes("UTF-8")
        read = self._converter.toConnectData("t", text)
        return read.schema(), self._as_connectors(read.schema(), read.value())

    def _as_connectors(self, schema: Any, value: Any) -> Any:
        """The value with buffers for arrays of bytes, as Debezium's connectors make them."""
        if value is None or schema is None:
            return value
        kind = str(schema.type())
        if kind == "BYTES" and schema.name() is None:
            return self._buffer.wrap(value)
        if kind == "STRUCT":
            for field in schema.fields():
                member = value.getWithoutDefault(field.name())
                if member is not None and str(field.schema().type()) in _BUFFERED:
                    value.put(field, self._as_connectors(field.schema(), member))
        if kind == "ARRAY":
            value.replaceAll(lambda item: self._as_connectors(schema.valueSchema(), item))
        return value

    def _write(self, schema: Any, value: Any) -> dict[str, Any] | None:
        if schema is None and value is None:
            return None
        raw = self._converter.fromConnectData("t", schema, value)
        return json.loads(str(self._string(raw, "UTF-8")))

    def read(self, record: dict[str, Any]) -> Any:
        """The record of Java."""
        headers = self._headers()
        for header in record["headers"]:
            schema, value = self._read({"schema": header["schema"], "payload": header["payload"]})
            headers.add(header["name"], value, schema)
        partition, timestamp = record["partition"], record["timestamp"]
        return self._source_record(
            None,
            None,
            record["topic"],
            None if partition is None else self._integer(partition),
            *self._read(record["key"]),
            *self._read(record["value"]),
            None if timestamp is None else self._long(timestamp),
            headers,
        )

    def write(self, record: Any) -> dict[str, Any]:
        """The record in JSON."""
        headers = []
        for header in record.headers():
            part = self._write(header.schema(), header.value())
            headers.append(
                {"name": str(header.key()), **(part or {"schema": None, "payload": None})}
            )
        partition, timestamp = record.kafkaPartition(), record.timestamp()
        topic = record.topic()
        return {
            "topic": None if topic is None else str(topic),
            "partition": None if partition is None else int(partition),
            "timestamp": None if timestamp is None else int(timestamp),
            "key": self._write(record.keySchema(), record.key()),
            "value": self._write(record.valueSchema(), record.value()),
            "headers": headers,
        }


def message(error: Any) -> str:
    """The message of a Java exception, without the parts that differ from run to run."""
    text = re.sub(r"@[0-9a-f]{4,}\b", "@…", str(error.getMessage()))
    return f"{error.getClass().getSimpleName()}: {text}"[:_LONGEST]


def declared_options(jpype: Any, class_name: str) -> dict[str, str]:
    """The options that a class declares, and their types."""
    keys = jpype.JClass(class_name)().config().configKeys().values()
    return {str(key.name): str(key.type()) for key in keys}


class JavaChain:
    """`transforms` and `predicates` of Kafka Connect's properties, configured once.

    Raises the Java exception of a configuration that a class refuses.
    """

    def __init__(self, jpype: Any, properties: Mapping[str, str]) -> None:
        self._exception = jpype.JException
        self._records = JavaRecords(jpype)
        config = jpype.JClass("org.apache.kafka.common.config.ConfigDef")

        def configured(kind: str, alias: str) -> Any:
            prefix = f"{kind}.{alias}."
            step_options = {
                name.removeprefix(prefix): text
                for name, text in properties.items()
                if name.startswith(prefix)
            }
            java_step = jpype.JClass(step_options["type"])()
            java_step.configure(self._records.java_map(step_options))
            return java_step

        predicates = {
            alias: configured("predicates", alias)
            for alias in _separate(properties.get("predicates", ""))
        }
        self._steps = []
        for alias in _separate(properties["transforms"]):
            predicate = properties.get(f"transforms.{alias}.predicate")
            negate = properties.get(f"transforms.{alias}.negate", "false")
            is_negated = bool(config.parseType("negate", negate, config.Type.BOOLEAN))
            step = configured("transforms", alias)
            self._steps.append((step, predicates[predicate] if predicate else None, is_negated))

    def _apply(self, record: Any) -> Any:
        for transform, predicate, is_negated in self._steps:
            if predicate is not None and bool(predicate.test(record)) == is_negated:
                continue
            record = transform.apply(record)
            if record is None:
                return None
        return record

    def results(self, records: Sequence[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """The result of each record: a record, null when it is dropped, or an error."""
        outcomes: list[dict[str, Any] | None] = []
        for record in records:
            try:
                result = self._apply(self._records.read(record))
                outcomes.append(None if result is None else self._records.write(result))
            except self._exception as error:
                outcomes.append({"error": message(error)})
        return outcomes
