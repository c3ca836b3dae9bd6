"""Node trees compiled to the instruction lists that `headrace.converters.kernel` runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import (
    Cell,
    Choice,
    Concat,
    Constant,
    Image,
    Node,
    OrderField,
    Part,
    ProcessingTime,
    RowField,
    Struct,
    TransactionField,
)
from headrace.connect.rows import (
    ORDER,
    ROW,
    TRANSACTION_NUMBERS,
    offset_in_row,
    offset_in_transaction,
)
from headrace.connect.schema import Schema
from headrace.converters import kernel as code
from headrace.converters.json.values import JsonOptions, quote, render
from headrace.errors import HeadraceError

_CLOCKS = {"ms": code.CLOCK_MS, "us": code.CLOCK_US, "ns": code.CLOCK_NS}
_LARGEST_NUMBER = 64  # bytes that a number or a cell's frame may take beside its text
_GROWTH = 6  # bytes of JSON for a byte of text: a control character is an escape
_UNESCAPED = (Encoding.RAW, Encoding.JSON, Encoding.HEX, Encoding.BYTES_HEX, Encoding.PYTHON)
"""Encodings of which the compiled pass writes no more bytes than the text has."""


@dataclass(frozen=True, eq=False)
class Program:
    """Instructions, and the memory that they point into.

    A row takes at most `largest` bytes, and `growth` bytes for each byte of its images, because
    a text may be shown several times. `columns` is how many columns of an image are read,
    `source_columns` of an image of source fields; `guard` is what a row must have, or the root is
    null. `counted` says whether the rows' order in their transaction is read. `cells` maps the
    address of an instruction to the cell that Python renders when the kernel cannot.
    """

    address: int
    largest: int
    growth: int
    columns: int
    source_columns: int
    guard: int
    counted: bool
    cells: dict[int, Cell]
    memory: tuple[np.ndarray, ...]


_B, _C = code.B // 8, code.C // 8  # words of an instruction


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


class _Compiler:
    def __init__(self, options: JsonOptions) -> None:
        self.options = options
        self.fragments = _Fragments()
        self.instructions: list[list[int]] = []
        self.pending = b""
        self.cells: dict[int, Cell] = {}
        self.jumps: list[tuple[int, int, int]] = []  # instruction, its word, target
        self.choices: list[tuple[int, list[tuple[int, int]]]] = []
        self.largest = PADDING
        self.growth: dict[int, int] = {}  # bytes of JSON for a byte, by column
        self.source_growth: dict[int, int] = {}
        self.counted = False
        self.guards: tuple[Image, ...] = ()
        self.guard = code.ALWAYS

    def add(
        self,
        operation: int,
        a: int = 0,
        b: int = 0,
        c: int = 0,
        null: bytes = b"null",
        unavailable: bytes = b"",
    ) -> int:
        prefix = self.fragments.place(self.pending)
        self.largest += len(self.pending) + max(len(null), len(unavailable)) + _LARGEST_NUMBER
        self.pending = b""
        self.instructions.append(
            [
                operation,
                a,
                b,
                c,
                *prefix,
                *self.fragments.place(null),
                *self.fragments.place(unavailable),
            ]
        )
        return len(self.instructions) - 1

    def constant(self, schema: Schema, value: object) -> bytes:
        return render(schema, value, self.options).encode()

    def absent(self, schema: Schema, value: object) -> bytes:
        # A required column without a made-up value never is null on the wire.
        if value is None and not schema.optional and schema.default is None:
            return b"null"
        return self.constant(schema, value)

    def node(self, node: Node) -> None:
        match node:
            case Struct():
                self.struct(node)
            case Cell():
                if self.guarded(node.image):
                    self.cell(node)
                    return
                # Null where the row lacks the image.
                null = self.absent(node.schema, None)
                opening = self.add(code.STRUCT, int(node.image), null=null)
                self.cell(node)
                self.jumps.append((opening, _B, len(self.instructions)))
            case RowField():
                operation = code.ROW_CHARACTER if node.character else code.ROW_INT
                self.add(operation, _offset_of(node))
            case TransactionField():
                self.add(
                    code.TRANSACTION_INT,
                    _offset_in_transaction(node),
                    null=self.absent(node.schema, None),
                )
            case OrderField():
                fields = ORDER.fields
                assert fields is not None
                self.counted = True
                self.add(code.ORDER_INT, int(fields[node.name][1]))
            case Choice():
                self.choice(node)
            case Concat():
                self.concat(node)
            case ProcessingTime():
                self.add(code.CLOCK, _CLOCKS[node.unit])
            case Constant():
                self.pending += self.constant(node.schema, node.value)

    def guarded(self, image: Image) -> bool:
        """Whether a struct around this place is null in rows that lack `image`."""
        if image is Image.KEY:
            return any(guard in (Image.OLD, Image.NEW, Image.KEY) for guard in self.guards)
        return image in self.guards

    def cell(self, node: Cell) -> None:
        encoding = node.encoding
        if encoding is Encoding.DECIMAL and self.options.decimal_numeric:
            encoding = Encoding.PYTHON
        null = self.absent(node.schema, node.null)
        unavailable = null
        if node.unavailable is not None:
            unavailable = self.constant(node.schema, node.unavailable)
        parameter = (node.parameter << 8) | int(encoding)
        at = self.add(code.CELL, int(node.image), node.column, parameter, null, unavailable)
        self.cells[at] = node
        # A column's cell may show the text of any image: unavailable ones show another's.
        growth = 1 if encoding in _UNESCAPED else _GROWTH
        of_source = node.image in (Image.EXTRA, Image.TRANSACTION)
        totals = self.source_growth if of_source else self.growth
        totals[node.column] = totals.get(node.column, 0) + growth

    def choice(self, node: Choice) -> None:
        texts = dict(node.texts)
        last = max(texts, default=-1) + 1
        choices = [texts.get(value, node.otherwise) for value in range(last)] + [node.otherwise]
        at = self.add(code.CHOICE, _offset_of_byte(node.name), c=last)
        rendered = [
            self.absent(node.schema, None) if text is None else self.constant(node.schema, text)
            for text in choices
        ]
        self.largest += max(map(len, rendered))
        self.choices.append((at, [self.fragments.place(text) for text in rendered]))

    def concat(self, node: Concat) -> None:
        """A number is printed where it belongs; another node is rendered as JSON, and the kernel
        takes its quotes off."""
        null = self.absent(node.schema, None)
        required = [n for n, part in enumerate(node.parts) if part.null is None]
        if any(n > 0 or not _is_number(node.parts[n]) for n in required):
            self.add(code.TEXT_MARK)
        self.pending += b'"'
        to_end: list[tuple[int, int]] = []
        for number, part in enumerate(node.parts):
            before, after = _in_quotes(part.before), _in_quotes(part.after)
            self.pending += before
            # Where the part is null: what is shown, and how many bytes are taken back for it.
            shown, back = null, code.TO_MARK
            if part.null is not None:
                shown, back = _in_quotes(part.null), len(before)
            elif number == 0 and _is_number(part):
                back = len(before) + 1
            match part.node:
                case RowField(character=False):
                    self.node(part.node)
                    self.pending += after
                    continue
                case TransactionField():
                    offset = _offset_in_transaction(part.node)
                    at = self.add(code.TRANSACTION_INT, offset, back, 0, shown, after)
                    if part.null is None:
                        to_end.append((at, _C))
                    continue
                case _:
                    self.add(code.PART_BEGIN)
                    self.node(part.node)
                    at = self.add(code.PART_END, back, null=shown)
            self.pending += after
            if part.null is None:
                to_end.append((at, _B))
            else:
                self.add(code.NOTHING)
                self.jumps.append((at, _B, len(self.instructions)))
        self.pending += b'"'
        if to_end:
            self.add(code.NOTHING)
            self.jumps += [(at, word, len(self.instructions)) for at, word in to_end]

    def members(self, node: Struct) -> None:
        lead = b"{"
        for field, member in zip(node.schema.fields, node.members, strict=True):
            self.pending += lead + quote(field.name).encode() + b":"
            lead = b","
            self.node(member)
        self.pending += b"}" if node.members else b"{}"

    def struct(self, node: Struct) -> None:
        if node.image is None or self.guarded(node.image):
            self.members(node)
            return
        opening = self.add(code.STRUCT, int(node.image))
        around = self.guards
        self.guards = (*around, node.image)
        self.members(node)
        self.guards = around
        self.add(code.NOTHING)
        self.jumps.append((opening, _B, len(self.instructions)))

    def root(self, node: Node, lead: bytes, tail: bytes) -> None:
        """The whole program; where `node` is null, the guard says so or it answers NO_VALUE."""
        self.pending = lead
        if not isinstance(node, Struct):
            self.node(node)
            self.pending += tail
            self.add(code.END_UNLESS_NULL, len(lead), len(lead) + len(b"null") + len(tail))
            return
        if node.image is not None:
            self.guard = code.GUARDS[node.image]
            self.guards = (node.image,)
        self.members(node)
        self.pending += tail
        self.add(code.END)

    def finish(self) -> Program:
        table = np.array(self.instructions, np.int64)
        buffer = self.fragments.buffer()
        base, start = address_of(buffer), address_of(table)
        table[:, 4] += base
        table[:, 6] += base
        table[:, 8] += base
        for at, word, target in self.jumps:
            table[at, word] = start + target * code.SIZE
        keep = [table, buffer]
        for at, texts in self.choices:
            choice = np.array([(base + place, length) for place, length in texts], np.int64)
            table[at, 2] = address_of(choice)
            keep.append(choice)
        cells = {start + at * code.SIZE: cell for at, cell in self.cells.items()}
        return Program(
            start,
            self.largest,
            max((*self.growth.values(), *self.source_growth.values()), default=0),
            max(self.growth, default=-1) + 1,
            max(self.source_growth, default=-1) + 1,
            self.guard,
            self.counted,
            cells,
            tuple(keep),
        )


def _is_number(part: Part) -> bool:
    """Whether the part's node prints nothing but digits, or is null."""
    return isinstance(part.node, TransactionField) or (
        isinstance(part.node, RowField) and not part.node.character
    )


def _in_quotes(text: str) -> bytes:
    """A text as a JSON string, its quotes left out."""
    return quote(text).encode()[1:-1]


def _offset_of(field: RowField) -> int:
    if field.character:
        return _offset_of_byte(field.name)
    if ROW[field.name] != np.dtype("<i8"):
        raise _not_printed(f"the row's field {field.name} is {ROW[field.name]}, not an int64")
    return offset_in_row(field.name)


def _offset_of_byte(name: str) -> int:
    if ROW[name] != np.dtype("u1"):
        raise _not_printed(f"the row's field {name} is {ROW[name]}, not a byte")
    return offset_in_row(name)


def _offset_in_transaction(field: TransactionField) -> int:
    offset = offset_in_transaction(field.name)
    if offset >= TRANSACTION_NUMBERS * 8:
        raise _not_printed(f"the transaction's field {field.name} is an address")
    return offset


def _not_printed(what: str) -> HeadraceError:
    return HeadraceError(
        "converters.row_field_not_printed",
        what,
        "This is a defect of a connector or transform; report it.",
    )


def compile_program(node: Node, options: JsonOptions) -> Program:
    """The program that renders `node` as JsonConverter does, with its schema around it where
    `options.schemas_enable` says so. Where the node is null there is no text at all."""
    compiler = _Compiler(options)
    lead = tail = b""
    if options.schemas_enable:
        lead, tail = b'{"schema":' + node.schema.json.encode() + b',"payload":', b"}"
    compiler.root(node, lead, tail)
    return compiler.finish()
