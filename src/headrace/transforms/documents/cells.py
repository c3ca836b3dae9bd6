"""The documents of events: BSON where it lies in cells, or parsed from texts of Extended JSON."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from headrace.connect.encoding import Encoding
from headrace.connect.evaluation import gathering
from headrace.connect.evaluation.columns import bytes_cells
from headrace.connect.evaluation.values import nulls, values
from headrace.connect.images import TEXT
from headrace.connect.records import Cell, Cells, Column, Guarded, Node, Records
from headrace.documents.dialects import DIALECTS, Dialect
from headrace.documents.parsing.texts import parsed

_RELAXED = (Dialect.RELAXED, Dialect.RELAXED_SPACED)


@dataclass(frozen=True)
class BsonCells:
    """One BSON value per record: int64 (kind, address, length), a type byte and its value each.

    `small_longs`: their texts would not tell an int64 that fits 32 bits from an int32, so they are
    read alike wherever events come from. `memory` is what was parsed.
    """

    cells: np.ndarray
    small_longs: bool
    memory: tuple[object, ...] = field(default=(), repr=False)

    def value(self, index: int) -> tuple[int, bytes]:
        """Type and bytes of one value."""
        _, address, length = self.cells[index].tolist()
        raw = ctypes.string_at(address, length)
        return raw[0], raw[1:]


def bson_cells(records: Records, node: Node) -> BsonCells:
    """The values of a node that is null for none of the records.

    Raises HeadraceError("documents.text_not_understood") for a text that is no Extended JSON.
    """
    held = node.node if isinstance(node, Guarded) else node
    if isinstance(held, Cell | Column) and held.encoding in DIALECTS:
        small_longs = DIALECTS[held.encoding] in _RELAXED
        return BsonCells(_gathered(records, held), small_longs)
    texts = _text_cells(records, node)
    made = parsed(texts.table)
    return BsonCells(made.cells, False, made.memory)


def _text_cells(records: Records, node: Node) -> Cells:
    """The texts of a node that is null for none of the records; those that cells hold already stay
    where they are."""
    held = node.node if isinstance(node, Guarded) else node
    if isinstance(held, Cell | Column) and held.encoding is Encoding.STRING:
        gathered = _gathered(records, held)
        if gathering.has_values(gathered).all():
            return Cells(gathered)
    return bytes_cells(values(records, node).cast(pa.large_string()), TEXT)


def _gathered(records: Records, node: Cell | Column) -> np.ndarray:
    if isinstance(node, Column):
        return gathering.column_cells(records, node)
    return gathering.gather(records, [node])[node]


def present(records: Records, node: Node | None) -> np.ndarray:
    """Which records have a value at the node (bool)."""
    return ~nulls(records, node)
