"""The readers that a configuration names."""

from __future__ import annotations

from headrace.config.properties.frames import InputConfig
from headrace.config.properties.modes import ConverterName
from headrace.converters.configured import json_options
from headrace.converters.reading.avro import AvroReader
from headrace.converters.reading.json import JsonReader
from headrace.converters.reading.part import Reader
from headrace.converters.reading.plain import BytesReader, StringReader
from headrace.converters.reading.records import RecordReader
from headrace.kafka.registry import Registry, registry_settings


def reader_of(config: InputConfig, role: str, prefix: str) -> Reader:
    """The reader of a role: key, value or header; `prefix` is what its options begin with.

    Raises HeadraceError `registry.setting`.
    """
    match config.converter(role):
        case ConverterName.AVRO:
            return AvroReader(Registry(registry_settings(config.converter_options(role))))
        case ConverterName.BYTES:
            return BytesReader()
        case ConverterName.JSON:
            return JsonReader(json_options(config, role), prefix)
    return StringReader()


def record_reader(config: InputConfig, prefixes: dict[str, str]) -> RecordReader:
    """The readers of the three roles."""
    key, value, header = (
        reader_of(config, role, prefixes[role]) for role in ("key", "value", "header")
    )
    return RecordReader(key, value, header)
