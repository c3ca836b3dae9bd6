"""Records what the real converters write of MongoDB's events:
`python -m tests.converters.goldens.record_documents`.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from typing import Any

from tests.converters.goldens.documents import (
    EVENTS,
    WITH_SCHEMAS,
    Written,
    recorded_lines,
    written,
)
from tests.converters.goldens.record import RECORDINGS, JavaConverters
from tests.converters.goldens.record_cloudevents import AVRO, JSON
from tests.documents.record import start_java

_JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
_AVRO_OPTIONS = (
    {},
    {"connect.meta.data": "false"},
    {"enhanced.avro.schema.support": "true"},
)
_JSON_OPTIONS = ({"schemas.enable": "true"}, {"schemas.enable": "false"})


class SchemaNumbers:
    """The texts of schemas, each once, by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def of(self, text: str) -> int:
        """The number of a schema."""
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)


class Recorder:
    """Runs records through converters of Java. Of Avro the schema that an id names is recorded, and
    what follows the id; of JSON with schemas, the schema and what is around it."""

    def __init__(self, jpype: Any) -> None:
        self._jpype = jpype
        self._java = JavaConverters(jpype)
        self.schemas = SchemaNumbers()

    def given(self, name: str) -> list[Written]:
        """The events, as JSON with schemas: those that were recorded as they are."""
        if name == "recorded":
            return [
                Written(line["topic"], *(_json_text(line[part]) for part in ("key", "value")))
                for line in recorded_lines()
            ]
        return written(EVENTS[name](), WITH_SCHEMAS, WITH_SCHEMAS)

    def plain(self, class_name: str, options: dict[str, str], records: list[Written]) -> list[Any]:
        """JSON, with schemas or without, and CloudEvents in JSON."""
        converter = self._java.configured(class_name, options)
        return [
            [self._text(self._converted(converter, record, part)) for part in _parts(class_name)]
            for record in records
        ]

    def avro(self, options: dict[str, str], records: list[Written]) -> list[Any]:
        """Confluent's Avro."""
        registry, converter = self._avro(options)
        return [
            [self._numbered(registry, self._converted(converter, record, part)) for part in (1, 2)]
            for record in records
        ]

    def cloudevents_in_avro(self, options: dict[str, str], records: list[Written]) -> list[Any]:
        """CloudEvents in Avro, data included; and the schemas, in the order of their numbers."""
        registry, avro = self._avro({})
        settings = {**options, "avro.schema.registry.url": "http://nowhere"}
        name = "io.debezium.converters.CloudEventsConverter"
        converter = self._java.configured(name, settings, avro)
        values = [self._converted(converter, record, 2) for record in records]
        count = 1 + max(
            (int.from_bytes(raw[1:5], "big") for raw in values if raw is not None), default=0
        )
        schemas = [
            self.schemas.of(str(registry.getSchemaById(number).canonicalString()))
            for number in range(1, count)
        ]
        encoded_values = [None if raw is None else base64.b64encode(raw).decode() for raw in values]
        return [encoded_values, schemas]

    def _avro(self, options: Mapping[str, str]) -> tuple[Any, Any]:
        client = "io.confluent.kafka.schemaregistry.client.MockSchemaRegistryClient"
        registry = self._jpype.JClass(client)()
        settings = {"schema.registry.url": "mock://x", **options}
        name = "io.confluent.connect.avro.AvroConverter"
        return registry, self._java.configured(name, settings, registry)

    def _converted(self, converter: Any, record: Written, part: int) -> bytes | None:
        written_part = record[part]
        if written_part is None:
            return None
        assert isinstance(written_part, bytes)
        read = self._java.json.toConnectData(record.topic, self._java.java_bytes(written_part))
        raw = converter.fromConnectData(record.topic, read.schema(), read.value())
        return None if raw is None else bytes(raw)

    def _text(self, raw: bytes | None) -> Any:
        if raw is None:
            return None
        text = raw.decode()
        if not text.startswith('{"schema":'):
            return text
        schema, payload = text[len('{"schema":') :].split(',"payload":', 1)
        return [self.schemas.of(schema), payload[:-1]]

    def _numbered(self, registry: Any, raw: bytes | None) -> Any:
        if raw is None:
            return None
        text = str(registry.getSchemaById(int.from_bytes(raw[1:5], "big")).canonicalString())
        return [self.schemas.of(text), base64.b64encode(raw[5:]).decode()]


def _json_text(part: object) -> bytes | None:
    return None if part is None else json.dumps(part, ensure_ascii=False).encode()


def _parts(class_name: str) -> tuple[int, ...]:
    return (1, 2) if class_name == _JSON_CONVERTER else (2,)


def main() -> None:
    recorder = Recorder(start_java())
    recordings: dict[str, Any] = {}
    for name in EVENTS:
        records = recorder.given(name)
        recordings[name] = {
            "json": [[o, recorder.plain(_JSON_CONVERTER, o, records)] for o in _JSON_OPTIONS],
            "avro": [[o, recorder.avro(o, records)] for o in _AVRO_OPTIONS],
            "cloudevents": [
                [o, recorder.plain("io.debezium.converters.CloudEventsConverter", o, records)]
                for o in JSON
            ],
            "cloudevents in avro": [[o, *recorder.cloudevents_in_avro(o, records)] for o in AVRO],
        }
        sys.stdout.write(f"{name}: {len(records)} records\n")
    path = RECORDINGS / "documents.json"
    text = json.dumps(
        {"schemas": recorder.schemas.texts, **recordings}, indent=0, ensure_ascii=False
    )
    path.write_text(text + "\n")


if __name__ == "__main__":
    main()
