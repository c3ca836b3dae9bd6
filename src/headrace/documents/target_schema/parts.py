"""Arrays and maps of a declared schema in cells: a type byte and the bytes of a BSON value, whose
conflicts were resolved when the document was converted."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headrace.connect.images import BINARY, TEXT
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.schema import Schema, Type
from headrace.documents.target_schema.conversion import Converted, converted, node_of
from headrace.documents.target_schema.policies import ConflictPolicy, Conflicts


@dataclass(frozen=True)
class PartDecoder:
    """Decodes cells of an array or map of `schema`, one by one or a whole column. `shown` is the
    same schema with the final names of its structs and fields."""

    schema: Schema
    shown: Schema

    def column(self, cells: np.ndarray) -> Converted:
        """Return the values in cells (int64 of kind, address, length)."""
        return converted(cells, self.schema, Conflicts(ConflictPolicy.NULL)).shown_as(self.shown)

    def __call__(self, raw: bytes) -> object:
        """Return the Connect value in the bytes of a cell."""
        buffer = np.frombuffer(raw + bytes(PADDING), np.uint8)
        cells = np.array([[BINARY, address_of(buffer), len(raw)]], np.int64)
        return connect_values(self.column(cells))[0]


def connect_values(column: Converted) -> list[object]:
    """The Connect values of a column in Python: exact for every type, but slow."""
    valid = column.valid.tolist()
    if column.schema.type is Type.STRUCT:
        names = [field.name for field in column.schema.fields]
        members = [connect_values(member) for member in column.members]
        rows = zip(*members, strict=True)
        return [
            dict(zip(names, row, strict=True)) if is_valid else None
            for row, is_valid in zip(rows, valid, strict=True)
        ]
    if column.ends is not None:
        members = [connect_values(member) for member in column.members]
        ends = column.ends.tolist()
        parts = [[values[begin:end] for values in members] for begin, end in pairwise(ends)]
        is_map = column.schema.type is Type.MAP
        return [
            (dict(zip(*part, strict=True)) if is_map else part[0]) if is_valid else None
            for part, is_valid in zip(parts, valid, strict=True)
        ]
    decode = node_of(column.schema).decode
    return [
        decode(ctypes.string_at(address, length)) if kind in (TEXT, BINARY) else None
        for kind, address, length in column.cells.tolist()
    ]
