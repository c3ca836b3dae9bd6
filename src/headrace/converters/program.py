"""Node trees compiled to the instruction lists that `json_kernel` runs."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.memory import PADDING, address_of
from headrace.connect.records import (
    Cell,
    Constant,
    Image,
    LsnPair,
    Marker,
    Node,
    OrderField,
    ProcessingTime,
    RowField,
    Struct,
    TransactionField,
    TransactionLsn,
)
from headrace.connect.rows import MARKERS, ORDER, offset_in_row, offset_in_transaction
from headrace.connect.schema import Schema
from headrace.converters import json_kernel as code
from headrace.converters.json_values import JsonOptions, quote, render

_CLOCKS = {"ms": code.CLOCK_MS, "us": code.CLOCK_US, "ns": code.CLOCK_NS}
_LARGEST_NUMBER = 64  # bytes that a number, an LSN pair or a cell's frame may take beside its text


@dataclass(frozen=True, eq=False)
class Program:
    """Instructions, and the memory that they point into.

    `largest` is what one row may take in bytes beside six times its own text. `cells` maps the
    address of an instruction to the cell that Python renders when the kernel cannot.
    """

    address: int
    largest: int
    cells: dict[int, Cell]
    memory: tuple[object, ...]


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
        self.jumps: list[tuple[int, int]] = []
        self.choices: list[tuple[int, list[tuple[int, int]]]] = []
        self.largest = PADDING

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
                encoding = node.encoding
                if encoding is Encoding.DECIMAL and self.options.decimal_numeric:
                    encoding = Encoding.PYTHON
                null = self.absent(node.schema, node.null)
                unavailable = null
                if node.unavailable is not None:
                    unavailable = self.constant(node.schema, node.unavailable)
                at = self.add(
                    code.CELL,
                    int(node.image),
                    node.column,
                    (node.parameter << 8) | int(encoding),
                    null,
                    unavailable,
                )
                self.cells[at] = node
            case RowField():
                operation = code.ROW_CHARACTER if node.character else code.ROW_INT
                self.add(operation, offset_in_row(node.name))
            case TransactionField():
                self.add(
                    code.TRANSACTION_INT,
                    offset_in_transaction(node.name),
                    null=self.absent(node.schema, None),
                )
            case OrderField():
                fields = ORDER.fields
                assert fields is not None
                self.add(code.ORDER_INT, int(fields[node.name][1]))
            case TransactionLsn():
                self.add(code.TRANSACTION_LSN)
            case Marker():
                at = self.add(code.CHOICE, offset_in_row("marker"))
                texts = [self.fragments.place(json.dumps(m).encode()) for m in MARKERS]
                self.choices.append((at, texts))
            case LsnPair():
                self.add(code.LSN_PAIR)
            case ProcessingTime():
                self.add(code.CLOCK, _CLOCKS[node.unit])
            case Constant():
                self.pending += self.constant(node.schema, node.value)

    def struct(self, node: Struct) -> None:
        opening = None
        if node.image is not None and node.image is not Image.KEY:
            opening = self.add(code.STRUCT, int(node.image))
        lead = b"{"
        for field, member in zip(node.schema.fields, node.members, strict=True):
            self.pending += lead + quote(field.name).encode() + b":"
            lead = b","
            self.node(member)
        self.pending += b"}" if node.members else b"{}"
        if opening is not None:
            self.add(code.NOTHING)
            self.jumps.append((opening, len(self.instructions)))

    def finish(self) -> Program:
        self.add(code.END)
        table = np.array(self.instructions, np.int64)
        buffer = self.fragments.buffer()
        base, start = address_of(buffer), address_of(table)
        table[:, 4] += base
        table[:, 6] += base
        table[:, 8] += base
        for at, target in self.jumps:
            table[at, 2] = start + target * code.SIZE
        keep: list[object] = [table, buffer]
        for at, texts in self.choices:
            choice = np.array([(base + place, length) for place, length in texts], np.int64)
            table[at, 2] = address_of(choice)
            keep.append(choice)
        cells = {start + at * code.SIZE: cell for at, cell in self.cells.items()}
        return Program(start, self.largest, cells, tuple(keep))


def compile_program(node: Node, options: JsonOptions) -> Program:
    """The program that renders `node` as JsonConverter does, with its schema around it where
    `options.schemas_enable` says so."""
    compiler = _Compiler(options)
    if options.schemas_enable:
        compiler.pending += b'{"schema":' + node.schema.json.encode() + b',"payload":'
    compiler.node(node)
    if options.schemas_enable:
        compiler.pending += b"}"
    return compiler.finish()
