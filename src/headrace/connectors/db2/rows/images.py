"""Rows of the driver, many at once, as row images."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.connectors.db2.rows.texts import texts_of
from headrace.relational.rows.images import RowImages

Db2Images = RowImages[str]
"""Types are kinds (see `Db2Type.kind`)."""


def images_at(types: Sequence[str], places: Sequence[int | None]) -> Db2Images:
    """Of rows whose columns stand at these places; see RowImages."""
    return RowImages(texts_of, tuple(types), tuple(places))


def images_of_all(types: Sequence[str], *, first: int = 0) -> Db2Images:
    """Of rows that have every column, in this order, from the place `first` on."""
    return images_at(types, range(first, first + len(types)))
