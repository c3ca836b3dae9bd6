"""Rows of the driver, many at once, as row images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from headrace.connectors.db2.events import CONNECTOR
from headrace.connectors.db2.rows.texts import texts_of
from headrace.relational.rows.images import DriverValues, RowImages

Db2Images = RowImages[str]
"""Images of rows whose columns' types are kinds (see `Db2Type.kind`)."""

_VALUES = DriverValues(
    CONNECTOR,
    texts_of,
    "Exclude the column with column.exclude.list. Where the table is a change table, compare its "
    "columns with those of its source table, and register that again.",
)


class TypedColumn(Protocol):
    """A column and its type, whose text is the kind."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> object: ...


def images_at(
    table: str, columns: Iterable[TypedColumn], places: Iterable[int | None] | None = None
) -> Db2Images:
    """Return the converter of rows that have every column, in this order or at `places`, to images;
    see RowImages."""
    columns = tuple(columns)
    return RowImages(
        _VALUES,
        table,
        tuple(column.name for column in columns),
        tuple(str(column.type) for column in columns),
        tuple(range(len(columns)) if places is None else places),
    )
