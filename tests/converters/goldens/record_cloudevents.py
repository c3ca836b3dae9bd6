"""Records Debezium's CloudEvents: `python -m tests.converters.goldens.record_cloudevents`."""

from __future__ import annotations

import base64
import json
import sys
from typing import Any

from tests.converters.goldens.events import WITH_SCHEMAS, events, values
from tests.converters.goldens.record import RECORDINGS, TOPIC, JavaConverters
from tests.documents.record import start_java

JSON: tuple[dict[str, str], ...] = (
    {},
    {"json.schemas.enable": "false"},
    {"json.schemas.enable": "false", "extension.attributes.enable": "false"},
    {"json.schemas.enable": "false", "schema.cloudevents.name": "My.Event"},
    {"json.decimal.format": "NUMERIC", "metadata.source": "value,id:generate,type:generate"},
)
AVRO: tuple[dict[str, str], ...] = (
    {"serializer.type": "avro", "data.serializer.type": "avro"},
    {"serializer.type": "avro", "data.serializer.type": "avro",
     "extension.attributes.enable": "false", "schema.name.adjustment.mode": "none",
     "schema.cloudevents.name": "My.Event"},
)  # fmt: skip


def recorded(java: JavaConverters, jpype: Any, options: dict[str, str]) -> list[dict[str, Any]]:
    """Input and output, for events with a transaction block and without."""
    runs = []
    for counted in (False, True):
        settings = dict(options)
        arguments: list[Any] = []
        registry = None
        if "serializer.type" in options:
            client = "io.confluent.kafka.schemaregistry.client.MockSchemaRegistryClient"
            registry = jpype.JClass(client)()
            avro = java.configured(
                "io.confluent.connect.avro.AvroConverter",
                {"schema.registry.url": "mock://x"},
                registry,
            )
            settings["avro.schema.registry.url"] = "http://nowhere"
            arguments.append(avro)
        name = "io.debezium.converters.CloudEventsConverter"
        converter = java.configured(name, settings, *arguments)
        encoded_values = []
        for value in values(events(counted), WITH_SCHEMAS):
            raw = None
            if value is not None:
                record = java.json.toConnectData(TOPIC, java.java_bytes(value))
                raw = converter.fromConnectData(TOPIC, record.schema(), record.value())
            encoded_values.append(None if raw is None else base64.b64encode(bytes(raw)).decode())
        schemas = []
        if registry is not None:
            schemas = [
                str(registry.getSchemaById(number).canonicalString())
                for number in range(1, 1 + len(list(registry.getAllSubjects())))
            ]
        runs.append({"counted": counted, "values": encoded_values, "schemas": schemas})
    return runs


def main() -> None:
    jpype = start_java()
    java = JavaConverters(jpype)
    recorded_settings = [
        {"options": options, "runs": recorded(java, jpype, options)} for options in (*JSON, *AVRO)
    ]
    path = RECORDINGS / "cloudevents.json"
    path.write_text(json.dumps(recorded_settings, indent=1, ensure_ascii=False) + "\n")
    sys.stdout.write(f"{path}: {len(recorded_settings)} settings\n")


if __name__ == "__main__":
    main()
