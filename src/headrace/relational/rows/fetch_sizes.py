"""How many rows are fetched at once: the driver has all of them in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable

LARGE_ROWS = 50
"""Rows with large values: as many of a megabyte each as the images of a few blocks have."""


def rows_at_once(size: int, kinds: Iterable[str], large: Collection[str]) -> int:
    """`size`, which is snapshot.fetch.size, or fewer where a column is of a kind whose values may
    be `large`."""
    return min(size, LARGE_ROWS) if any(kind in large for kind in kinds) else size
