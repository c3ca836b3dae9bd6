"""Renders records as the six Spark columns: keys, values and headers by their converters."""

from __future__ import annotations

import copy
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.connect.kernels.loading import address_of_kernel
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import NO_PARTITION, Records, Shape
from headrace.connect.rows import ROW, SEQUENCE_LENGTH, RowTable, Sequences
from headrace.converters import instructions as code
from headrace.converters.binary.kernels.interpreter import run_binary
from headrace.converters.converter import Converter
from headrace.converters.headers import HEADER, HeaderColumn
from headrace.converters.json.kernels.interpreter import run_json
from headrace.converters.kernels.emit import emit, scratch_bytes
from headrace.converters.order import in_total_order, partitions_in_order
from headrace.converters.patches import Patches, Unrenderable
from headrace.converters.shapes import CompiledShape, Converters, named
from headrace.converters.typed.batches import batch_column
from headrace.converters.typed.converters import ColumnConverter
from headrace.documents.kernels.cells import put_document
from headrace.errors import HeadraceError

MAX_ROWS = 10_000
MAX_BYTES = 32 << 20  # of values in a batch; Arrow's string offsets are int32


def columns_of(key: pa.DataType, value: pa.DataType) -> pa.Schema:
    """Return the schema of the six columns, with keys and values of these types."""
    return pa.schema(
        [
            pa.field("topic", pa.string(), nullable=False),
            pa.field("partition", pa.int32()),
            pa.field("key", key),
            pa.field("value", value),
            pa.field("headers", pa.list_(HEADER)),
            pa.field("sequence", pa.string(), nullable=False),
        ]
    )


class _Buffers:
    """Output memory of one batch; two of them alternate, so a batch must be consumed before the
    second next one is made (PySpark writes each batch out before it asks for the next)."""

    def __init__(self) -> None:
        self.values = np.empty(MAX_BYTES + PADDING, np.uint8)
        self.keys = np.empty((MAX_BYTES >> 3) + PADDING, np.uint8)
        self.value_present = np.empty(MAX_ROWS, np.uint8)
        self.key_present = np.empty(MAX_ROWS, np.uint8)
        self.sequences = np.empty(MAX_ROWS * SEQUENCE_LENGTH + PADDING, np.uint8)

    def grown(self, values: int, keys: int) -> _Buffers:
        """Buffers with room for one row that is larger than a batch."""
        larger = copy.copy(self)
        larger.values = np.empty(max(values + PADDING, len(self.values)), np.uint8)
        larger.keys = np.empty(max(keys + PADDING, len(self.keys)), np.uint8)
        return larger


LARGEST_TEXT = (1 << 31) - 1
"""The most bytes of a key or value: Arrow's string offsets are int32."""

Failed = Callable[[Records, str, HeadraceError], Records | None]
"""Called with one record that has no rendering, the role that has none (key, value or header), and
the error; returns the record that replaces it, if any. It may raise the error."""

_DEFECTS = (
    "converters.several_tables",
    "converters.rows_not_counted",
    "converters.row_field_not_printed",
    "converters.column_missing",
)
"""Codes of errors that do not concern one record."""


@dataclass(eq=False)
class _Slice:
    """Records of one table while they are rendered, in total order."""

    records: Sequence[Records]
    compiled: Sequence[CompiledShape]
    table: RowTable
    rows: np.ndarray
    shapes: np.ndarray
    partitions: np.ndarray | None
    programs: np.ndarray
    topics: pa.Array
    sequences: Sequences
    memory: list[np.ndarray | None]

    def topic(self, place: int) -> str:
        """The topic of the record at this place of the order."""
        return self.records[int(self.shapes[place])].shape.topic

    def size(self, place: int) -> int:
        """Bytes of images and made cells of the record at this place."""
        row = int(self.rows[place])
        entry, which = self.table.rows[row], int(self.shapes[place])
        transaction = self.table.transactions[entry["transaction"]]
        made_bytes = self.compiled[which].made_bytes(self.records[which], row)
        return int(entry["size"]) + int(transaction["size"]) + made_bytes


class SliceConverter:
    """Kafka Connect's three converters over Records.

    An instance serves one worker process: it keeps the programs of shapes as long as the shapes
    live, and its output buffers.
    """

    def __init__(self, key: Converter, value: Converter, header: Converter) -> None:
        self.converters = Converters(key, value, header)
        self.schema = columns_of(key.column, value.column)
        self._compiled: weakref.WeakKeyDictionary[Shape, CompiledShape] = (
            weakref.WeakKeyDictionary()
        )
        self._buffers = (_Buffers(), _Buffers())
        self._scratch = np.empty(0, np.uint8)
        self._state = np.zeros(code.STATE_WORDS, np.int64)
        self._patches = Patches(self._state)
        self._headers = HeaderColumn()
        self._topic: tuple[str, pa.Array] | None = None
        """The topic of the last batch that had only one, and a column of it."""
        self._makes_columns = any(
            isinstance(converter, ColumnConverter) for converter in (key, value)
        )

    def convert(
        self,
        slice_records: Sequence[Records],
        sequences: Sequences,
        failed: Failed | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Return batches of the six columns in total order (`place` of the records).

        A batch's memory is reused after the next batch was made. All records belong to one table.
        Raises HeadraceError for a record that has no rendering; with `failed`, calls it instead.
        """
        for batch, _ in self.batches(slice_records, sequences, failed):
            yield batch

    def batches(
        self,
        slice_records: Sequence[Records],
        sequences: Sequences,
        failed: Failed | None = None,
    ) -> Iterator[tuple[pa.RecordBatch, np.ndarray]]:
        """Return the batches of `convert`, each with the indexes of its rows in the row table."""
        part = self._slice(slice_records, sequences, failed)
        start, turn = 0, 0
        while part is not None and start < len(part.rows):
            buffers = self._buffers[turn]
            turn ^= 1
            try:
                batch, end = self._batch(part, start, buffers)
            except Unrenderable as unrenderable:
                part = self._without(part, unrenderable, failed)
                continue
            yield batch, part.rows[start:end]
            start = end

    def _without(
        self, part: _Slice, unrenderable: Unrenderable, failed: Failed | None
    ) -> _Slice | None:
        """Return the slice with the records that have no rendering replaced or left out, as
        `failed` decides."""
        left_out: dict[int, list[int]] = {}
        instead: list[Records] = []
        for place, why in unrenderable.errors.items():
            which, row = int(part.shapes[place]), int(part.rows[place])
            compiled, records = part.compiled[which], part.records[which]
            role, path = compiled.place_of(unrenderable.instructions.get(place, 0))
            error = named(why, records.shape.topic, role, path)
            if failed is None:
                raise error from None
            replacement = failed(records.with_rows(records.rows == row), role, error)
            instead += [] if replacement is None else [replacement]
            left_out.setdefault(which, []).append(row)
        remaining = [
            records.with_rows(~np.isin(records.rows, left_out[which]))
            if which in left_out
            else records
            for which, records in enumerate(part.records)
        ]
        return self._slice([*remaining, *instead], part.sequences, failed)

    def _compilable(
        self, slice_records: Sequence[Records], failed: Failed | None
    ) -> tuple[list[Records], list[CompiledShape]]:
        """The Records that have programs, and these programs."""
        compilable: list[Records] = []
        compiled: list[CompiledShape] = []
        waiting = [records for records in slice_records if len(records)]
        while waiting:
            records = waiting.pop(0)
            try:
                programs = self._programs(records.shape)
            except HeadraceError as error:
                if failed is None or not _is_of_records(error):
                    raise
                for row in records.rows:
                    alone = records.with_rows(records.rows == row)
                    instead = failed(alone, "value", error)
                    waiting += [] if instead is None else [instead]
                continue
            compilable.append(records)
            compiled.append(programs)
        return compilable, compiled

    def _slice(
        self, slice_records: Sequence[Records], sequences: Sequences, failed: Failed | None
    ) -> _Slice | None:
        """A slice of the records; None if no record is left."""
        compilable, compiled = self._compilable(slice_records, failed)
        if not compilable:
            return None
        table = compilable[0].table
        if any(records.table is not table for records in compilable):
            raise HeadraceError(
                "converters.several_tables",
                "the Records of one slice have rows of several row tables",
                "This is a defect of a connector or transform; report it.",
            )
        if table.orders is None and any(c.counted for c in compiled):
            raise HeadraceError(
                "converters.rows_not_counted",
                "events show their order in their transaction, which their rows do not have",
                "This is a defect of a connector or transform; report it.",
            )
        self._make_room(max(c.columns for c in compiled))
        entries = [c.words(records) for c, records in zip(compiled, compilable, strict=True)]
        rows, shapes = in_total_order(compilable)
        return _Slice(
            compilable,
            compiled,
            table,
            rows,
            shapes,
            partitions_in_order(compilable),
            np.array([words for words, _ in entries], np.int64),
            pa.array([records.shape.topic for records in compilable], pa.string()),
            sequences,
            [memory for _, memory in entries],
        )

    def _programs(self, shape: Shape) -> CompiledShape:
        compiled = self._compiled.get(shape)
        if compiled is None:
            compiled = CompiledShape(shape, self.converters, self._headers.names)
            for form in compiled.forms:
                self._load_interpreter(form)
            if compiled.has_documents:
                self._state[code.PUT_DOCUMENT] = address_of_kernel(put_document)
            self._compiled[shape] = compiled
        return compiled

    def _load_interpreter(self, form: code.ProgramForm) -> None:
        """Pass the address of the interpreter of this form to the compiled pass."""
        if form is code.ProgramForm.JSON:
            self._state[code.RUN_JSON] = address_of_kernel(run_json)
        else:
            self._state[code.RUN_PLAIN] = address_of_kernel(run_binary)

    def _make_room(self, columns: int) -> None:
        """Enlarge the scratch for images of so many columns."""
        if scratch_bytes(columns) + PADDING > len(self._scratch):
            self._scratch = np.zeros(scratch_bytes(columns) + PADDING, np.uint8)
            self._state[code.COLUMNS] = columns

    def _begin(self, part: _Slice) -> None:
        """Set up the state of the compiled pass for a batch."""
        state, table = self._state, part.table
        self._patches.clear()
        state[code.FIRST_ROW] = address_of(table.rows)
        state[code.FIRST_TRANSACTION] = address_of(table.transactions)
        state[code.FIRST_ORDER] = 0 if table.orders is None else address_of(table.orders)
        now = time.time_ns()
        state[code.CLOCK_MS], state[code.CLOCK_US], state[code.CLOCK_NS] = (
            now // 1_000_000,
            now // 1_000,
            now,
        )
        state[code.SELECTED], state[code.COUNT] = address_of(part.rows), len(part.rows)
        state[code.SHAPES], state[code.PROGRAMS] = (
            address_of(part.shapes),
            address_of(part.programs),
        )
        state[code.SCRATCH] = address_of(self._scratch)
        state[code.EPOCH] = part.sequences.epoch
        state[code.SEQUENCE_LENGTH] = part.sequences.length

    def _batch(self, part: _Slice, start: int, buffers: _Buffers) -> tuple[pa.RecordBatch, int]:
        state, length = self._state, part.sequences.length
        self._begin(part)
        value_ends = np.empty(MAX_ROWS + 1, np.int32)
        key_ends = np.empty(MAX_ROWS + 1, np.int32)
        value_ends[0] = key_ends[0] = 0
        rows_done, value_base, key_base = 0, 0, 0
        most_rows = self._most_rows(part, start)
        while True:
            state[code.START] = start
            state[code.MAX_ROWS] = most_rows - rows_done
            state[code.VALUES] = address_of(buffers.values) + value_base
            state[code.VALUES_CAPACITY] = len(buffers.values) - PADDING - value_base
            state[code.VALUE_ENDS] = address_of(value_ends) + 4 * rows_done
            state[code.VALUE_PRESENT] = address_of(buffers.value_present) + rows_done
            state[code.KEYS] = address_of(buffers.keys) + key_base
            state[code.KEYS_CAPACITY] = len(buffers.keys) - PADDING - key_base
            state[code.KEY_ENDS] = address_of(key_ends) + 4 * rows_done
            state[code.KEY_PRESENT] = address_of(buffers.key_present) + rows_done
            state[code.SEQUENCES] = address_of(buffers.sequences) + length * rows_done
            emitted = emit(address_of(state))
            largest = max(int(state[code.VALUE_BYTES]), int(state[code.KEY_BYTES]))
            if largest > LARGEST_TEXT:  # of the one row in grown buffers
                raise Unrenderable({start: _too_large(part, start, f"has {largest} bytes")}, {})
            value_ends[rows_done : rows_done + emitted + 1] += value_base
            key_ends[rows_done : rows_done + emitted + 1] += key_base
            rows_done += emitted
            value_base, key_base = int(value_ends[rows_done]), int(key_ends[rows_done])
            start = int(state[code.NEXT])
            status = int(state[code.STATUS])
            if status == code.UNUSUAL:
                self._patches.render(
                    lambda at, row: part.compiled[int(part.shapes[row])].renders[at]
                )
            elif status == code.FULL and rows_done == 0:
                buffers = self._grown(buffers, part, start)
                most_rows = 1
            else:
                break
        selected, which = (
            part.rows[start - rows_done : start],
            part.shapes[start - rows_done : start],
        )
        keys, values = self.converters.key, self.converters.value
        try:
            headers = self._headers.column(
                part.table, selected, which, part.compiled, state, self._patches
            )
        except Unrenderable as unrenderable:
            first = start - rows_done
            raise Unrenderable(
                {first + place: error for place, error in unrenderable.errors.items()},
                {first + place: at for place, at in unrenderable.instructions.items()},
            ) from None
        columns = [
            self._topics(part, which),
            _partitions(part.partitions, start - rows_done, start),
            _texts(keys.column, buffers.keys, key_ends, buffers.key_present, rows_done)
            if not isinstance(keys, ColumnConverter)
            else batch_column(keys, part.records, selected, which, start - rows_done),
            _texts(values.column, buffers.values, value_ends, buffers.value_present, rows_done)
            if not isinstance(values, ColumnConverter)
            else batch_column(values, part.records, selected, which, start - rows_done),
            headers,
            _fixed(buffers.sequences, rows_done, length),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema), start

    def _topics(self, part: _Slice, which: np.ndarray) -> pa.Array:
        """The topic column of records with these shapes."""
        if len(part.topics) > 1:
            return part.topics.take(pa.array(which))
        topic = part.topics[0].as_py()
        if self._topic is None or self._topic[0] != topic:
            self._topic = topic, pa.repeat(part.topics[0], MAX_ROWS)
        return self._topic[1].slice(0, len(which))

    def _most_rows(self, part: _Slice, start: int) -> int:
        """The most records of a batch: fewer if they are large and a converter makes a column of
        them."""
        if not self._makes_columns:
            return MAX_ROWS
        sizes = part.table.rows["size"][part.rows[start : start + MAX_ROWS]]
        return 1 + int(np.searchsorted(np.cumsum(sizes[:-1]), MAX_BYTES))

    def _grown(self, buffers: _Buffers, part: _Slice, place: int) -> _Buffers:
        """Buffers for the record at a place of the order."""
        patches, size = int(self._state[code.PATCH_BYTES]), part.size(place)
        words = part.programs[part.shapes[place]]
        values = int(words[code.VALUE_GROWTH]) * size + int(words[code.VALUE_CONSTANT]) + patches
        keys = int(words[code.KEY_GROWTH]) * size + int(words[code.KEY_CONSTANT]) + patches
        try:
            return buffers.grown(values + PADDING, keys + PADDING)
        except MemoryError:
            details = f"may take {values + keys} bytes of memory"
            raise _too_large(part, place, details) from None


def _is_of_records(error: HeadraceError) -> bool:
    """Whether the error concerns single records, so that others may be rendered."""
    area = error.code.partition(".")[0]
    return not error.retriable and area not in ("registry", "config") and error.code not in _DEFECTS


def _too_large(part: _Slice, place: int, details: str) -> HeadraceError:
    row = part.table.rows[part.rows[place]]
    return HeadraceError(
        "converters.text_too_large",
        f"a record of {part.topic(place)} at the place {int(row['place'])} of the log {details}; "
        f"a key or value has at most {LARGEST_TEXT} bytes",
        "Leave the large column out (column.exclude.list) or truncate it "
        "(column.truncate.to.LENGTH.chars, where LENGTH is a number of characters), or set "
        "event.processing.failure.handling.mode=warn to leave such records out.",
    )


def _partitions(partitions: np.ndarray | None, start: int, end: int) -> pa.Array:
    if partitions is None:
        return pa.nulls(end - start, pa.int32())
    chosen = partitions[start:end]
    return pa.array(chosen, pa.int32(), mask=chosen == NO_PARTITION)


def _texts(
    kind: pa.DataType, data: np.ndarray, ends: np.ndarray, present: np.ndarray, count: int
) -> pa.Array:
    validity = None
    if not present[:count].all():
        validity = pa.py_buffer(np.packbits(present[:count], bitorder="little"))
    buffers = [validity, pa.py_buffer(ends), pa.py_buffer(data[: int(ends[count])])]
    return pa.Array.from_buffers(kind, count, buffers)


_NUMBERS = np.arange(MAX_ROWS + 1, dtype=np.int32)


def _fixed(data: np.ndarray, count: int, length: int) -> pa.Array:
    """A column of `count` texts of `length` bytes."""
    ends = _NUMBERS[: count + 1] * np.int32(length)
    used = data[: count * length]
    return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(used))


assert ROW.itemsize % 8 == 0
