"""The number of rows to fetch at once: the driver holds all of them in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable

LARGE_ROWS = 50
"""Rows to fetch with large values: at a megabyte each, as large as the images of a few blocks."""


def rows_at_once(size: int, kinds: Iterable[str], large: Collection[str]) -> int:
    """`size`, which is snapshot.fetch.size, or fewer if a column is of a kind whose values may be
    `large`."""
    return min(size, LARGE_ROWS) if any(kind in large for kind in kinds) else size
