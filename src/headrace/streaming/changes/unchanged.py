"""skip.messages.without.change: the columns that show whether an update changed anything.

Under REPLICA IDENTITY FULL the indexing pass compares the texts of both images, and drops updates
whose events would show the same row twice. Masked columns cannot differ; truncated ones are
compared as far as they are shown.
"""

from __future__ import annotations

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.records import Cell
from headrace.streaming.changes.kernels.row_kernel import (
    BYTES_BEGINNING,
    EXACT,
    NUMERIC,
    TEXT_BEGINNING,
)
from headrace.streaming.facts import EventSettings, Facts

_NO_ZEROS = (Encoding.VARIABLE_DECIMAL, Encoding.NUMERIC_DOUBLE)


def compared_columns(facts: Facts, settings: EventSettings) -> np.ndarray:
    """Return (column, way of comparison, length) per column that is shown, int64."""
    comparisons: list[tuple[int, int, int]] = []
    for cell, rendered in facts.shown_cells(settings):
        index = cell.column
        if not isinstance(rendered, Cell):
            continue
        if rendered.encoding is Encoding.TRUNCATED_STRING:
            comparisons.append((index, TEXT_BEGINNING, rendered.parameter))
        elif rendered.encoding in _NO_ZEROS:
            comparisons.append((index, NUMERIC, 0))
        else:
            comparisons.append((index, *_cut_bytes(cell, rendered)))
    return np.array(comparisons, np.int64).reshape(-1, 3)


def _cut_bytes(cell: Cell, rendered: Cell) -> tuple[int, int]:
    length = dict(rendered.schema.parameters).get("truncateLength")
    if length is None or cell.encoding is not Encoding.BYTES_HEX:
        return EXACT, 0
    return BYTES_BEGINNING, 2 + 2 * int(length)
