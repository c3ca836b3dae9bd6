"""Selects rows of columns that are too large for the 32-bit offsets of one Arrow array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARRAY_BYTES = 1 << 30
"""The size in bytes up to which a column is gathered at once. An array of texts holds at most 2
GB."""


def gathered(
    column: pa.ChunkedArray, rows: NDArray[np.int64], present: NDArray[np.bool_] | None = None
) -> pa.ChunkedArray:
    """Return the values of a column in these rows, in their order; null where `present` is false.

    Arrow's own `take` joins all chunks first, and fails if they hold more than 2 GB.
    """
    if column.nbytes <= ARRAY_BYTES:
        return column.take(pa.array(rows, mask=None if present is None else ~present))
    if present is None:
        present = np.ones(len(rows), np.bool_)
    starts = np.cumsum([0, *map(len, column.chunks)])
    most = max(1, ARRAY_BYTES * len(column) // column.nbytes)
    pieces: list[pa.Array] = []
    waiting = [slice(first, first + most) for first in range(0, len(rows), most)][::-1]
    while waiting:
        piece = waiting.pop()
        try:
            pieces.append(_gathered_once(column, starts, rows[piece], present[piece]))
        except pa.ArrowInvalid:
            # Halve the piece: some values are far larger than others.
            length = min(piece.stop, len(rows)) - piece.start
            if length < 2:
                raise
            middle = piece.start + length // 2
            waiting += [slice(middle, piece.stop), slice(piece.start, middle)]
    return pa.chunked_array(pieces, column.type)


def _gathered_once(
    column: pa.ChunkedArray,
    starts: NDArray[np.int64],
    rows: NDArray[np.int64],
    present: NDArray[np.bool_],
) -> pa.Array:
    """Return the values as one array: take them from each chunk, then restore their order. Raises
    pa.ArrowInvalid if they do not fit."""
    chunks = np.where(present, np.searchsorted(starts, rows, side="right") - 1, 0)
    order = np.argsort(chunks, kind="stable")
    parts: list[pa.Array] = []
    for chunk in np.unique(chunks):
        here = order[chunks[order] == chunk]
        local = pa.array(rows[here] - starts[chunk], mask=~present[here])
        parts.append(column.chunk(int(chunk)).take(local))
    places = np.empty(len(rows), np.int64)
    places[order] = np.arange(len(rows))
    return pa.concat_arrays(parts).take(pa.array(places))
