"""MongoDB's events byte for byte as the real converters write them, schemas included."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from headrace.connectors.mongodb.config import MongoConfig
from headrace.converters.avro.schemas import AvroOptions
from headrace.converters.cloudevents import CloudEventsConverter
from headrace.converters.configured import cloudevents_settings
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from tests.converters.goldens.documents import EVENTS, WITH_SCHEMAS, written
from tests.converters.registry_double import Numbered, numbered_avro

RECORDED = json.loads((Path(__file__).parent / "recordings" / "documents.json").read_text())
SCHEMAS: list[str] = RECORDED["schemas"]
IDENTITY = MongoConfig.cloud_event_identity
each_kind_of_events = pytest.mark.parametrize("name", EVENTS)


def as_text(recorded: Any) -> bytes | None:
    """The JSON that Java wrote."""
    if isinstance(recorded, list):
        number, payload = recorded
        recorded = f'{{"schema":{SCHEMAS[number]},"payload":{payload}}}'
    return None if recorded is None else recorded.encode()


def of_registry(raw: bytes | None, registry: Numbered) -> tuple[str, bytes] | None:
    """The schema of what was written in Avro, and what follows its number."""
    if raw is None:
        return None
    assert raw[0] == 0
    return list(registry.schemas)[int.from_bytes(raw[1:5], "big") - 1], raw[5:]


def in_avro(recorded: Any) -> tuple[str, bytes] | None:
    """The Avro schema's name and the bytes that Java wrote."""
    return None if recorded is None else (SCHEMAS[recorded[0]], base64.b64decode(recorded[1]))


def test_many_events_are_recorded_and_all_parts_of_them_occur() -> None:
    lines = [record for _, records in RECORDED["recorded"]["json"] for record in records]
    assert len(lines) == 2 * 54
    values = [value[1] for _, value in lines if isinstance(value, list)]
    for part in ('"before":"{', '"updateDescription":{', '"total_order":1', '"status":"END"'):
        assert any(part in value for value in values), part
    assert any(value is None for _, value in lines)


@each_kind_of_events
def test_json_is_that_of_connect(name: str) -> None:
    for converter_options, records in RECORDED[name]["json"]:
        converter = JsonConverter(
            JsonOptions(schemas_enable=converter_options["schemas.enable"] == "true")
        )
        ours = written(EVENTS[name](), converter, converter)
        for record, (key, value) in zip(ours, records, strict=True):
            assert (record.key, record.value) == (as_text(key), as_text(value))


@each_kind_of_events
def test_avro_is_confluents(name: str) -> None:
    for converter_options, records in RECORDED[name]["avro"]:
        options = AvroOptions(
            connect_metadata=converter_options.get("connect.meta.data", "true") == "true",
            enhanced=converter_options.get("enhanced.avro.schema.support", "false") == "true",
        )
        (keys, of_keys), (values, of_values) = numbered_avro(options), numbered_avro(options)
        ours = written(EVENTS[name](), keys, values)
        for record, (key, value) in zip(ours, records, strict=True):
            assert of_registry(record.key, of_keys) == in_avro(key)
            assert of_registry(record.value, of_values) == in_avro(value)


@each_kind_of_events
def test_cloudevents_in_json_are_debeziums(name: str) -> None:
    for converter_options, records in RECORDED[name]["cloudevents"]:
        settings, data = cloudevents_settings(IDENTITY, converter_options)
        converter = CloudEventsConverter(settings, data, None)
        ours = written(EVENTS[name](), WITH_SCHEMAS, converter)
        assert [record.value for record in ours] == [as_text(value) for (value,) in records]


@each_kind_of_events
def test_cloudevents_in_avro_are_debeziums(name: str) -> None:
    for converter_options, values, numbers in RECORDED[name]["cloudevents in avro"]:
        settings, data = cloudevents_settings(IDENTITY, converter_options)
        avro, registry = numbered_avro(AvroOptions())
        converter = CloudEventsConverter(settings, data, avro)
        ours = written(EVENTS[name](), WITH_SCHEMAS, converter)
        assert list(registry.schemas) == [SCHEMAS[number] for number in numbers]
        expected = [None if raw is None else base64.b64decode(raw) for raw in values]
        assert [record.value for record in ours] == expected
