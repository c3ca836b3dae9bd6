"""The value that a node tree has in a row, in plain Python: the reference for all that reads
trees."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import numpy as np

from headrace.connect.images import NO_CELL, NULL, UNAVAILABLE
from headrace.connect.records import (
    Cell,
    Cells,
    Choice,
    Column,
    ColumnIdentity,
    Concat,
    Constant,
    Guarded,
    Image,
    Instant,
    Node,
    OrderField,
    ProcessingTime,
    RowField,
    Struct,
    TextPart,
    TransactionField,
)
from headrace.connect.rows import NULL as NO_NUMBER
from headrace.connect.rows import RowTable
from headrace.converters.binary.texts import java_text

NOW = 1_790_000_000_123_456_789
"""Nanoseconds: the processing time of tests that freeze the clock."""
_CLOCK = {"ms": NOW // 1_000_000, "us": NOW // 1_000, "ns": NOW}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_INSTANT = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)


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


class PlainValues:
    """The values of nodes for the rows of one table, and the made columns over it."""

    def __init__(
        self, table: RowTable, columns: Mapping[ColumnIdentity, Cells] | None = None
    ) -> None:
        self.table = table
        self.columns = columns or {}

    def value(self, node: Node, number: int) -> object:
        """None is null; structs are dictionaries."""
        row = self.table.rows[number]
        transaction = self.table.transactions[row["transaction"]]
        match node:
            case Struct():
                if self.is_absent(node, number):
                    return None
                names = (field.name for field in node.schema.fields)
                members = (self.value(member, number) for member in node.members)
                return dict(zip(names, members, strict=True))
            case Guarded():
                return None if self.is_absent(node, number) else self.value(node.node, number)
            case Cell():
                return _cell(node, row, transaction)
            case Column():
                return self._column(node, number)
            case RowField():
                value = int(row[node.name])
                return (chr(value) if value else None) if node.character else value
            case TransactionField():
                value = int(transaction[node.name])
                return None if value == NO_NUMBER else value
            case OrderField():
                assert self.table.orders is not None
                return int(self.table.orders[number][node.name])
            case Choice():
                return dict(node.texts).get(int(row[node.name]), node.otherwise)
            case Concat():
                parts = [self._part(part, number) for part in node.parts]
                return None if None in parts else "".join(part or "" for part in parts)
            case ProcessingTime():
                return _CLOCK[node.unit]
            case Instant():
                value_of_number = self.value(node.node, number)
                assert value_of_number is None or isinstance(value_of_number, int)
                return _instant(value_of_number)
            case Constant():
                return node.value

    def is_absent(self, node: Struct | Guarded, number: int) -> bool:
        """Whether the row lacks the node's image, or its presence is null."""
        row = self.table.rows[number]
        transaction = self.table.transactions[row["transaction"]]
        if node.image is not None and not _image(row, transaction, node.image):
            return True
        return node.presence is not None and self.value(node.presence, number) is None

    def _part(self, part: TextPart, number: int) -> str | None:
        value = self.value(part.node, number)
        if value is None and not isinstance(part.node, TransactionField):
            value = part.node.schema.default
        if value is None:
            return part.null
        return part.before + java_text(part.node.schema, value) + part.after

    def _column(self, node: Column, number: int) -> object:
        kind, address, length = self.columns[node.identity].table[number].tolist()
        if kind in (NO_CELL, NULL, UNAVAILABLE):
            return node.null
        return node.decode(ctypes.string_at(address, length))


def value_of(node: Node, table: RowTable, number: int) -> object:
    """The value of a node that shows no made columns."""
    return PlainValues(table).value(node, number)


def _instant(milliseconds: int | None) -> str | None:
    if milliseconds is None or not 0 <= milliseconds <= _LAST_INSTANT:
        return None
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _cell(node: Cell, row: np.void, transaction: np.void) -> object:
    address = _image(row, transaction, node.image)
    if address == 0:
        return None
    kind, text = _column_of(address, node.column)
    if kind == "u" and node.image in (Image.NEW, Image.COUNTERPART, Image.KEY):
        before = int(row["old"]) or int(row["counterpart"])
        stand_in = _column_of(before, node.column) if before else ("u", b"")
        if stand_in[0] in "tb":
            kind, text = stand_in
    if kind in "tb":
        return node.decode(text)
    return node.unavailable if kind == "u" and node.unavailable is not None else node.null


def _column_of(address: int, column: int) -> tuple[str, bytes]:
    """A column that an image lacks is null."""
    cells = cells_of(address)
    return cells[column] if column < len(cells) else ("n", b"")


def _image(row: np.void, transaction: np.void, image: Image) -> int:
    if image is Image.TRANSACTION:
        return int(transaction["image"])
    if image is Image.KEY:
        return int(row["new"]) or int(row["old"])
    return int(row[image.name.lower()])
