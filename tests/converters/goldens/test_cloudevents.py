"""CloudEvents byte for byte as Debezium's converter writes them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from headrace.connect.json_records import read_records
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.converters.avro.schemas import AvroOptions
from headrace.converters.cloudevents import CloudEventsConverter, CloudEventsOptions
from headrace.converters.configured import cloudevents_settings
from headrace.errors import HeadraceError
from tests.converters.goldens.events import events, values
from tests.converters.registry_double import Numbered, numbered_avro

RECORDED = json.loads((Path(__file__).parent / "recordings" / "cloudevents.json").read_text())
IDENTITY = PostgresConfig.cloud_event_identity


def made(options: dict[str, str]) -> tuple[CloudEventsConverter, Numbered | None]:
    settings, data = cloudevents_settings(IDENTITY, options)
    if "serializer.type" not in options:
        return CloudEventsConverter(settings, data, None), None
    avro, registry = numbered_avro(AvroOptions())
    return CloudEventsConverter(settings, data, avro), registry


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: str(recorded["options"]))
def test_cloudevents_are_debeziums(recorded: dict[str, Any]) -> None:
    for run in recorded["runs"]:
        converter, registry = made(recorded["options"])
        expected = [None if raw is None else base64.b64decode(raw) for raw in run["values"]]
        assert values(events(run["counted"]), converter) == expected
        if registry is not None:
            assert list(registry.schemas) == run["schemas"]
            topic = "server.public.my-orders"
            assert registry.subjects == [f"{topic}-data-value", f"{topic}-value"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("serializer.type", "protobuf"),
        ("data.serializer.type", "avro"),
        ("metadata.source", "header"),
        ("metadata.source", "value,id:header"),
        ("opentelemetry.tracing.attributes.enable", "true"),
        ("extension.attributes.enable", "perhaps"),
        ("schema.name.adjustment.mode", "latin"),
    ],
)
def test_an_option_that_cannot_be_is_refused_by_its_name(name: str, text: str) -> None:
    with pytest.raises(HeadraceError, match=rf"value\.converter\.{name}") as raised:
        cloudevents_settings(IDENTITY, {name: text})
    assert raised.value.code in ("config.invalid", "config.not_supported")


def test_an_event_without_a_source_has_no_value() -> None:
    from headrace.connect.records import Shape
    from tests.converters.node_trees import struct_of, text_cell

    converter = CloudEventsConverter(CloudEventsOptions(IDENTITY), made({})[0]._data, None)
    (records,) = events(False)
    plain = records.with_shape(Shape("t", None, struct_of(None, {"a": text_cell(1)})))
    assert values([plain], converter) == [None] * 4


def test_a_record_without_a_schema_has_no_value_as_with_debezium() -> None:
    event = {"before": None, "after": {"id": 1}, "source": {"connector": "postgresql"}, "op": "c"}
    value = {"schema": None, "payload": event}
    records = read_records([{"topic": "t", "key": None, "value": value, "headers": []}])
    assert values(records, made({})[0]) == [None]
