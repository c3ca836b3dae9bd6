"""Converts rows of the driver to row images, many at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from headrace.connect.images import cells
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.errors import HeadraceError
from headrace.relational.rows.image_kernel import COLUMN_BYTES, measure_images, write_images
from headrace.relational.rows.texts import TEXTS, Values
from headrace.snapshots.image_block import ImageBlock

T = TypeVar("T")

_WORDS = COLUMN_BYTES // 8
_UNREAD: tuple[int, ...] = (0, 0, 0, 0)


@dataclass(frozen=True)
class DriverValues(Generic[T]):
    """The values of a connector's driver. `connector` is the prefix of error codes; `texts_of`
    converts one column's values to texts (large_string), null for a null; `remedy` is the remedy
    for a value that does not have its column's type. `valid` makes texts of a table's column
    encodable in UTF-8 (None: the driver's texts always are)."""

    connector: str
    texts_of: Callable[[T, Values], pa.Array]
    remedy: str = "Exclude the column with column.exclude.list."
    valid: Callable[[str, str, Values], Values] | None = None


@dataclass(frozen=True)
class RowImages(Generic[T]):
    """Creates images of the rows of a table (its name is for messages): the name, the type, and the
    index in the driver's rows of each column (None: the rows lack the column, which is null)."""

    driver: DriverValues[T]
    table: str
    columns: tuple[str, ...]
    types: tuple[T, ...]
    places: tuple[int | None, ...]

    def block(self, rows: Sequence[Sequence[object]]) -> ImageBlock:
        """Return the images of rows. Raises HeadraceError("CONNECTOR.value_not_understood") for a
        value that does not have its column's type."""
        return self.of_columns(list(zip(*rows, strict=True)), len(rows))

    def of_columns(self, columns: Sequence[Sequence[object]], rows: int) -> ImageBlock:
        """Return the images of rows that are given as columns. Raises as `block`."""
        texts = [
            None if place is None else self._texts(number, columns[place])
            for number, place in enumerate(self.places)
        ]
        table = np.array([_addresses(text) for text in texts], np.int64).reshape(-1, _WORDS)
        offsets = np.empty(rows + 1, np.int64)
        size = measure_images(address_of(table), len(texts), rows, address_of(offsets))
        images = np.empty(size + PADDING, np.uint8)
        write_images(address_of(table), len(texts), rows, address_of(images))
        return ImageBlock(images[:size], offsets)

    def _texts(self, number: int, values: Values) -> pa.Array:
        kind, driver = self.types[number], self.driver
        try:
            try:
                return driver.texts_of(kind, values)
            except UnicodeEncodeError:
                if driver.valid is None:
                    raise
                valid = driver.valid(self.table, self.columns[number], values)
                return driver.texts_of(kind, valid)
        except (
            pa.ArrowException, ValueError, TypeError, ArithmeticError, AttributeError
        ) as error:  # fmt: skip
            # The messages of these errors contain the value.
            raise HeadraceError(
                f"{self.driver.connector}.value_not_understood",
                f"The column {self.columns[number]} of {self.table} has a value that is not of "
                f"its type, {kind}: {type(error).__name__}",
                self.driver.remedy,
            ) from None

    def texts(self, rows: Sequence[Sequence[object]]) -> list[tuple[str | None, ...]]:
        """Return the texts of few rows, such as keys. Raises as `block`."""
        if not rows:
            return []
        block = self.block(rows)
        images = (
            block.images[block.offsets[row] : block.offsets[row + 1]].tobytes()
            for row in range(len(rows))
        )
        return [
            tuple(None if cell is None else cell.decode() for cell in cells(image))
            for image in images
        ]


def _addresses(texts: pa.Array | None) -> tuple[int, ...]:
    """The words of a column, valid as long as the array lives."""
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
