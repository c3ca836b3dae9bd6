"""Rows of the driver, many at once, as row images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.db2.rows.image_kernel import (
    COLUMN_BYTES,
    measure_images,
    write_images,
)
from headrace.connectors.db2.rows.texts import TEXTS, texts_of
from headrace.snapshots.image_block import ImageBlock

_WORDS = COLUMN_BYTES // 8
_UNREAD: tuple[int, ...] = (0, 0, 0, 0)


@dataclass(frozen=True)
class RowImages:
    """Makes images of a table's columns: of each, its type's kind, and where
    its values stand in the rows that the driver gives (None: the rows lack the column, which is
    null)."""

    types: tuple[str, ...]
    places: tuple[int | None, ...]

    @staticmethod
    def of(types: Sequence[str], *, first: int = 0) -> RowImages:
        """Of rows that have every column, in this order, from the place `first` on."""
        return RowImages(tuple(types), tuple(range(first, first + len(types))))

    def block(self, rows: Sequence[Sequence[object]]) -> ImageBlock:
        """The images of rows. Raises pyarrow.ArrowException, TypeError or ValueError for values
        that are none of their columns' types."""
        return self.of_columns(list(zip(*rows, strict=True)), len(rows))

    def of_columns(self, columns: Sequence[Sequence[object]], rows: int) -> ImageBlock:
        """The same of rows that were turned to columns."""
        texts = [
            None if place is None else texts_of(name, columns[place])
            for name, place in zip(self.types, self.places, strict=True)
        ]
        table = np.array([_addresses(text) for text in texts], np.int64).reshape(-1, _WORDS)
        offsets = np.empty(rows + 1, np.int64)
        size = measure_images(address_of(table), len(texts), rows, address_of(offsets))
        images = np.empty(size + PADDING, np.uint8)
        write_images(address_of(table), len(texts), rows, address_of(images))
        return ImageBlock(images[:size], offsets)


def _addresses(texts: pa.Array | None) -> tuple[int, ...]:
    """The words of a column; valid while the array lives."""
    if texts is None:
        return _UNREAD
    if isinstance(texts, pa.ChunkedArray):
        raise TypeError("a column of one block is one array")
    assert texts.type == TEXTS
    validity, offsets, values = texts.buffers()
    return (
        validity.address if validity is not None and texts.null_count else 0,
        texts.offset,
        offsets.address + 8 * texts.offset,
        0 if values is None else values.address,
    )
