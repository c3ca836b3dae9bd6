"""Reads a slice in a task, converts it, and yields Arrow batches."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from headrace.config.failures import left_out
from headrace.config.properties.connector import ConnectorConfig
from headrace.connect.records import Records
from headrace.connect.slices import Slice
from headrace.errors import HeadraceError
from headrace.kafka.schema_ids import SchemaIds
from headrace.spark.kernels.beforehand import compile_beforehand
from headrace.spark.kernels.needed import query_kernels
from headrace.transforms.chain import Chain
from headrace.transforms.failures import FailurePolicy
from headrace.transforms.reading import chain_of

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from headrace.connect.rows import RowTable
    from headrace.converters.rows import Failed, SliceConverter

_ROLES = ("key", "value", "header")
_LEFT_OUT = ("text_too_large", "value_not_representable", "value_not_understood")
"""Errors whose records event.processing.failure.handling.mode leaves out. The second part of their
codes; the first is the folder that raises them, such as a connector's."""
_converters: dict[tuple[object, ...], SliceConverter] = {}
_chains: dict[tuple[object, ...], tuple[Chain, FailurePolicy]] = {}
_compiled: list[Chain] = []
"""The chains whose kernels are all compiled."""
schema_ids = SchemaIds()
"""Ids of schemas in registries: those from slices, and those that this process requested."""


def converter(config: ConnectorConfig, columns: pa.Schema | None = None) -> SliceConverter:
    """The converter of this process: it keeps compiled programs and output buffers. `columns` are
    those of the stream, where it makes some of them by their types."""
    from headrace.converters.configured import json_options, slice_converter

    identity = (
        *(config.converter(role) for role in _ROLES),
        *(json_options(config, role) for role in _ROLES),
        *(tuple(config.converter_options(role).items()) for role in _ROLES),
        None if columns is None else columns.serialize().to_pybytes(),
    )
    if identity not in _converters:
        if not _converters:
            # PySpark collects garbage after every task; loaded objects need not be scanned.
            gc.collect()
            gc.freeze()
        compile_beforehand(query_kernels(config))
        _converters[identity] = slice_converter(config, schema_ids, columns)
    return _converters[identity]


def chain(config: ConnectorConfig) -> tuple[Chain, FailurePolicy]:
    """Return the transforms of this process, and the policy for records that fail in them: they
    keep the shapes that they made."""
    policy = FailurePolicy.of(config)
    properties = (
        policy,
        config.headrace_compatibility,
        config.transforms,
        config.transforms_options,
        config.predicates,
        config.predicates_options,
    )
    if properties not in _chains:
        _chains[properties] = (chain_of(config), policy)
    return _chains[properties]


def read_slice(
    part: Slice, config: ConnectorConfig, columns: pa.Schema | None = None
) -> Iterator[pa.RecordBatch]:
    """Return the slice's batches, in total order; `columns` as in `converter`."""
    return (batch for batch, _, _ in _converted(part, config, columns))


def read_slice_with_times(
    part: Slice, config: ConnectorConfig, columns: pa.Schema | None = None
) -> Iterator[tuple[pa.RecordBatch, np.ndarray]]:
    """Yield the slice's batches as `read_slice`, each with the commit times of its records in the
    source: int64, microseconds since 1970-01-01 UTC, `rows.NULL` if unknown."""
    for batch, rows, table in _converted(part, config, columns):
        yield batch, table.transactions["commit_us"][table.rows["transaction"][rows]]


def _converted(
    part: Slice, config: ConnectorConfig, columns: pa.Schema | None
) -> Iterator[tuple[pa.RecordBatch, np.ndarray, RowTable]]:
    """Yield the slice's batches, each with the row table of its records and their indexes in it."""
    batches = converter(config, columns).batches
    transforms, failures = chain(config)
    for read in part.read():
        failed = _failed(read, failures, config)
        records = failures.run(transforms, read)
        for batch, rows in batches(records, part.sequences, failed):
            yield batch, rows, records[0].table


def read_records(part: Slice, config: ConnectorConfig) -> Iterator[list[Records]]:
    """Yield the slice's Records after its transforms, in pieces that follow one another in total
    order. A record that fails in a transform is an error, whatever `errors.tolerance` says."""
    transforms, _ = chain(config)
    if transforms not in _compiled:
        compile_beforehand(query_kernels(config, converts=False))
        _compiled.append(transforms)
    for records in part.read():
        yield transforms(records)


def _failed(
    records: Sequence[Records], failures: FailurePolicy, config: ConnectorConfig
) -> Failed | None:
    """Return a function that receives records without a rendering; None: the first such record ends
    the query."""
    if failures.tolerates:
        names = {role: config.converter(role).value for role in _ROLES}
        return failures.unrendered(records, names)
    leaves_out = left_out(config)
    if leaves_out is None:
        return None

    def failed(record: Records, _role: str, error: HeadraceError) -> None:
        if error.code.partition(".")[2] not in _LEFT_OUT:
            raise error
        leaves_out(record.shape.topic, error)

    return failed
