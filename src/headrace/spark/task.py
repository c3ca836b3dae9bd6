"""What a task does with a slice: read it, convert it, yield Arrow batches."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pyarrow as pa

from headrace.config.connector import ConnectorConfig
from headrace.connectors.connector import Slice
from headrace.converters.json import JsonConverter
from headrace.converters.json_values import JsonOptions

_converters: dict[tuple[JsonOptions, ...], JsonConverter] = {}


def _options(config: ConnectorConfig, role: str) -> JsonOptions:
    return JsonOptions(
        replace_null_with_default=getattr(config, f"{role}_converter_replace_null_with_default"),
        decimal_numeric=str(getattr(config, f"{role}_converter_decimal_format")) == "NUMERIC",
        schemas_enable=getattr(config, f"{role}_converter_schemas_enable"),
    )


def converter(config: ConnectorConfig) -> JsonConverter:
    """The converter of this process: it keeps compiled programs and output buffers."""
    options = tuple(_options(config, role) for role in ("key", "value", "header"))
    if options not in _converters:
        if not _converters:
            # PySpark collects garbage after every task; what is loaded now need not be walked.
            gc.collect()
            gc.freeze()
        _converters[options] = JsonConverter(*options)
    return _converters[options]


def read_slice(part: Slice, config: ConnectorConfig) -> Iterator[pa.RecordBatch]:
    """The slice's batches, in total order."""
    convert = converter(config).convert
    for records in part.read():
        yield from convert(records, part.epoch)
