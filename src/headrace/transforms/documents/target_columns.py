"""Nodes for documents that are converted to a declared schema, and their columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.images import NO_CELL
from headrace.connect.records import Cells, Column, ColumnIdentity, Node, Records, Struct
from headrace.connect.schema import Field, Schema, Type
from headrace.documents.target_schema.conversion import Converted, node_of
from headrace.documents.target_schema.parts import PartDecoder
from headrace.errors import HeadraceError
from headrace.transforms.documents.struct_form import StructForm

_PRESENCE = Schema(Type.BYTES, optional=True)
_PARTS = (Type.ARRAY, Type.MAP)


@dataclass(frozen=True)
class ColumnTree:
    """A node for the values of a declared schema. `own` is the column of the values, or the column
    that shows which structs are not null; `members` are those of a struct."""

    node: Node
    own: Column
    members: tuple[ColumnTree, ...] = ()

    @staticmethod
    def of(schema: Schema, name: str, form: StructForm) -> ColumnTree:
        """Return the columns of a schema; `name` is that of the schema if it is a struct. Names of
        fields are adjusted as `form` says, and inner structs are named after their paths.

        Raises HeadraceError("transforms.field_name_twice").
        """
        adjusted = named(schema, name, form)
        if schema.type is Type.STRUCT:
            members = tuple(
                ColumnTree.of(field.schema, f"{name}.{form.field(field.name)}", form)
                for field in schema.fields
            )
            presence = Column(_PRESENCE, ColumnIdentity(), Encoding.BYTES, 0, bytes)
            node = Struct(adjusted, tuple(child.node for child in members), presence=presence)
            return ColumnTree(node, presence, members)
        if schema.type in _PARTS:
            decode = PartDecoder(schema, adjusted)
            column = Column(adjusted, ColumnIdentity(), Encoding.PYTHON, 0, decode)
        else:
            column = node_of(schema)
        return ColumnTree(column, column)

    @property
    def fields(self) -> dict[str, Node]:
        """The members of a struct by name."""
        names = (field.name for field in self.node.schema.fields)
        return dict(zip(names, (child.node for child in self.members), strict=True))

    def with_values(self, records: Records, column: Converted, memory: object) -> Records:
        """Return the records with converted values, one per record, in the columns. `memory` owns
        the bytes of the values."""
        cells = dict(self._cells(records, column, memory))
        return replace(records, columns={**records.columns, **cells})

    def _cells(
        self, records: Records, column: Converted, memory: object
    ) -> Iterator[tuple[ColumnIdentity, Cells]]:
        table = np.full((len(records.table), 3), NO_CELL, np.int64)
        table[records.rows] = column.cells
        yield self.own.identity, Cells(table, (column.memory, memory))
        for child, member in zip(self.members, column.members, strict=False):
            yield from child._cells(records, member, memory)


def named(schema: Schema, name: str, form: StructForm) -> Schema:
    """Return a declared schema with names for its structs, and adjusted names of its fields."""
    if schema.type is Type.STRUCT:
        names = [form.field(field.name) for field in schema.fields]
        if len(set(names)) < len(names):
            raise HeadraceError(
                "transforms.field_name_twice",
                f"two fields of {name} have one name after the adjustment",
                "Set field.name.adjustment.mode=avro_unicode, which keeps names distinct.",
            )
        fields = tuple(
            Field(field_name, named(field.schema, f"{name}.{field_name}", form))
            for field_name, field in zip(names, schema.fields, strict=True)
        )
        return replace(schema, name=name, fields=fields)
    if schema.type in _PARTS and schema.values is not None:
        return replace(schema, values=named(schema.values, name, form))
    return schema
