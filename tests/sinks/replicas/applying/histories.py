"""Random histories of a table, which shrink to short ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from headrace.sinks.replicas.changes.part import Operation
from headrace.sinks.replicas.lake import Column, TableSchema
from tests.sinks.replicas.applying.replay import Change, Key, Step, Truncate

VALUES = (
    Column("text", pa.string()),
    Column("number", pa.int64()),
    Column("amount", pa.decimal128(12, 2)),
)
INTEGER = TableSchema((Column("id", pa.int64()), *VALUES), ("id",))
TEXT = TableSchema((*VALUES, Column("name", pa.string())), ("name",))
COMPOSITE = TableSchema(
    (Column("shop", pa.string()), *VALUES, Column("place", pa.int32())), ("place", "shop")
)
SCHEMAS = (INTEGER, TEXT, COMPOSITE)
KEYS = 7
"""Few keys, so that changes meet."""


def key_of(schema: TableSchema, number: int) -> Key:
    if schema is TEXT or schema.key == TEXT.key:
        return ("é" * number,)
    if schema.key == COMPOSITE.key:
        return (number % 3, None if number == 6 else f"s{number // 3}")
    return (number * 10**6 - 3,)


@dataclass
class Writer:
    """Makes steps that a database could have written, one after the other."""

    schema: TableSchema
    present: set[int]
    count: int = 0

    def steps(self, kind: str, number: int, other: int, unavailable: int) -> list[Step]:
        self.count += 1
        key = key_of(self.schema, number)
        if kind == "truncate":
            self.present.clear()
            return [Truncate()]
        if kind == "delete":
            self.present.discard(number)
            return [Change(Operation.DELETE, key)]
        if kind == "move":
            if number not in self.present or other in self.present:
                return []
            self.present.discard(number)
            self.present.add(other)
            values = self.values(unavailable)
            moved = key_of(self.schema, other)
            old = key if len(values) < len(VALUES) else None
            return [
                Change(Operation.DELETE, key),
                Change(Operation.INSERT, moved, values, old),
            ]
        if number in self.present and kind == "update":
            return [Change(Operation.UPDATE, key, self.values(unavailable))]
        # A row that is there already is one that is read again.
        self.present.add(number)
        return [Change(Operation.INSERT, key, self.values(0))]

    def values(self, unavailable: int) -> dict[str, object]:
        column_values: dict[str, Any] = {
            "text": None if self.count % 5 == 0 else f"t{self.count}",
            "number": self.count,
            "amount": Decimal(self.count) / 4,
        }
        return {
            name: value
            for place, (name, value) in enumerate(column_values.items())
            if not unavailable >> place & 1
        }


DRAWN = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(["insert", "update", "update", "move", "move", "delete", "truncate"]),
            st.integers(0, KEYS - 1),
            st.integers(0, KEYS - 1),
            st.integers(0, 7),
            st.integers(0, 2),
        ),
        max_size=14,
    ),
    min_size=1,
    max_size=4,
)
"""Batches of steps, with the part of the batch that has each."""

Drawn = Sequence[tuple[str, int, int, int, int]]


def write(writer: Writer, drawn: Drawn, first: int) -> list[list[tuple[int, Step]]]:
    """The steps of a batch with their places in the log, by part."""
    parts: list[list[tuple[int, Step]]] = [[], [], []]
    place = first
    for kind, number, other, unavailable, part in drawn:
        for step in writer.steps(kind, number, other, unavailable):
            place += 1
            parts[(part + (place % 2 if kind == "move" else 0)) % 3].append((place, step))
    return parts
