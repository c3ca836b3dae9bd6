"""Tables as redo statements name them: the columns' names, and the forms of their values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from headrace.connectors.oracle.redo.forms import LiteralForm
from headrace.connectors.oracle.types.declarations import (
    BINARY_FLOATS,
    BYTES,
    DAY_TO_SECOND,
    LOCAL,
    NATIONAL,
    NUMBERS,
    TIMESTAMPS,
    YEAR_TO_MONTH,
    ZONED,
)
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.table import Column, Table

ARCHIVE_STATE = "ORA_ARCHIVE_STATE"
"""A hidden column of tables with row archival, which is not a part of any row."""
OWN_COLUMN = re.compile(r"SYS_NC\w*\$|SYS_C\d+_[\d:]+\$")
"""Columns that Oracle creates and hides itself: of attributes of objects, of expressions, and
unused ones."""
_NUMBERED = re.compile(r"COL ([0-9]{1,4})")


_FORMS = {
    **dict.fromkeys(NUMBERS, LiteralForm.NUMBER),
    **dict.fromkeys(TIMESTAMPS, LiteralForm.TIMESTAMP),
    **dict.fromkeys(BYTES, LiteralForm.BYTES),
    **dict.fromkeys(BINARY_FLOATS, LiteralForm.DOUBLE),
    "BINARY_FLOAT": LiteralForm.FLOAT,
    ZONED: LiteralForm.ZONED,
    LOCAL: LiteralForm.LOCAL,
    YEAR_TO_MONTH: LiteralForm.YEAR_TO_MONTH,
    DAY_TO_SECOND: LiteralForm.DAY_TO_SECOND,
    "BOOLEAN": LiteralForm.BOOLEAN,
}


@dataclass(frozen=True)
class RedoColumn:
    """A column. `digits` are the fraction digits of a timestamp with time zone; `is_apart`: see
    OracleType; `charset` is Python's name of the character set of its bytes; `generated`: the redo
    has no values of it."""

    name: str
    form: LiteralForm
    digits: int = 0
    is_apart: bool = False
    not_null: bool = False
    charset: str = "utf-8"
    generated: bool = False

    @staticmethod
    def of(column: Column, charset: str, national: str) -> RedoColumn:
        """Return a column of a table whose type is an OracleType."""
        declared = column.type
        assert isinstance(declared, OracleType)
        kind = declared.kind
        return RedoColumn(
            column.name,
            _FORMS.get(kind, LiteralForm.TEXT),
            declared.digits or 0,
            declared.is_apart,
            column.not_null,
            national if kind in NATIONAL else charset,
            column.generated,
        )


@dataclass(frozen=True)
class RedoTable:
    """A table: its name, for messages and to know the usual beginning of its statements, and its
    columns in the table's order. `relaxed`: quotes inside of its texts may not be doubled.
    `converting` is the handling of a time whose form is not that of the session
    (event.converting.failure.handling.mode): `fail` raises an error, others give null, `warn` with
    a warning. `warned`: the columns for which a warning was given."""

    schema: str
    name: str
    columns: tuple[RedoColumn, ...]
    relaxed: bool = field(default=False, kw_only=True)
    converting: str = field(default="warn", kw_only=True)
    warned: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @staticmethod
    def of(
        table: Table,
        *,
        charset: str = "utf-8",
        national: str = "utf-16-be",
        relaxed: bool = False,
        converting: str = "warn",
    ) -> RedoTable:
        """Return a table as the catalogue describes it. The character sets are those of the
        database, by Python's names."""
        columns = tuple(RedoColumn.of(column, charset, national) for column in table.columns)
        return RedoTable(table.schema, table.table, columns, relaxed=relaxed, converting=converting)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The columns' places by name."""
        return {column.name: place for place, column in enumerate(self.columns)}

    def place_of(self, name: str) -> int | None:
        """Return the place of a column; `COL 2`, a name by LogMiner if it does not know the names,
        is the second stored one. None if there is no such column."""
        place = self.places.get(name)
        numbered = _NUMBERED.fullmatch(name) if place is None else None
        if numbered is None:
            return place
        number = int(numbered[1])
        return self._stored[number - 1] if 0 < number <= len(self._stored) else None

    @cached_property
    def _stored(self) -> list[int]:
        """The places of the columns whose values are stored."""
        return [place for place, column in enumerate(self.columns) if not column.generated]
