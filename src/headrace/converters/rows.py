"""Records to the six Spark columns, with keys, values and headers as JsonConverter's text."""

from __future__ import annotations

import copy
import time
import weakref
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Cell, Records, Shape
from headrace.connect.rows import ROW, SEQUENCE_LENGTH, RowTable, Sequences
from headrace.converters import instructions as code
from headrace.converters import kernel
from headrace.converters.headers import ConvertedHeaders, HeaderColumn
from headrace.converters.json.values import JsonOptions
from headrace.converters.patches import Patches, Unrenderable
from headrace.converters.program import compile_program
from headrace.errors import HeadraceError

MOST_ROWS = 10_000
MOST_BYTES = 32 << 20  # of values in a batch; Arrow's string offsets are int32

SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32()),
        pa.field("key", pa.string()),
        pa.field("value", pa.string()),
        pa.field(
            "headers",
            pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])),
        ),
        pa.field("sequence", pa.string(), nullable=False),
    ]
)


class _Buffers:
    """Output memory of one batch; two of them alternate, so a batch must be consumed before the
    second next one is made (PySpark writes each batch out before it asks for the next)."""

    def __init__(self) -> None:
        self.values = np.empty(MOST_BYTES + PADDING, np.uint8)
        self.keys = np.empty((MOST_BYTES >> 3) + PADDING, np.uint8)
        self.value_present = np.empty(MOST_ROWS, np.uint8)
        self.key_present = np.empty(MOST_ROWS, np.uint8)
        self.sequences = np.empty(MOST_ROWS * SEQUENCE_LENGTH + PADDING, np.uint8)

    def grown(self, values: int, keys: int) -> _Buffers:
        """Buffers with room for one row that is larger than a batch."""
        larger = copy.copy(self)
        larger.values = np.empty(max(values + PADDING, len(self.values)), np.uint8)
        larger.keys = np.empty(max(keys + PADDING, len(self.keys)), np.uint8)
        return larger


class _Compiled:
    """The programs of one shape."""

    def __init__(self, shape: Shape, key: JsonOptions, value: JsonOptions) -> None:
        self.key = compile_program(shape.key, key) if shape.key is not None else None
        self.value = compile_program(shape.value, value)

        programs = [self.value] if self.key is None else [self.key, self.value]
        self.columns = max(program.columns for program in programs)
        self.source_columns = max(program.source_columns for program in programs)
        self.counted = any(program.counted for program in programs)

    def words(self) -> list[int]:
        """The shape's entry in `programs` of `emit`."""
        words = [0] * code.SHAPE_WORDS
        words[code.SHAPE_COLUMNS] = self.columns
        words[code.SHAPE_SOURCE_COLUMNS] = self.source_columns
        words[code.VALUE_PROGRAM] = self.value.address
        words[code.VALUE_CONSTANT] = self.value.largest
        words[code.VALUE_GROWTH] = self.value.growth
        words[code.VALUE_GUARD] = self.value.guard
        if self.key is not None:
            words[code.KEY_PROGRAM] = self.key.address
            words[code.KEY_CONSTANT] = self.key.largest
            words[code.KEY_GROWTH] = self.key.growth
            words[code.KEY_GUARD] = self.key.guard
        return words


LARGEST_TEXT = (1 << 31) - 1
"""Bytes of a key or value: Arrow's string offsets are int32."""

_OF_ONE_RECORD = ("text_too_large", "value_not_representable", "value_not_understood")
"""Errors that concern one record: the next one may be right. The second part of their codes; the
first is the folder that raises them, such as a connector's."""


class JsonConverter:
    """Kafka Connect's JsonConverter over Records.

    One converter serves one worker process: it keeps the programs of shapes as long as the shapes
    live, and its output buffers.
    """

    def __init__(
        self,
        key: JsonOptions,
        value: JsonOptions,
        header: JsonOptions,
        *,
        failed: Callable[[str, HeadraceError], None] | None = None,
    ) -> None:
        """`failed` is told of a record that has no rendering (its topic, and why) and the record
        is left out; without it the error is raised."""
        self.key, self.value = key, value
        self._failed = failed
        self._compiled: weakref.WeakKeyDictionary[Shape, _Compiled] = weakref.WeakKeyDictionary()
        self._buffers = (_Buffers(), _Buffers())
        self._scratch = np.empty(0, np.uint8)
        self._state = np.zeros(code.STATE_WORDS, np.int64)
        self._patches = Patches(self._state)
        self._headers = HeaderColumn(header)

    def convert(
        self, slice_records: Sequence[Records], sequences: Sequences
    ) -> Iterator[pa.RecordBatch]:
        """Batches of the six columns in total order (`place` of the records).

        A batch's memory is reused after the next batch was made. All records are of one table.
        """
        if not slice_records:
            return
        table = slice_records[0].table
        if any(records.table is not table for records in slice_records):
            raise HeadraceError(
                "converters.several_tables",
                "the Records of one slice have rows of several row tables",
                "This is a defect of a connector or transform; report it.",
            )
        rows, shapes = _in_total_order(slice_records)
        compiled = [self._programs(records.shape) for records in slice_records]
        programs = np.array([c.words() for c in compiled], np.int64)
        topics = pa.array([records.shape.topic for records in slice_records], pa.string())
        headers = self._headers.prepare([records.shape for records in slice_records])
        self._make_room(max(headers.columns, *(max(c.columns, c.source_columns) for c in compiled)))
        if table.orders is None and (headers.counted or any(c.counted for c in compiled)):
            raise HeadraceError(
                "converters.rows_not_counted",
                "events show their order in their transaction, which their rows do not have",
                "This is a defect of a connector or transform; report it.",
            )
        start, turn = 0, 0
        while start < len(rows):
            buffers = self._buffers[turn]
            turn ^= 1
            try:
                batch, start = self._batch(
                    table,
                    rows,
                    shapes,
                    start,
                    programs,
                    compiled,
                    topics,
                    headers,
                    buffers,
                    sequences,
                )
            except Unrenderable as unrenderable:
                for place, error in unrenderable.errors.items():
                    if self._failed is None or error.code.partition(".")[2] not in _OF_ONE_RECORD:
                        raise error from None
                    self._failed(slice_records[int(shapes[place])].shape.topic, error)
                rows = np.delete(rows, list(unrenderable.errors))
                shapes = np.delete(shapes, list(unrenderable.errors))
                continue
            yield batch

    def _programs(self, shape: Shape) -> _Compiled:
        compiled = self._compiled.get(shape)
        if compiled is None:
            compiled = self._compiled[shape] = _Compiled(shape, self.key, self.value)
        return compiled

    def _make_room(self, columns: int) -> None:
        """A scratch for images of so many columns."""
        if kernel.scratch_bytes(columns) + PADDING > len(self._scratch):
            self._scratch = np.zeros(kernel.scratch_bytes(columns) + PADDING, np.uint8)
            self._state[code.COLUMNS] = columns

    def _batch(
        self,
        table: RowTable,
        rows: np.ndarray,
        shapes: np.ndarray,
        start: int,
        programs: np.ndarray,
        compiled: list[_Compiled],
        topics: pa.Array,
        headers: ConvertedHeaders,
        buffers: _Buffers,
        sequences: Sequences,
    ) -> tuple[pa.RecordBatch, int]:
        state = self._state
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
        state[code.SELECTED], state[code.COUNT] = address_of(rows), len(rows)
        state[code.SHAPES], state[code.PROGRAMS] = address_of(shapes), address_of(programs)
        state[code.SCRATCH] = address_of(self._scratch)
        state[code.EPOCH], state[code.SEQUENCE_LENGTH] = sequences.epoch, sequences.length
        value_ends = np.empty(MOST_ROWS + 1, np.int32)
        key_ends = np.empty(MOST_ROWS + 1, np.int32)
        value_ends[0] = key_ends[0] = 0
        done, value_base, key_base = 0, 0, 0
        most_rows = MOST_ROWS
        while True:
            state[code.START] = start
            state[code.MOST_ROWS] = most_rows - done
            state[code.VALUES] = address_of(buffers.values) + value_base
            state[code.VALUES_CAPACITY] = len(buffers.values) - PADDING - value_base
            state[code.VALUE_ENDS] = address_of(value_ends) + 4 * done
            state[code.VALUE_PRESENT] = address_of(buffers.value_present) + done
            state[code.KEYS] = address_of(buffers.keys) + key_base
            state[code.KEYS_CAPACITY] = len(buffers.keys) - PADDING - key_base
            state[code.KEY_ENDS] = address_of(key_ends) + 4 * done
            state[code.KEY_PRESENT] = address_of(buffers.key_present) + done
            state[code.SEQUENCES] = address_of(buffers.sequences) + sequences.length * done
            made = kernel.emit(address_of(state))
            largest = max(int(state[code.VALUE_BYTES]), int(state[code.KEY_BYTES]))
            if largest > LARGEST_TEXT:  # of the one row in grown buffers
                topic = topics[int(shapes[start])].as_py()
                error = _too_large(topic, table.rows[rows[start]], f"has {largest} bytes of JSON")
                raise Unrenderable({start: error})
            value_ends[done : done + made + 1] += value_base
            key_ends[done : done + made + 1] += key_base
            done += made
            value_base, key_base = int(value_ends[done]), int(key_ends[done])
            start = int(state[code.NEXT])
            status = int(state[code.STATUS])
            if status == code.UNUSUAL:
                self._patches.render(lambda at, row: self._cell(compiled[int(shapes[row])], at))
            elif status == code.FULL and done == 0:
                topic = topics[int(shapes[start])].as_py()
                row = table.rows[rows[start]]
                size = int(row["size"]) + int(table.transactions["size"][row["transaction"]])
                buffers = self._grown(buffers, topic, row, size, programs[shapes[start]])
                most_rows = 1
            else:
                break
        selected = rows[start - done : start]
        which = shapes[start - done : start]
        columns = [
            topics.take(pa.array(which)),
            pa.nulls(done, pa.int32()),
            _strings(buffers.keys, key_ends, buffers.key_present, done),
            _strings(buffers.values, value_ends, buffers.value_present, done),
            headers.column(table, selected, which, state, self._patches),
            _fixed(buffers.sequences, done, sequences.length),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA), start

    def _cell(self, compiled: _Compiled, instruction: int) -> tuple[Cell, JsonOptions]:
        if compiled.key is not None and instruction in compiled.key.cells:
            return compiled.key.cells[instruction], self.key
        return compiled.value.cells[instruction], self.value

    def _grown(
        self, buffers: _Buffers, topic: str, row: np.void, size: int, words: np.ndarray
    ) -> _Buffers:
        """Buffers for a row with images of `size` bytes."""
        patches = int(self._state[code.PATCH_BYTES])
        values = int(words[code.VALUE_GROWTH]) * size + int(words[code.VALUE_CONSTANT]) + patches
        keys = int(words[code.KEY_GROWTH]) * size + int(words[code.KEY_CONSTANT]) + patches
        try:
            return buffers.grown(values + PADDING, keys + PADDING)
        except MemoryError:
            error = _too_large(topic, row, f"may take {values + keys} bytes of memory as JSON")
            raise error from None


def _too_large(topic: str, row: np.void, what: str) -> HeadraceError:
    return HeadraceError(
        "converters.text_too_large",
        f"a record of {topic} at the place {int(row['place'])} of the log {what}; "
        f"a key or value has at most {LARGEST_TEXT} bytes",
        "Leave the large column out (column.exclude.list) or truncate it "
        "(column.truncate.to.LENGTH.chars, where LENGTH is a number of characters), or set "
        "event.processing.failure.handling.mode=warn to leave such records out.",
    )


def _in_total_order(slice_records: Sequence[Records]) -> tuple[np.ndarray, np.ndarray]:
    """Row index and index of the Records, one per record, by `place`."""
    if len(slice_records) == 1:
        only = slice_records[0]
        if len(only.place) < 2 or bool(np.all(only.place[1:] > only.place[:-1])):
            return np.ascontiguousarray(only.rows), np.zeros(len(only), np.int64)
    total = sum(len(records) for records in slice_records)
    top = max(int(records.place.max()) for records in slice_records if len(records)) + 1
    if top > 4 * total + 1024:
        place = np.concatenate([records.place for records in slice_records])
        order = np.argsort(place, kind="stable")
        rows = np.concatenate([records.rows for records in slice_records])[order]
        lengths = [len(records) for records in slice_records]
        return rows, np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)[order]
    # Places are distinct and dense, so scattering is a sort in linear time.
    rows = np.full(top, -1, np.int64)
    shapes = np.empty(top, np.int64)
    for index, records in enumerate(slice_records):
        rows[records.place] = records.rows
        shapes[records.place] = index
    if total == top:
        return rows, shapes
    kept = rows >= 0
    return rows[kept], shapes[kept]


def _strings(data: np.ndarray, ends: np.ndarray, present: np.ndarray, count: int) -> pa.Array:
    validity = None
    if not present[:count].all():
        validity = pa.py_buffer(np.packbits(present[:count], bitorder="little"))
    return pa.StringArray.from_buffers(
        count, pa.py_buffer(ends), pa.py_buffer(data[: int(ends[count])]), validity
    )


_NUMBERS = np.arange(MOST_ROWS + 1, dtype=np.int32)


def _fixed(data: np.ndarray, count: int, length: int) -> pa.Array:
    """`count` texts of `length` bytes."""
    ends = _NUMBERS[: count + 1] * np.int32(length)
    used = data[: count * length]
    return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(used))


assert ROW.itemsize % 8 == 0
