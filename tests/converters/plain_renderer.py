"""Rendering of node trees in JSON, in plain Python: the reference for the compiled pass."""

from __future__ import annotations

import json
from collections.abc import Mapping

from headrace.connect.json_values import quote
from headrace.connect.records import (
    Cells,
    ColumnIdentity,
    Concat,
    Constant,
    Guarded,
    Node,
    RowField,
    Struct,
    TextPart,
)
from headrace.connect.rows import RowTable
from headrace.connect.schema import Schema
from headrace.converters.json.values import JsonOptions, render
from tests.converters.plain_values import PlainValues


class PlainRenderer:
    """The JSON of nodes for the rows of one table, and the made columns over it."""

    def __init__(
        self,
        table: RowTable,
        options: JsonOptions,
        columns: Mapping[ColumnIdentity, Cells] | None = None,
    ) -> None:
        self.options = options
        self._values = PlainValues(table, columns)

    def root(self, node: Node, number: int) -> str | None:
        """A whole key or value; None where it is absent."""
        return None if self.node(node, number) == "null" else self.header(node, number)

    def header(self, node: Node, number: int) -> str:
        """A whole header, which may be null."""
        text = self.node(node, number)
        if self.options.schemas_enable:
            return f'{{"schema":{node.schema.json},"payload":{text}}}'
        return text

    def node(self, node: Node, number: int) -> str:
        """One node for the row `number` of the table."""
        match node:
            case Struct():
                if self._values.is_absent(node, number):
                    return "null"
                members = (
                    f"{quote(field.name)}:{self.node(member, number)}"
                    for field, member in zip(node.schema.fields, node.members, strict=True)
                )
                return "{" + ",".join(members) + "}"
            case Guarded():
                if self._values.is_absent(node, number):
                    return self._null(node.schema)
                return self.node(node.node, number)
            case Concat():
                parts = [self._part(part, number) for part in node.parts]
                if None in parts:
                    return self._null(node.schema)
                return quote("".join(part for part in parts if part is not None))
            case Constant():
                return render(node.schema, node.value, self.options)
            case RowField(character=False):
                return str(self._values.value(node, number))
        value = self._values.value(node, number)
        if value is None:
            return self._null(node.schema)
        return render(node.schema, value, self.options)

    def _part(self, part: TextPart, number: int) -> str | None:
        text = self.node(part.node, number)
        if text == "null":
            return part.null
        return part.before + (json.loads(text) if text[0] == '"' else text) + part.after

    def _null(self, schema: Schema) -> str:
        return "null" if schema.default is None else render(schema, None, self.options)
