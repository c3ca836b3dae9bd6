"""Rows of the driver, many at once, as row images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.connectors.oracle.events import CONNECTOR
from headrace.connectors.oracle.rows.invalid_texts import replaced, without_marks
from headrace.connectors.oracle.rows.texts import texts_of
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.events import ColumnFacts
from headrace.relational.rows.images import DriverValues, RowImages
from headrace.relational.table import Column

OracleImages = RowImages[OracleType]
_VALUES = DriverValues(CONNECTOR, texts_of, valid=without_marks)


def images_of(
    table: str, columns: Sequence[Column | ColumnFacts], column_names: Sequence[str]
) -> OracleImages:
    """Return the converter of rows with the columns `column_names` to images; missing columns are
    null. See RowImages."""
    places = {name: place for place, name in enumerate(column_names)}
    return RowImages(
        _VALUES,
        table,
        tuple(column.name for column in columns),
        _types(columns),
        tuple(places.get(column.name) for column in columns),
    )


def key_texts(
    rows: Sequence[tuple[Any, ...]], key: Sequence[Column]
) -> list[tuple[str | None, ...]]:
    """Return keys that the driver returned, as texts. The rows themselves report invalid ones."""
    texts = images_of("a key", key, [column.name for column in key])
    return texts.texts([tuple(replaced(row)) for row in rows])


def _types(columns: Sequence[Column | ColumnFacts]) -> tuple[OracleType, ...]:
    types = []
    for column in columns:
        assert isinstance(column.type, OracleType)
        types.append(column.type)
    return tuple(types)
