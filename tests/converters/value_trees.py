"""Values as rows: a node tree and an image that show one value, cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Cell, Image, Node, Struct
from headrace.connect.rows import ORDER, ROW, TRANSACTION, RowTable
from headrace.connect.schema import DECIMAL, Schema, Type, decimal_scale
from tests.connectors.postgresql.replication.pgoutput import cell, image


class ValueRow:
    """One row whose new image has the cells of a value; `tree` shows them."""

    def __init__(self, schema: Schema, value: object) -> None:
        self._cells: list[bytes] = []
        self.tree = self._node(schema, value)
        raw = image(*self._cells)
        memory = np.frombuffer(raw + bytes(PADDING), np.uint8).copy()
        rows = np.zeros(1, ROW)
        rows["new"], rows["operation"], rows["size"] = address_of(memory), ord("c"), len(raw)
        self.table = RowTable(rows, np.zeros(1, TRANSACTION), (memory,), np.zeros(1, ORDER))

    def _node(self, schema: Schema, value: object) -> Node:
        if schema.type is Type.STRUCT and not schema.optional:
            assert isinstance(value, Mapping)
            members = tuple(self._node(f.schema, value.get(f.name)) for f in schema.fields)
            return Struct(schema, members)
        encoding, parameter, text, decode = _cell(schema, value)
        self._cells.append(cell(None if value is None else text))
        return Cell(schema, Image.NEW, len(self._cells) - 1, encoding, parameter, decode)


def _cell(schema: Schema, value: object) -> tuple[Encoding, int, bytes, Callable[[bytes], object]]:
    """Encoding, parameter, canonical text and decoder of a value."""
    match schema.type:
        case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
            return Encoding.RAW, 0, str(value).encode(), int
        case Type.BOOLEAN:
            return Encoding.BOOLEAN, 0, b"t" if value else b"f", lambda raw: raw == b"t"
        case Type.STRING:
            return Encoding.STRING, 0, str(value).encode(), bytes.decode
        case Type.FLOAT64:
            return Encoding.DOUBLE, 0, str(value).encode(), float
        case Type.FLOAT32:
            return Encoding.FLOAT, 0, str(value).encode(), float
        case Type.BYTES if schema.name == DECIMAL:
            scale = decimal_scale(schema)
            text = b"" if value is None else format(value, "f").encode()  # type: ignore[call-overload]
            return Encoding.DECIMAL, scale, text, lambda raw: Decimal(raw.decode())
        case Type.BYTES:
            raw = value if isinstance(value, bytes) else b""
            return Encoding.BYTES_HEX, 0, b"\\x" + raw.hex().encode(), _bytes
    return Encoding.PYTHON, 0, b"x", lambda _raw: value


def _bytes(raw: bytes) -> bytes:
    return bytes.fromhex(raw[2:].decode())
