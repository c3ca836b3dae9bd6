"""The forms of columns' values in redo statements."""

from __future__ import annotations

from enum import IntEnum


class LiteralForm(IntEnum):
    """The form of the literals of a column's values."""

    TEXT = 0
    NUMBER = 1
    TIMESTAMP = 2
    BYTES = 3
    ZONED = 4
    LOCAL = 5
    DOUBLE = 6
    FLOAT = 7
    YEAR_TO_MONTH = 8
    DAY_TO_SECOND = 9
    BOOLEAN = 10
