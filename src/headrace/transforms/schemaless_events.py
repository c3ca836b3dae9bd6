"""Change events without schemas, as in JSON: their parts are located in their texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.evaluation import gathering
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.json_objects import (
    cells_at,
    is_json,
    loaded,
    members,
    with_members,
)
from headrace.connect.evaluation.values import connect_values
from headrace.connect.images import TEXT
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Cell, Column, Node, Records
from headrace.connect.schema import SCHEMALESS
from headrace.errors import HeadraceError

_PARTS = ("before", "after", "source", "op")
_MATERIALISED = column_of(SCHEMALESS)


@dataclass(frozen=True, eq=False)
class SchemalessEvents:
    """Records whose values are change events without schemas.

    `texts` are the cells of the values; `before`, `after`, `source` and `op` are the cells of these
    members; each is an array of (kind, address, length) per record.
    """

    records: Records
    texts: np.ndarray
    before: np.ndarray
    after: np.ndarray
    source: np.ndarray
    op: np.ndarray

    @staticmethod
    def of(records: Records, node: Node) -> tuple[SchemalessEvents, np.ndarray]:
        """Return the events of records whose value is `node`, without a schema and not null, and
        which records are events (bool, one per record): objects with `op`, and a struct
        `source`."""
        if not is_json(node):
            records = with_values(records, _MATERIALISED, connect_values(records, node))
            node = _MATERIALISED
        assert isinstance(node, Cell | Column)
        texts = cells_at(records, node)
        before, after, source, op = members(texts, _PARTS)
        is_event = gathering.has_values(op) & _begins_with(source, "{")
        events = SchemalessEvents(records, texts, before, after, source, op)
        return events.with_rows(is_event), is_event

    def with_rows(self, mask: np.ndarray) -> SchemalessEvents:
        """Return the events for which `mask` is true."""
        return SchemalessEvents(
            self.records.with_rows(mask),
            self.texts[mask],
            self.before[mask],
            self.after[mask],
            self.source[mask],
            self.op[mask],
        )

    def field(self, struct: str, name: str) -> np.ndarray:
        """Return the cells of a field of a struct of the events, or of a field of the events
        themselves if `struct` is empty; null if the field is missing."""
        if not struct:
            return members(self.texts, [name])[0]
        inside = members(self.texts, [struct])[0]
        return members(inside, [name])[0]


def _begins_with(cells: np.ndarray, character: str) -> np.ndarray:
    """Return where the text of a cell begins with a character (bool, one per cell)."""
    first = cells.copy()
    first[:, gathering.LENGTH] = np.minimum(first[:, gathering.LENGTH], 1)
    texts = gathering.as_binary(first, gathering.has_values(cells))
    matches = pc.equal(texts, pa.scalar(character.encode(), pa.large_binary()))
    return np.asarray(pc.fill_null(matches, fill_value=False))


def rows_with_fields(
    topic: str, rows: np.ndarray, names: Sequence[str], added: Sequence[np.ndarray]
) -> tuple[np.ndarray, tuple[object, ...]]:
    """Return the cells of rows with additional fields, and their memory.

    Raises HeadraceError("transforms.field_name_twice") if a row already has a field of that name,
    and ("transforms.row_is_no_struct") for rows that are not objects.
    """
    if not _begins_with(rows, "{").all():
        raise HeadraceError(
            "transforms.row_is_no_struct",
            f"rows of {topic} are not objects",
            "Documents have a transform of their own.",
        )
    if not names:
        return rows, ()
    before = list(dict.fromkeys(names))
    if len(before) < len(names) or any(
        gathering.has_values(cells_of_field).any() for cells_of_field in members(rows, before)
    ):
        raise HeadraceError(
            "transforms.field_name_twice",
            f"a record of {topic} would have two fields of one name",
            "Give the added field another name (add.fields=field:name) or a prefix.",
        )
    cells, memory = with_members(rows, names, added)
    return cells, (memory,)


def constant_cells(text: str, count: int) -> tuple[np.ndarray, tuple[object, ...]]:
    """Return the cells of a JSON text for each of `count` records, and its memory."""
    raw = text.encode()
    memory = np.frombuffer(raw + bytes(PADDING), np.uint8).copy()
    cells = np.empty((count, 3), np.int64)
    cells[:] = (TEXT, address_of(memory), len(raw))
    return cells, (memory,)


def texts_in(cells: np.ndarray) -> list[str | None]:
    """The texts of cells that hold JSON strings; other values as their JSON text, null as None."""
    return [None if value is None else str(value) for value in loaded(cells)]
