"""The contract of a converter of one role (keys, values or headers)."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from headrace.connect.records import Node
from headrace.connect.schema import Schema
from headrace.converters.program import MadeColumns, Program


class Converter(Protocol):
    """Kafka Connect's converter of one role, over node trees.

    It serves one worker process; its options are fixed. `program` and `constant` raise
    HeadraceError when the schema has no rendering, or a schema registry refuses it.
    """

    @property
    def column(self) -> pa.DataType:
        """The type of the column of keys or values: string or binary."""
        ...

    def program(
        self, topic: str, node: Node, made_columns: MadeColumns, *, null_has_schema: bool
    ) -> Program:
        """Return the program that renders `node` in records of `topic`. If the node is null, the
        program writes no key or value, unless `null_has_schema` and this converter tells a null
        from no value."""
        ...

    def constant(self, topic: str, schema: Schema, value: object) -> bytes | None:
        """Return the bytes of one header value; None: a header without value."""
        ...
