"""The file format of a configuration."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.properties.modes import ConverterName
from headrace.sinks.event_log.formats.file_format import FileFormat
from headrace.sinks.event_log.options import EventLogOptions, Format

if TYPE_CHECKING:
    from headrace.kafka.registry import Registry
    from headrace.sinks.event_log.formats.avro import SchemaText


def file_format(options: EventLogOptions, config: ConnectorConfig) -> FileFormat:
    """Return the format of a log's files."""
    if options.format is Format.PARQUET:
        from headrace.sinks.event_log.formats.parquet import Parquet

        return Parquet(options.compression, options.limits)
    if options.format is Format.AVRO:
        from headrace.sinks.event_log.formats.avro import Avro

        kinds = {role: _kind(config, role) for role in ("key", "value")}
        return Avro(options.compression, options.limits, kinds, _schema_texts(config))
    from headrace.sinks.event_log.formats.json_lines import JsonLines

    return JsonLines(options.compression, options.limits, config.plain_texts())


def _kind(config: ConnectorConfig, role: str) -> str:
    if config.converter(role) is ConverterName.AVRO:
        return "avro"
    return "string" if config.is_text(role) else "bytes"


def _schema_texts(config: ConnectorConfig) -> SchemaText:
    @cache
    def registry(role: str) -> Registry:
        from headrace.kafka.registry import Registry, registry_settings

        return Registry(registry_settings(config.converter_options(role)))

    return lambda role, number: registry(role).by_id(number)
