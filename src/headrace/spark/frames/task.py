"""Task of a DataFrame: reads records from batches, transforms them, and writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.config.properties.frames import FrameSettings, examine_frame
from headrace.connect.evaluation.values import values
from headrace.connect.records import Records
from headrace.connect.rows import Sequences
from headrace.converters.configured import slice_converter
from headrace.converters.headers import HEADER
from headrace.converters.reading.configured import record_reader
from headrace.converters.reading.records import ReadBatch, RecordReader
from headrace.converters.rows import Failed, SliceConverter
from headrace.errors import HeadraceError
from headrace.spark.kernels.beforehand import compile_beforehand
from headrace.spark.kernels.needed import frame_kernels
from headrace.transforms.chain import Chain, ChainStep
from headrace.transforms.failures import (
    STAGES,
    TRANSFORMATION,
    FailurePolicy,
    context_texts,
)
from headrace.transforms.reading import chain_of

OF_KAFKA = ("topic", "partition", "key", "value", "headers", "timestamp")
"""The columns that records are made of, in the order of the output."""
_SEQUENCES = Sequences(0)


@dataclass(frozen=True)
class _Failed:
    """A row that could not become a record, and the error."""

    row: int
    topic: str
    stage: str
    kind: str
    error: HeadraceError


class FrameTask:
    """The transforms of a DataFrame in one process, with their shapes and programs."""

    def __init__(self, settings: FrameSettings) -> None:
        config = settings.output
        self._settings = settings
        self._reader: RecordReader = record_reader(
            settings.input, dict(settings.prefixes), config.headrace_record_max_cells
        )
        self._converter: SliceConverter = slice_converter(config)
        self._chain: Chain = chain_of(config)
        self._policy = FailurePolicy.named(config, config.name)

    def batch(self, batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the transformed batch, as batches of `schema`, followed by its dead letters.

        Raises HeadraceError for a record that is not tolerated.
        """
        topic = self._settings.output.headrace_input_topic
        read = self._reader.read(batch, topic)
        failures: dict[int, _Failed] = {}
        for row, (role, error) in read.errors.items():
            topic_of_row = _topic_of(batch, row) or topic
            message = f"the {role} of a record of {topic_of_row or 'no topic'} {error.message}"
            named = HeadraceError(error.code, message, error.remedy)
            self._note(failures, _Failed(row, topic_of_row, STAGES[role], self._name(role), named))
        transformed = self._transformed(read, failures)
        times = _times(transformed, batch)
        failed = self._unrendered(failures) if self._policy.tolerates else None
        for rendered, rows in self._converter.batches(transformed, _SEQUENCES, failed):
            yield _output(rendered, rows, times, batch, schema)
        if failures and self._policy.dead_letters:
            yield self._letters(sorted(failures.values(), key=lambda f: f.row), batch, schema)

    def _name(self, role: str, *, is_read: bool = True) -> str:
        config = self._settings.input if is_read else self._settings.output
        return str(config.converter(role).value)

    def _note(self, failures: dict[int, _Failed], failed: _Failed) -> None:
        if not self._policy.tolerates:
            raise failed.error
        self._policy.log_failure(failed.topic, failed.error)
        failures[failed.row] = failed

    def _transformed(self, read: ReadBatch, failures: dict[int, _Failed]) -> list[Records]:
        if not self._policy.tolerates:
            return self._chain(read.records)

        def failed(records: Records, step: ChainStep, error: HeadraceError) -> None:
            row, topic = int(records.rows[0]), records.shape.topic
            self._note(failures, _Failed(row, topic, TRANSFORMATION, step.kind, error))

        return self._chain(read.records, failed)

    def _unrendered(self, failures: dict[int, _Failed]) -> Failed:
        def failed(records: Records, role: str, error: HeadraceError) -> None:
            row, topic = int(records.rows[0]), records.shape.topic
            kind = self._name(role, is_read=False)
            self._note(failures, _Failed(row, topic, STAGES[role], kind, error))

        return failed

    def _letters(
        self, failures: list[_Failed], batch: pa.RecordBatch, schema: pa.Schema
    ) -> pa.RecordBatch:
        """Return the unchanged rows, with the dead letters' topic, and the errors in headers."""
        rows = batch.take(pa.array([failed.row for failed in failures]))
        columns = dict(zip(rows.schema.names, rows.columns, strict=True))
        columns["topic"] = pa.array([self._policy.dead_letters] * len(failures), pa.string())
        columns["partition"] = pa.nulls(len(failures), pa.int32())
        if "timestamp" in columns and pa.types.is_integer(columns["timestamp"].type):
            kind = schema.field("timestamp").type
            columns["timestamp"] = _timestamps(columns["timestamp"], kind)
        if self._policy.has_context:
            headers = columns.get("headers")
            before = [None] * len(failures) if headers is None else headers.to_pylist()
            columns["headers"] = pa.array(
                [
                    [*(of_row or []), *self._context(failed)]
                    for of_row, failed in zip(before, failures, strict=True)
                ],
                pa.list_(HEADER),
            )
        return pa.RecordBatch.from_arrays(
            [
                _cast(columns[field.name], field.type)
                if field.name in columns
                else pa.nulls(len(failures), field.type)
                for field in schema
            ],
            schema=schema,
        )

    def _context(self, failed: _Failed) -> list[dict[str, object]]:
        headers = context_texts(
            self._policy.connector, failed.topic, failed.stage, failed.kind, failed.error
        )
        convert = self._converter.converters.header.constant
        return [
            {"key": name, "value": convert(failed.topic, node.schema, node.value)}
            for name, node in headers.items()
        ]


def _topic_of(batch: pa.RecordBatch, row: int) -> str:
    if "topic" not in batch.schema.names:
        return ""
    return batch.column("topic")[row].as_py() or ""


def _timestamps(milliseconds: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return milliseconds as timestamps; null beyond the range of microseconds."""
    most = np.iinfo(np.int64).max // 1000
    has_room = pc.and_(pc.less_equal(milliseconds, most), pc.greater_equal(milliseconds, -most))
    sound = pc.if_else(has_room, milliseconds, pa.scalar(None, milliseconds.type))
    return sound.cast(pa.timestamp("ms", kind.tz)).cast(kind)


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return array if array.type == kind else array.cast(kind)


def _times(transformed: list[Records], batch: pa.RecordBatch) -> pa.Array | None:
    """Return the records' own times by row, in milliseconds; None: no record has one."""
    if not any(records.shape.timestamp is not None for records in transformed):
        return None
    times = np.zeros(batch.num_rows, np.int64)
    is_null = np.ones(batch.num_rows, np.bool_)
    for records in transformed:
        if records.shape.timestamp is not None:
            array = values(records, records.shape.timestamp)
            times[records.rows] = np.asarray(pc.fill_null(array, 0))
            is_null[records.rows] = np.asarray(array.is_null())
    return pa.array(times, mask=is_null)


def _output(
    rendered: pa.RecordBatch,
    rows: np.ndarray,
    times: pa.Array | None,
    batch: pa.RecordBatch,
    schema: pa.Schema,
) -> pa.RecordBatch:
    """Return a batch of records with the columns of the output."""
    index = pa.array(rows)
    columns = []
    for field in schema:
        if field.name == "timestamp":
            if times is None:
                columns.append(pa.nulls(len(rows), field.type))
            else:
                columns.append(_timestamps(times.take(index), field.type))
        elif field.name in OF_KAFKA:
            columns.append(_cast(rendered.column(field.name), field.type))
        else:
            columns.append(_cast(batch.column(field.name).take(index), field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


_tasks: dict[tuple[tuple[str, str], ...], FrameTask] = {}
"""The tasks of this process, by their properties."""


def run_frame(
    properties: Mapping[str, str], schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches transformed by the transforms of `properties`, as batches of `schema`."""
    identity = tuple(sorted(properties.items()))
    task = _tasks.get(identity)
    if task is None:
        settings, _ = examine_frame(properties)
        compile_beforehand(frame_kernels(settings.output))
        task = _tasks[identity] = FrameTask(settings)
    for batch in batches:
        if batch.num_rows:
            yield from task.batch(batch, schema)
