"""What node trees say about a row, in plain Python: the reference for the compiled pass."""

from __future__ import annotations

import ctypes
import json
import struct

import numpy as np

from headrace.connect.json_values import quote
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
from headrace.connect.rows import NULL, RowTable
from headrace.connect.schema import Schema
from headrace.converters.json.values import JsonOptions, render, render_cell

NOW = 1_790_000_000_123_456_789
"""Nanoseconds: the processing time of tests that freeze the clock."""
_CLOCK = {"ms": NOW // 1_000_000, "us": NOW // 1_000, "ns": NOW}


def cells_of(address: int) -> list[tuple[str, bytes]]:
    """(kind, text) of each cell of an image at an address of this process."""
    (count,) = struct.unpack("!H", ctypes.string_at(address, 2))
    address += 2
    cells = []
    for _ in range(count):
        kind = ctypes.string_at(address, 1).decode()
        address += 1
        text = b""
        if kind in "tb":
            (length,) = struct.unpack("!I", ctypes.string_at(address, 4))
            text = ctypes.string_at(address + 4, length)
            address += 4 + length
        cells.append((kind, text))
    return cells


class PlainRenderer:
    """The JSON of nodes for the rows of one table."""

    def __init__(self, table: RowTable, options: JsonOptions) -> None:
        self.table = table
        self.options = options

    def root(self, node: Node, number: int) -> str | None:
        """A whole key or value; None where it is absent."""
        text = self.node(node, number)
        if text == "null":
            return None
        if self.options.schemas_enable:
            return f'{{"schema":{node.schema.json},"payload":{text}}}'
        return text

    def node(self, node: Node, number: int) -> str:
        """One node for the row `number` of the table."""
        row = self.table.rows[number]
        transaction = self.table.transactions[row["transaction"]]
        match node:
            case Struct():
                if node.image is not None and _image(row, transaction, node.image) == 0:
                    return "null"
                members = (
                    f"{quote(field.name)}:{self.node(member, number)}"
                    for field, member in zip(node.schema.fields, node.members, strict=True)
                )
                return "{" + ",".join(members) + "}"
            case Cell():
                return self._cell(node, row, transaction)
            case RowField():
                value = int(row[node.name])
                if node.character:
                    return quote(chr(value)) if value else "null"
                return str(value)
            case TransactionField():
                value = int(transaction[node.name])
                return self._null(node.schema) if value == NULL else str(value)
            case OrderField():
                assert self.table.orders is not None
                return str(int(self.table.orders[number][node.name]))
            case Choice():
                text = dict(node.texts).get(int(row[node.name]), node.otherwise)
                return self._null(node.schema) if text is None else quote(text)
            case Concat():
                parts = [self._part(part, number) for part in node.parts]
                if None in parts:
                    return self._null(node.schema)
                return quote("".join(part for part in parts if part is not None))
            case ProcessingTime():
                return str(_CLOCK[node.unit])
            case Constant():
                return render(node.schema, node.value, self.options)

    def _part(self, part: Part, number: int) -> str | None:
        text = self.node(part.node, number)
        if text == "null":
            return part.null
        return part.before + (json.loads(text) if text[0] == '"' else text) + part.after

    def _null(self, schema: Schema) -> str:
        if schema.default is None:
            return "null"
        return render(schema, None, self.options)

    def _cell(self, node: Cell, row: np.void, transaction: np.void) -> str:
        address = _image(row, transaction, node.image)
        if address == 0:
            return self._null(node.schema)
        cells = cells_of(address)
        kind, text = cells[node.column] if node.column < len(cells) else ("n", b"")
        if kind == "u" and node.image in (Image.NEW, Image.COUNTERPART, Image.KEY):
            before = int(row["old"]) or int(row["counterpart"])
            known = cells_of(before)[node.column] if before else ("u", b"")
            if known[0] in "tb":
                kind, text = known
        if kind in "tb":
            return render_cell(node, text, self.options).decode()
        value = node.unavailable if kind == "u" else None
        if value is None:
            value = node.null
        return (
            self._null(node.schema) if value is None else render(node.schema, value, self.options)
        )


def _image(row: np.void, transaction: np.void, image: Image) -> int:
    if image is Image.TRANSACTION:
        return int(transaction["image"])
    if image is Image.KEY:
        return int(row["new"]) or int(row["old"])
    return int(row[image.name.lower()])
