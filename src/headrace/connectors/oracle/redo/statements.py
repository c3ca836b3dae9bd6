"""Converts a fetched batch of redo statements to row images: by the kernel, and odd ones one at a
time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from headrace.connect.images import CELL_BYTES, cells
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.oracle.redo.reference import KEPT, ParsedStatement, parse_statement
from headrace.connectors.oracle.redo.statement_kernel import (
    CELL_ROOM,
    ODD,
    SCRATCH_HEAD_BYTES,
    TABLE_BYTES,
    parse_batch,
)
from headrace.connectors.oracle.redo.tables import RedoColumn, RedoTable
from headrace.connectors.oracle.redo.value_kernel import COLUMN_BYTES
from headrace.errors import HeadraceError

_WORD = 8


@dataclass(frozen=True)
class RedoImages:
    """The images of a batch of statements: `images` (uint8, with PADDING readable bytes after them)
    contains, per statement, the old image (of updates and deletes), then the new one (of inserts
    and updates), and `offsets` (int64, one more than statements) are where they begin and end.
    `operations` are `c`, `u` and `d` (uint8). A statement that cannot be read has no images, and is
    a member of `errors` by its number. `odd` is the number of statements that were read in plain
    Python."""

    images: np.ndarray
    offsets: np.ndarray
    operations: np.ndarray
    errors: Mapping[int, HeadraceError]
    odd: int = 0


@dataclass(frozen=True)
class _Packed:
    """A table as the kernel reads it: `words` point into `names`."""

    words: np.ndarray
    columns: np.ndarray
    names: np.ndarray


@dataclass
class RedoStatements:
    """Parses statements of the tables that were added by `add`, which are identified by number."""

    tables: list[RedoTable] = field(default_factory=list)
    most_columns: int = field(default=0, init=False)
    """The number of columns of the widest table."""
    _packed: list[_Packed] = field(default_factory=list)
    _words: np.ndarray = field(default_factory=lambda: np.zeros((0, TABLE_BYTES // _WORD), "<i8"))

    def add(self, table: RedoTable) -> int:
        """Add a table; returns its number."""
        packed = _pack(table)
        self.tables.append(table)
        self._packed.append(packed)
        self._words = np.concatenate([self._words, packed.words.reshape(1, -1)])
        self.most_columns = max(self.most_columns, len(table.columns))
        return len(self.tables) - 1

    def address_of_table(self, number: int) -> int:
        """Return the address of a table for the kernel; valid until another one is added."""
        return address_of(self._words) + TABLE_BYTES * number

    def number_at(self, address: int) -> int:
        """Return the number of the table at an address; the reverse of `address_of_table`."""
        return (address - address_of(self._words)) // TABLE_BYTES

    def scratch(self, longest: int) -> np.ndarray:
        """Return the kernel's memory for statements of at most `longest` bytes."""
        of_columns = (_WORD + 2 * CELL_BYTES) * self.most_columns
        return np.empty(SCRATCH_HEAD_BYTES + of_columns + 2 * longest + 2 * PADDING, np.uint8)

    def read_odd(self, text: bytes, number: int) -> ParsedStatement:
        """Parse a statement that the kernel did not read. Raises HeadraceError."""
        return parse_statement(text.decode(errors=KEPT), self.tables[number])

    def parse(self, texts: pa.Array, tables: np.ndarray) -> RedoImages:
        """Return the images of statements (string or large_string, without nulls), each of the
        table with this number."""
        rows = len(texts)
        numbers = np.ascontiguousarray(tables, np.int32)
        assert len(numbers) == rows
        if rows == 0:
            empty = np.zeros(PADDING, np.uint8)[:0]
            return RedoImages(empty, np.zeros(1, np.int64), empty, {})
        addresses, tail, shift, padded = _addresses(texts)
        sizes = np.diff(addresses)
        columns = np.array([len(table.columns) for table in self.tables], np.int64)[numbers]
        room = 2 * int(sizes.sum() + (CELL_ROOM * columns + CELL_ROOM).sum()) + PADDING
        images = np.empty(room, np.uint8)
        scratch = self.scratch(int(sizes.max()))
        offsets = np.empty(rows + 1, np.int64)
        operations, status = np.empty(rows, np.uint8), np.empty(rows, np.uint8)
        parse_batch(
            address_of(addresses), rows, tail, shift, address_of(self._words), address_of(numbers),
            address_of(scratch), self.most_columns, address_of(images), address_of(offsets),
            address_of(operations), address_of(status),
        )  # fmt: skip
        del padded
        odd = np.flatnonzero(status == ODD)
        if len(odd):
            return self._with_odd(texts, numbers, odd, images, offsets, operations)
        return RedoImages(images[: offsets[-1]], offsets, operations, {})

    def _with_odd(
        self,
        texts: pa.Array,
        numbers: np.ndarray,
        odd: np.ndarray,
        images: np.ndarray,
        offsets: np.ndarray,
        operations: np.ndarray,
    ) -> RedoImages:
        """Return the images of the kernel, and between them those of the statements that it did not
        read."""
        errors: dict[int, HeadraceError] = {}
        parts: list[np.ndarray] = []
        sizes = np.diff(offsets)
        copied = 0
        for row in map(int, odd):
            parts.append(images[copied : offsets[row]])
            copied = int(offsets[row])
            try:
                parsed = self.read_odd(texts[row].as_buffer().to_pybytes(), int(numbers[row]))
            except HeadraceError as error:
                errors[row] = error
                continue
            raw = parsed.old + parsed.new
            operations[row], sizes[row] = parsed.operation, len(raw)
            parts.append(np.frombuffer(raw, np.uint8))
        parts += [images[copied : offsets[-1]], np.zeros(PADDING, np.uint8)]
        together = np.concatenate(parts)
        new_offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        return RedoImages(together[:-PADDING], new_offsets, operations, errors, len(odd))


def columns_with(mark: str, statement: str, table: RedoTable) -> list[str]:
    """Return the columns for which a statement has a value with a mark; empty if it cannot be
    read."""
    try:
        parsed = parse_statement(statement, table)
    except HeadraceError:
        return []
    images = [cells(image) for image in (parsed.old, parsed.new) if image]
    return [
        column.name
        for place, column in enumerate(table.columns)
        if any(mark.encode() in (image[place] or b"") for image in images)
    ]


def _addresses(texts: pa.Array) -> tuple[np.ndarray, int, int, np.ndarray]:
    """Return the addresses where statements begin and end (int64, one more than statements); the
    first statement that is copied, because Arrow's memory may end after the last; the distance to
    the copies; and the memory of the copies."""
    assert not texts.null_count
    kind = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, raw_offsets, values = texts.buffers()
    starts = np.frombuffer(raw_offsets, kind)[texts.offset : texts.offset + len(texts) + 1]
    starts = starts.astype(np.int64)
    size = 0 if values is None else values.size
    tail = int(np.searchsorted(starts[1:], size - PADDING, "right"))
    first = int(starts[tail])
    last = b"" if values is None else values.slice(first, int(starts[-1]) - first).to_pybytes()
    padded = np.frombuffer(last + bytes(PADDING), np.uint8)
    base = 0 if values is None else values.address
    return starts + base, tail, address_of(padded) - first - base, padded


def _quoted(name: str) -> bytes:
    return b'"' + name.encode() + b'"'


def _pack(table: RedoTable) -> _Packed:
    names = bytearray()

    def place(text: bytes) -> tuple[int, int]:
        names.extend(text + bytes(PADDING))
        return len(names) - PADDING - len(text), len(text)

    columns = table.columns
    listed = b",".join(_quoted(column.name) for column in columns)
    name = _quoted(table.schema) + b"." + _quoted(table.name)
    usual = (
        b"insert into " + name + b"(" + listed + b") values (",
        b"update " + name + b" set ",
        b"delete from " + name + b" where ",
    )
    beginnings = [place(text) for text in usual]
    entries = [_entry(column, *place(_quoted(column.name))) for column in columns]
    blob = np.frombuffer(bytes(names), np.uint8)
    base = address_of(blob)
    column_words = np.array(entries, np.int64).reshape(-1, COLUMN_BYTES // _WORD)
    column_words[:, 0] += base
    words = [len(columns), address_of(column_words)]
    for start, length in beginnings:
        words += [base + start, length]
    words.append(table.relaxed)
    return _Packed(np.array(words, np.int64), column_words, blob)


def _entry(column: RedoColumn, start: int, length: int) -> Sequence[int]:
    return start, length, column.form, column.digits, column.is_apart, column.not_null
