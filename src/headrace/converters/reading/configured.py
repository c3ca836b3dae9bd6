"""Creates the readers that a configuration names."""

from __future__ import annotations

from headrace.config.properties.frames import InputConfig
from headrace.config.properties.modes import ConverterName
from headrace.connect.json_values import MAX_CELLS
from headrace.converters.configured import json_options
from headrace.converters.reading.avro import AvroReader
from headrace.converters.reading.binary import BytesReader, StringReader
from headrace.converters.reading.json import JsonReader
from headrace.converters.reading.part import Reader
from headrace.converters.reading.records import RecordReader
from headrace.kafka.registry import Registry, registry_settings


def reader_of(config: InputConfig, role: str, prefix: str, most_cells: int) -> Reader:
    """Return the reader of a role: key, value or header; `prefix` is the prefix of its options, and
    `most_cells` the limit for the values of one record.

    Raises HeadraceError `registry.setting`.
    """
    match config.converter(role):
        case ConverterName.AVRO:
            options = config.converter_options(role)
            return AvroReader(Registry(registry_settings(options)), most_cells)
        case ConverterName.BYTES:
            return BytesReader()
        case ConverterName.JSON:
            return JsonReader(json_options(config, role), prefix, most_cells)
    return StringReader()


def record_reader(
    config: InputConfig, prefixes: dict[str, str], most_cells: int = MAX_CELLS
) -> RecordReader:
    """Return the readers of the three roles; `most_cells` is the limit for the values of one
    record."""
    key, value, header = (
        reader_of(config, role, prefixes[role], most_cells) for role in ("key", "value", "header")
    )
    return RecordReader(key, value, header)
