"""What a task does with a slice: read it, convert it, yield Arrow batches."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator

import pyarrow as pa

from headrace.config.properties.common import ConnectorConfig
from headrace.connect.slices import Slice
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import JsonConverter
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

_converters: dict[tuple[object, ...], JsonConverter] = {}


def _warned(topic: str, error: HeadraceError) -> None:
    log.warning("A record of %s is left out: %s", topic, error)


def _skipped(topic: str, error: HeadraceError) -> None:
    log.debug("A record of %s is left out: %s", topic, error)


_FAILED = {"fail": None, "warn": _warned, "skip": _skipped, "ignore": _skipped}
"""event.processing.failure.handling.mode"""


def _options(config: ConnectorConfig, role: str) -> JsonOptions:
    return JsonOptions(
        replace_null_with_default=getattr(config, f"{role}_converter_replace_null_with_default"),
        decimal_numeric=str(getattr(config, f"{role}_converter_decimal_format")) == "NUMERIC",
        schemas_enable=getattr(config, f"{role}_converter_schemas_enable"),
    )


def converter(config: ConnectorConfig) -> JsonConverter:
    """The converter of this process: it keeps compiled programs and output buffers."""
    mode = str(config.event_processing_failure_handling_mode)
    key, value, header = (_options(config, role) for role in ("key", "value", "header"))
    options = (key, value, header, mode)
    if options not in _converters:
        if not _converters:
            # PySpark collects garbage after every task; what is loaded now need not be walked.
            gc.collect()
            gc.freeze()
        _converters[options] = JsonConverter(key, value, header, failed=_FAILED[mode])
    return _converters[options]


def read_slice(part: Slice, config: ConnectorConfig) -> Iterator[pa.RecordBatch]:
    """The slice's batches, in total order."""
    convert = converter(config).convert
    for records in part.read():
        yield from convert(records, part.sequences)
