"""Programs, which the compiled pass runs over rows, and the assembler that the compilers of all
forms use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headrace.connect.encoding import FIRST_DOCUMENT, Encoding
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Cell, Choice, Column, ColumnIdentity, Image, Instant, RowField
from headrace.connect.records import TransactionField as Numbered
from headrace.connect.rows import (
    ROW,
    TRANSACTION_NUMBERS,
    offset_in_row,
    offset_in_transaction,
)
from headrace.converters import instructions as code
from headrace.converters.instructions import ProgramForm
from headrace.documents.dialects import DIALECTS
from headrace.documents.kernels import writer
from headrace.errors import HeadraceError

CLOCKS = {"ms": code.CLOCK_MS, "us": code.CLOCK_US, "ns": code.CLOCK_NS}
_LARGEST_NUMBER = 64  # limit of the bytes of a number, or of a cell's frame besides its text
_GROWTH = 6  # most bytes of JSON for a byte of text: a control character becomes an escape
_UNESCAPED = (Encoding.RAW, Encoding.JSON, Encoding.HEX, Encoding.BYTES_HEX, Encoding.PYTHON)
"""Encodings for which the compiled pass writes no more bytes than the text has."""


def _growth_of(encoding: Encoding) -> int:
    """Limit of the bytes of output for a byte of a cell, in any form."""
    if encoding in DIALECTS:
        return writer.GROWTH
    return 1 if encoding in _UNESCAPED else _GROWTH


Render = Callable[[bytes], bytes | None]
"""Renders a cell's bytes if the kernel cannot; None: the value is null."""

MadeColumns = dict[ColumnIdentity, int]
"""The made columns of a shape, with the number by which its programs refer to each."""


@dataclass(frozen=True, eq=False)
class Program:
    """Instructions, and the memory that they point into.

    A row takes at most `largest` bytes, and `growth` bytes for each byte of its images and made
    cells, because a text may be shown several times. `columns` is the number of columns of an image
    that are read, `source_columns` that of an image of source fields; the root is null unless the
    row has an image of `guard`. `counted` says whether the rows' order in their transaction is
    read, `has_documents` whether cells hold BSON. `cells` maps the address of an instruction to the
    function that renders its cell if the kernel cannot, `nodes` to the node that it shows.
    """

    address: int
    form: ProgramForm
    largest: int
    growth: int
    columns: int
    source_columns: int
    guard: int
    counted: bool
    has_documents: bool
    cells: Mapping[int, Render]
    nodes: Mapping[int, Cell | Column]
    memory: tuple[np.ndarray, ...]


class _Fragments:
    """Constant bytes, put into one buffer when the program is complete."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._places: dict[bytes, int] = {}

    def place(self, text: bytes) -> tuple[int, int]:
        if text not in self._places:
            self._places[text] = len(self._bytes)
            self._bytes += text
        return self._places[text], len(text)

    def buffer(self) -> np.ndarray:
        return np.frombuffer(bytes(self._bytes) + bytes(PADDING), np.uint8).copy()


Span = tuple[int, int]
"""Instructions [first, last) of a program."""


class Places:
    """The numbers of instructions after an instruction was inserted before and after each of
    `parts`."""

    def __init__(self, parts: Sequence[Span]) -> None:
        self._parts = parts

    def of(self, number: int) -> int:
        """The new number of an instruction."""
        return number + sum((number >= first) + (number >= last) for first, last in self._parts)

    def target(self, source: int, target: int) -> int:
        """The new target of a jump from `source`: a jump out of a part goes to its end, a jump into
        a part from elsewhere to its beginning."""
        for first, last in self._parts:
            if first <= source < last and target == last:
                return self.of(last - 1) + 1
            if first == target and not first <= source < last:
                return self.of(target) - 1
        return self.of(target)


@dataclass(eq=False)
class Assembler:
    """Collects the instructions of a program of `form`; `words` int64 each, the first ten as in
    `headrace.converters.instructions`."""

    form: ProgramForm
    words: int
    made: MadeColumns
    pending: bytes = b""
    """Constant bytes before the next instruction's data."""
    guards: tuple[Image, ...] = ()
    """Images that the rows have here; without them a struct around this place is null."""
    guard: int = code.ALWAYS
    counted: bool = False
    has_documents: bool = False
    largest: int = PADDING
    instructions: list[list[int]] = field(default_factory=list)
    jumps: list[tuple[int, int, int]] = field(default_factory=list)
    """Instruction, the offset of its word, and the number of the instruction to go to."""
    _fragments: _Fragments = field(default_factory=_Fragments)
    _cells: dict[int, Render] = field(default_factory=dict)
    _failures: dict[int, Render] = field(default_factory=dict)
    _nodes: dict[int, Cell | Column] = field(default_factory=dict)
    _choices: list[tuple[int, list[tuple[int, int]]]] = field(default_factory=list)
    _growth: dict[object, int] = field(default_factory=dict)
    _columns: dict[bool, int] = field(default_factory=dict)
    _kept_texts: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.uint8))

    def add(
        self,
        operation: int,
        a: int = 0,
        b: int = 0,
        c: int = 0,
        null: bytes = b"null",
        unavailable: bytes = b"",
        rest: tuple[int, ...] = (),
    ) -> int:
        """Add an instruction and return its number. `rest` are the words after the tenth."""
        prefix = self._fragments.place(self.pending)
        self.largest += len(self.pending) + max(len(null), len(unavailable)) + _LARGEST_NUMBER
        self.pending = b""
        null_place, unavailable_place = map(self._fragments.place, (null, unavailable))
        words = [operation, a, b, c, *prefix, *null_place, *unavailable_place, *rest]
        self.instructions.append(words)
        return len(self.instructions) - 1

    @property
    def next(self) -> int:
        """The number of the next instruction."""
        return len(self.instructions)

    def shows(self, at: int, node: Cell | Column, encoding: Encoding, render: Render) -> None:
        """Declare that the instruction `at` shows a cell; `render` renders it if the kernel
        cannot."""
        self._cells[at], self._nodes[at] = render, node
        if encoding >= FIRST_DOCUMENT:
            self.has_documents = True
        if encoding in DIALECTS:
            self.largest += writer.SLACK
        if isinstance(node, Column):
            column: object = node.identity
        else:
            # A column's cell may show the text of any image: unavailable values are taken from
            # another one.
            of_source = node.image in (Image.EXTRA, Image.TRANSACTION)
            column = (of_source, node.column)
            self.reads(node)
        self._growth[column] = self._growth.get(column, 0) + _growth_of(encoding)

    def fails(self, at: int, render: Render) -> None:
        """Set the function that raises the error if the instruction `at` meets a null without
        text."""
        self._failures[at] = render

    def reads(self, cell: Cell) -> None:
        """Declare that the program reads a cell."""
        of_source = cell.image in (Image.EXTRA, Image.TRANSACTION)
        self._columns[of_source] = max(self._columns.get(of_source, 0), cell.column + 1)

    def choice(self, at: int, texts: list[bytes | None]) -> None:
        """Set the texts of a CHOICE instruction; None is null."""
        self.largest += max(len(text or b"") for text in texts)
        places = [(0, -1) if text is None else self._fragments.place(text) for text in texts]
        self._choices.append((at, places))

    def number_of(self, column: Column) -> int:
        """The number of a made column in its shape."""
        return self.made.setdefault(column.identity, len(self.made))

    def guarded(self, image: Image) -> bool:
        """Whether a struct around this place is null in rows that lack `image`."""
        if image is Image.KEY:
            return any(guard in (Image.OLD, Image.NEW, Image.KEY) for guard in self.guards)
        return image in self.guards

    def presence(self, node: Cell | Column, null: bytes, rest: tuple[int, ...] = ()) -> int:
        """Add a PRESENCE instruction, which continues after its struct if `node` is null."""
        if isinstance(node, Column):
            a, b = code.MADE, self.number_of(node)
        else:
            self.reads(node)
            a, b = int(node.image), node.column
        at = self.add(code.PRESENCE, a, b, null=null, rest=rest)
        self.decides(at, node)
        return at

    def decides(self, at: int, node: Cell | Column) -> None:
        """Let the PRESENCE instruction `at` depend on `node`; if `node` replaces nulls, the value
        is never null."""
        kinds = 0
        if node.null is None:
            has_stand_in = isinstance(node, Cell) and node.unavailable is not None
            kinds = code.NULLS if has_stand_in else code.NULLS | code.UNAVAILABLES
        if node.encoding is Encoding.PYTHON:
            # A part of a value may be null although the value is not.
            kinds |= code.DECODED
            self._cells[at] = lambda raw: None if node.decode(raw) is None else b""
            self._nodes[at] = node
        self.instructions[at][code.ABSENT_KINDS // 8] = kinds

    def keep(self, parts: Sequence[Span]) -> None:
        """Render each of these parts (instructions [first, last), in order) only once per
        transaction, and keep its text for the transaction's other rows. Jumps enter a part only at
        its beginning, and leave it only to its end."""
        size = code.TEXT_BEGIN + code.MAX_TEXT_BYTES + PADDING
        self._kept_texts = kept_texts = np.zeros((len(parts), size), np.uint8)
        places = Places(parts)
        self.jumps = [
            (places.of(at), word, places.target(at, target)) for at, word, target in self.jumps
        ]
        rest = [0] * (self.words - 2)
        for number, (first, last) in reversed(list(enumerate(parts))):
            kept_text = address_of(kept_texts) + number * size
            self.instructions.insert(last, [code.KEEP, kept_text, *rest])
            self.instructions.insert(first, [code.KEPT, kept_text, *rest])
            self.jumps.append((places.of(first) - 1, code.B, places.target(-1, last)))
        self._cells = {places.of(at): render for at, render in self._cells.items()}
        self._failures = {places.of(at): render for at, render in self._failures.items()}
        self._nodes = {places.of(at): node for at, node in self._nodes.items()}
        self._choices = [(places.of(at), texts) for at, texts in self._choices]

    def finish(self) -> Program:
        """Return the program."""
        table = np.array(self.instructions, np.int64).reshape(-1, self.words)
        buffer = self._fragments.buffer()
        base, start = address_of(buffer), address_of(table)
        size = 8 * self.words
        table[:, [4, 6, 8]] += base
        for at, offset, target in self.jumps:
            table[at, offset // 8] = start + target * size
        keep = [table, buffer, self._kept_texts]
        for at, texts in self._choices:
            choice = np.array([(base + place, length) for place, length in texts], np.int64)
            table[at, code.B // 8] = address_of(choice)
            keep.append(choice)
        return Program(
            start,
            self.form,
            self.largest,
            max(self._growth.values(), default=0),
            self._columns.get(False, 0),
            self._columns.get(True, 0),
            self.guard,
            self.counted,
            self.has_documents,
            {start + at * size: render for at, render in self._cells.items()}
            | {start + at * size + 1: render for at, render in self._failures.items()},
            {start + at * size + null: node for at, node in self._nodes.items() for null in (0, 1)},
            tuple(keep),
        )


def offset_of(field: RowField) -> int:
    """Return the byte offset of the field in a row; raises HeadraceError if it is neither a 64-bit
    number nor a character."""
    if field.character:
        return _offset_of_byte(field.name)
    if ROW[field.name] != np.dtype("<i8"):
        raise _not_printed(f"the row's field {field.name} is {ROW[field.name]}, not an int64")
    return offset_in_row(field.name)


def offset_of_choice(choice: Choice) -> int:
    """Return the byte offset in a row of the byte that a choice depends on."""
    return _offset_of_byte(choice.name)


def _offset_of_byte(name: str) -> int:
    if ROW[name] != np.dtype("u1"):
        raise _not_printed(f"the row's field {name} is {ROW[name]}, not a byte")
    return offset_in_row(name)


def offset_of_number(field: Numbered) -> int:
    """Return the byte offset of the field in a transaction."""
    offset = offset_in_transaction(field.name)
    if offset >= TRANSACTION_NUMBERS * 8:
        raise _not_printed(f"the transaction's field {field.name} is an address")
    return offset


def offset_of_instant(instant: Instant) -> int:
    """Return the byte offset of an instant's number in a row or its transaction."""
    if isinstance(instant.node, RowField):
        return offset_of(instant.node)
    return offset_of_number(instant.node)


def _not_printed(message: str) -> HeadraceError:
    return HeadraceError(
        "converters.row_field_not_printed",
        message,
        "This is a defect of a connector or transform; report it.",
    )
