"""The leaves of a schema as a table of fields, which the kernels that decode bytes read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.connect.evaluation.layouts import has_presence
from headrace.connect.json_values import quote
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.schema import DECIMAL, Schema, Type, decimal_scale

# Words of a field, int64 each, as offsets in bytes.
KIND, COLUMN, FIRST, COUNT, NAME, NAME_LENGTH, PARAMETER, UNION = (8 * i for i in range(8))
"""`COLUMN` is the column of the field's cell in the image; -1: a struct without one. `FIRST` is the
address of the first of `COUNT` members. `NAME` is the name as JSON writes it, without quotes.
`PARAMETER` is the size of an integer in bytes, that of a float in bits, or the scale of a decimal.
`UNION` is the branch of null in Avro's union; -1: the type is not a union."""
FIELD_BYTES = 64
STRUCT, INTEGER, FLOAT, BOOLEAN, STRING, BYTES, DECIMAL_BYTES, TEXT_OF_JSON, OTHER = range(9)
"""Kinds of fields. `TEXT_OF_JSON` is a value without a schema. Of `OTHER` fields the kernel reads
only nulls; their JSON is kept, and decoded when the value is needed."""

# Words of a column.
OWNER, REQUIRED = 0, 8
"""`REQUIRED`: a null is an error, unless the column OWNER, that of the enclosing struct, is null
(-1: no enclosing struct has a column)."""
COLUMN_BYTES = 16

NO_UNION = -1
_SIZES = {Type.INT8: 1, Type.INT16: 2, Type.INT32: 4, Type.INT64: 8}
_PLAIN = {Type.BOOLEAN: BOOLEAN, Type.STRING: STRING, Type.ANY: TEXT_OF_JSON}
_MAX_SCALE = 40
"""The largest scale of decimals that kernels read."""


def kind_of(schema: Schema) -> tuple[int, int]:
    """The kind and parameter of a schema."""
    if schema.type in _SIZES:
        return INTEGER, _SIZES[schema.type]
    if schema.type in (Type.FLOAT32, Type.FLOAT64):
        return FLOAT, 32 if schema.type is Type.FLOAT32 else 64
    if schema.type is Type.BYTES and schema.name == DECIMAL:
        scale = decimal_scale(schema)
        return (DECIMAL_BYTES, scale) if 0 <= scale <= _MAX_SCALE else (OTHER, 0)
    if schema.type is Type.BYTES:
        return BYTES, 0
    if schema.type is Type.STRUCT:
        return STRUCT, 0
    return _PLAIN.get(schema.type, OTHER), 0


@dataclass(frozen=True, eq=False)
class FieldTable:
    """The fields of a key or value, root first, and its columns.

    `fields` and `columns` are int64, a row each; the first row of `columns` is the first column of
    this key or value.
    `memory` owns the bytes that the fields point to.
    """

    fields: np.ndarray
    columns: np.ndarray
    memory: np.ndarray

    @property
    def address(self) -> int:
        """The address of the root."""
        return address_of(self.fields)


class _Walk:
    """Collects the fields of a schema, the members of a struct next to each other."""

    def __init__(self, column: int, *, fills_nulls: bool) -> None:
        self.fields: list[list[int]] = []
        self.columns: list[tuple[int, int]] = []
        self.names = bytearray()
        self.next_column = column
        self.fills_nulls = fills_nulls

    def column(self, schema: Schema, owner: int) -> int:
        has_default = schema.default is not None and self.fills_nulls
        self.columns.append((owner, int(not schema.optional and not has_default)))
        self.next_column += 1
        return self.next_column - 1

    def place(self, entries: list[tuple[bytes, int]]) -> int:
        """Append fields with these names and branches of null; returns the number of the first."""
        first = len(self.fields)
        for name, union in entries:
            self.fields.append([0, -1, 0, 0, len(self.names), len(name), 0, union])
            self.names += name
        return first

    def fill(
        self, number: int, schema: Schema, shape: UnionShape, owner: int, *, is_root: bool
    ) -> None:
        kind, parameter = kind_of(schema)
        field = self.fields[number]
        field[0], field[6] = kind, parameter
        if kind != STRUCT:
            field[1] = self.column(schema, owner)
            return
        if has_presence(schema, is_root=is_root):
            owner = field[1] = self.column(schema, owner)
        members = schema.fields
        unions = [shape.member(index) for index in range(len(members))]
        first = self.place(
            [(json_name(m.name), union.null) for m, union in zip(members, unions, strict=True)]
        )
        field[2], field[3] = first, len(members)
        for index, (member, union) in enumerate(zip(members, unions, strict=True)):
            self.fill(first + index, member.schema, union, owner, is_root=False)


@dataclass(frozen=True)
class UnionShape:
    """The place of null in the Avro unions of a schema: `null` is its branch, or NO_UNION;
    `members` are the shapes of a struct's members."""

    null: int = NO_UNION
    members: tuple[UnionShape, ...] = ()

    def member(self, index: int) -> UnionShape:
        """The unions of a member of a struct."""
        return self.members[index] if self.members else NO_UNIONS


NO_UNIONS = UnionShape()


def json_name(name: str) -> bytes:
    """A member's name in JSON as Jackson writes it, without quotes."""
    return quote(name).encode()[1:-1]


def field_table(
    schema: Schema, column: int, unions: UnionShape = NO_UNIONS, *, fills_nulls: bool
) -> FieldTable:
    """The fields of a part whose first column is `column`."""
    walk = _Walk(column, fills_nulls=fills_nulls)
    walk.place([(b"", unions.null)])
    walk.fill(0, schema, unions, -1, is_root=True)
    fields = np.array(walk.fields, np.int64)
    memory = np.frombuffer(bytes(walk.names) + bytes(PADDING), np.uint8).copy()
    fields[:, 2] = address_of(fields) + FIELD_BYTES * fields[:, 2]
    fields[:, 4] += address_of(memory)
    return FieldTable(fields, np.array(walk.columns, np.int64).reshape(-1, 2), memory)
