"""The documents of events: BSON where it lies in cells, or parsed from texts of Extended JSON."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import numpy as np

from headrace.connect.evaluation import gathering
from headrace.connect.evaluation.values import nulls, values
from headrace.connect.images import BINARY
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Cell, Column, Guarded, Node, Records
from headrace.documents.dialects import DIALECTS, Dialect
from headrace.documents.parsing import bson_of

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
        if isinstance(held, Column):
            return BsonCells(gathering.column_cells(records, held), small_longs)
        return BsonCells(gathering.gather(records, [held])[held], small_longs)
    texts = values(records, node).dictionary_encode()
    parsed = [bson_of(text) for text in texts.dictionary.to_pylist()]
    memory = np.frombuffer(b"".join(parsed) + bytes(PADDING), np.uint8)
    lengths = np.array([len(raw) for raw in parsed], np.int64)
    cells = np.full((len(parsed), 3), BINARY, np.int64)
    cells[:, 1] = address_of(memory) + np.cumsum(lengths) - lengths
    cells[:, 2] = lengths
    return BsonCells(cells[np.asarray(texts.indices)], False, (memory,))


def present(records: Records, node: Node | None) -> np.ndarray:
    """Which records have a value at the node (bool)."""
    return ~nulls(records, node)
