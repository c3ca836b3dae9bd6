"""The layout of a record in an image: a cell for each leaf of its schemas, in order.

A struct that may be null, and the root of a part, has a cell before those of its members that says
whether it is present. Arrays and maps are one cell each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headrace.connect.encoding import Encoding
from headrace.connect.evaluation.columns import cell_of, form_of
from headrace.connect.images import BINARY, NULL
from headrace.connect.json_values import MAX_CELLS
from headrace.connect.records import Cell, Image, Node, Struct
from headrace.connect.schema import Schema, Type

PRESENT = (BINARY, b"\1")
"""The presence cell of a struct that is not null."""
_FLAG = Schema(Type.BOOLEAN, optional=True)


def has_presence(schema: Schema, *, is_root: bool) -> bool:
    """Return whether values of `schema` have a presence cell."""
    return schema.type is Type.STRUCT and (schema.optional or is_root)


@dataclass
class Layout:
    """Assigns the cells of an image to schemas; `columns` is the number of cells so far.

    `fills_nulls`: a null is read as its schema's default. `most_cells`: the largest number of
    values in one cell.
    """

    columns: int = 0
    fills_nulls: bool = False
    most_cells: int = MAX_CELLS

    def cell(self, schema: Schema, encoding: Encoding | None = None) -> Cell:
        """Return the next cell, in the form of values of `schema`."""
        null = schema.default if self.fills_nulls else None
        if encoding is None:
            encoding, parameter, decode = form_of(schema, self.most_cells)
        else:
            parameter, decode = 0, bool
        self.columns += 1
        return Cell(schema, Image.NEW, self.columns - 1, encoding, parameter, decode, null)

    def node(self, schema: Schema, *, is_root: bool = False) -> Node:
        """Return the node of a schema; its cells are in the order of `cells_of`."""
        if schema.type is not Type.STRUCT:
            return self.cell(schema)
        presence = None
        if has_presence(schema, is_root=is_root):
            presence = self.cell(_FLAG, Encoding.BINARY_BOOLEAN)
        members = tuple(self.node(field.schema) for field in schema.fields)
        return Struct(schema, members, presence=presence)


def column_count(schema: Schema, *, is_root: bool = True) -> int:
    """Return the number of cells of a value of `schema`."""
    if schema.type is not Type.STRUCT:
        return 1
    inner = sum(column_count(field.schema, is_root=False) for field in schema.fields)
    return inner + has_presence(schema, is_root=is_root)


def cells_of(schema: Schema, value: object, *, is_root: bool = True) -> list[tuple[int, bytes]]:
    """Return the cells of a Connect value: a kind and its bytes each."""
    if schema.type is not Type.STRUCT:
        return [cell_of(schema, value)]
    cells: list[tuple[int, bytes]] = []
    if has_presence(schema, is_root=is_root):
        cells.append((NULL, b"") if value is None else PRESENT)
    for field in schema.fields:
        inner = value.get(field.name) if isinstance(value, Mapping) else None
        cells += cells_of(field.schema, inner, is_root=False)
    return cells
