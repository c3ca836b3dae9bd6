"""The value that a node tree has in a row, in plain Python: the reference for the plain forms."""

from __future__ import annotations

import numpy as np

from headrace.connect.records import (
    Cell,
    Choice,
    Concat,
    Constant,
    Guarded,
    Image,
    Instant,
    Node,
    OrderField,
    Part,
    ProcessingTime,
    RowField,
    Struct,
    TransactionField,
)
from headrace.connect.rows import NULL, RowTable
from headrace.converters.plain.texts import java_text
from tests.converters.plain_renderer import NOW, cells_of

_CLOCK = {"ms": NOW // 1_000_000, "us": NOW // 1_000, "ns": NOW}


def value_of(node: Node, table: RowTable, number: int) -> object:
    """None is null; structs are dictionaries."""
    row = table.rows[number]
    transaction = table.transactions[row["transaction"]]
    match node:
        case Struct():
            if node.image is not None and not _image(row, transaction, node.image):
                return None
            names = (field.name for field in node.schema.fields)
            members = (value_of(member, table, number) for member in node.members)
            return dict(zip(names, members, strict=True))
        case Guarded():
            if node.image is not None and not _image(row, transaction, node.image):
                return None
            return value_of(node.node, table, number)
        case Cell():
            return _cell(node, row, transaction)
        case RowField():
            value = int(row[node.name])
            return (chr(value) if value else None) if node.character else value
        case TransactionField():
            value = int(transaction[node.name])
            return None if value == NULL else value
        case OrderField():
            assert table.orders is not None
            return int(table.orders[number][node.name])
        case Choice():
            return dict(node.texts).get(int(row[node.name]), node.otherwise)
        case Concat():
            parts = [_part(part, table, number) for part in node.parts]
            return None if None in parts else "".join(part or "" for part in parts)
        case ProcessingTime():
            return _CLOCK[node.unit]
        case Constant():
            return node.value
    assert not isinstance(node, Instant)
    raise TypeError(type(node).__name__)


def _part(part: Part, table: RowTable, number: int) -> str | None:
    value = value_of(part.node, table, number)
    if value is None and not isinstance(part.node, TransactionField):
        value = part.node.schema.default
    if value is None:
        return part.null
    return part.before + java_text(part.node.schema, value) + part.after


def _cell(node: Cell, row: np.void, transaction: np.void) -> object:
    address = _image(row, transaction, node.image)
    if address == 0:
        return None
    cells = cells_of(address)
    kind, text = cells[node.column] if node.column < len(cells) else ("n", b"")
    if kind == "u" and node.image in (Image.NEW, Image.COUNTERPART, Image.KEY):
        before = int(row["old"]) or int(row["counterpart"])
        known = cells_of(before)[node.column] if before else ("u", b"")
        if known[0] in "tb":
            kind, text = known
    if kind in "tb":
        return node.decode(text)
    return node.unavailable if kind == "u" and node.unavailable is not None else node.null


def _image(row: np.void, transaction: np.void, image: Image) -> int:
    if image is Image.TRANSACTION:
        return int(transaction["image"])
    if image is Image.KEY:
        return int(row["new"]) or int(row["old"])
    return int(row[image.name.lower()])
