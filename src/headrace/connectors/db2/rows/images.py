"""Rows of the driver, many at once, as row images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.db2.rows.image_kernel import (
    COLUMN_BYTES,
    measure_images,
    write_images,
)
from headrace.connectors.db2.rows.texts import TEXTS, texts_of
from headrace.errors import HeadraceError
from headrace.snapshots.image_block import ImageBlock

_WORDS = COLUMN_BYTES // 8
_UNREAD: tuple[int, ...] = (0, 0, 0, 0)


class TypedColumn(Protocol):
    """A column and its type, whose text is the kind."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> object: ...


@dataclass(frozen=True)
class RowImages:
    """Makes images of the rows of a table (for messages): of each column its name, its type's kind,
    and where its values stand in the rows that the driver gives (None: the rows lack the column,
    which is null)."""

    table: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    places: tuple[int | None, ...]

    @staticmethod
    def of(
        table: str, columns: Iterable[TypedColumn], places: Iterable[int | None] | None = None
    ) -> RowImages:
        """Of rows that have every column, in this order, unless `places` are given."""
        columns = tuple(columns)
        return RowImages(
            table,
            tuple(column.name for column in columns),
            tuple(str(column.type) for column in columns),
            tuple(range(len(columns)) if places is None else places),
        )

    def block(self, rows: Sequence[Sequence[object]]) -> ImageBlock:
        """The images of rows. Raises HeadraceError("db2.value_not_understood") for a value that is
        none of its column's type."""
        return self.of_columns(list(zip(*rows, strict=True)), len(rows))

    def of_columns(self, columns: Sequence[Sequence[object]], rows: int) -> ImageBlock:
        """The same of rows that were turned to columns."""
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

    def _texts(self, number: int, values: Sequence[object]) -> pa.Array:
        kind = self.types[number]
        try:
            return texts_of(kind, values)
        except (
            pa.ArrowException, ValueError, TypeError, ArithmeticError, AttributeError
        ) as error:  # fmt: skip
            # What these say has the value in it.
            raise HeadraceError(
                "db2.value_not_understood",
                f"The column {self.columns[number]} of {self.table} has a value that is none of "
                f"its type, {kind}: {type(error).__name__}",
                "Exclude the column with column.exclude.list. Where the table is a change table, "
                "compare its columns with those of its source table, and register that again.",
            ) from None


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
