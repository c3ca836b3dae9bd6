"""The documents of events: BSON that cells already hold, or that is parsed from Extended JSON."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headrace.connect.encoding import Encoding
from headrace.connect.evaluation import gathering
from headrace.connect.evaluation.columns import bytes_cells
from headrace.connect.evaluation.values import nulls, values
from headrace.connect.images import TEXT
from headrace.connect.records import Cell, Cells, Column, Guarded, Node, Records
from headrace.documents.columns.structured_records import BsonCells
from headrace.documents.dialects import DIALECTS, Dialect
from headrace.documents.parsing.texts import parsed

_RELAXED = (Dialect.RELAXED, Dialect.RELAXED_SPACED)


def bson_cells(records: Records, node: Node) -> BsonCells:
    """Return the values of a node that is null for none of the records.

    Raises HeadraceError("documents.text_not_understood") for a text that is not Extended JSON.
    """
    inner = node.node if isinstance(node, Guarded) else node
    if isinstance(inner, Cell | Column) and inner.encoding in DIALECTS:
        small_longs = DIALECTS[inner.encoding] in _RELAXED
        return BsonCells(_gathered(records, inner), small_longs)
    texts = _text_cells(records, node)
    documents = parsed(texts.table)
    return BsonCells(documents.cells, False, documents.memory)


def _text_cells(records: Records, node: Node) -> Cells:
    """Return the texts of a node that is null for none of the records; texts that cells already
    hold are not copied."""
    inner = node.node if isinstance(node, Guarded) else node
    if isinstance(inner, Cell | Column) and inner.encoding is Encoding.STRING:
        gathered = _gathered(records, inner)
        if gathering.has_values(gathered).all():
            return Cells(gathered)
    return bytes_cells(values(records, node).cast(pa.large_string()), TEXT)


def _gathered(records: Records, node: Cell | Column) -> np.ndarray:
    if isinstance(node, Column):
        return gathering.column_cells(records, node)
    return gathering.gather(records, [node])[node]


def present(records: Records, node: Node | None) -> np.ndarray:
    """Return which records have a value at the node (bool)."""
    return ~nulls(records, node)
