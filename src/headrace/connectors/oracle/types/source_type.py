"""A column's type as Oracle declares it, and how its values are rendered."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.connectors.oracle.types.declarations import (
    CHARACTER,
    DAY_TO_SECOND,
    EXTENDED,
    LARGE,
    LOCAL,
    MAX_DIGITS,
    PADDED,
    TIMESTAMPS,
    YEAR_TO_MONTH,
    ZONED,
    maker_of,
)
from headrace.connectors.oracle.types.defaults import default_value
from headrace.connectors.oracle.types.options import DEFAULT_OPTIONS
from headrace.relational.types.column_type import NO_COLUMN, ColumnName, ColumnType
from headrace.relational.types.options import TypeOptions

_PARENTHESES = re.compile(r"\(\s*(-?\d+)(?:\s*,\s*-?\d+)?[^)]*\)")
_SPACES = re.compile(r"\s+")
_DEFAULT_DIGITS = {"TIMESTAMP": 6, ZONED: 6, LOCAL: 6, DAY_TO_SECOND: 6}
"""The fraction digits of types that state none."""
_WITH_LENGTH = PADDED | {"VARCHAR2", "NVARCHAR2", "RAW"}
"""Types whose length a statement states, besides numbers and timestamps."""


@dataclass(frozen=True)
class OracleType:
    """A DeclaredType: `declared` is the name in ALL_TAB_COLS.DATA_TYPE, such as `TIMESTAMP(6) WITH
    TIME ZONE`; `length` is the number of characters of a text or bytes of a RAW; `precision` and
    `scale` are those of a NUMBER (None: it has none). As text it is its name.

    `is_stated`: a mined statement stated the type. Debezium describes such a column differently
    from one of the data dictionary, until it reads it from there again."""

    declared: str
    length: int = 0
    precision: int | None = None
    scale: int | None = None
    is_stated: bool = False

    @staticmethod
    def of(
        data_type: str,
        length: int | None = None,
        precision: int | None = None,
        scale: int | None = None,
    ) -> OracleType:
        """Return the type of a column in ALL_TAB_COLS: DATA_TYPE, CHAR_LENGTH of a text and
        DATA_LENGTH of others, DATA_PRECISION and DATA_SCALE."""
        return OracleType(data_type, length or 0, precision, scale)

    def __str__(self) -> str:
        return self.declared

    @property
    def kind(self) -> str:
        """The type's name in upper case without parentheses: `TIMESTAMP WITH TIME ZONE`."""
        return _SPACES.sub(" ", _PARENTHESES.sub(" ", self.declared)).strip().upper()

    @property
    def name(self) -> str:
        """The name in the catalogue; of a stated type, without the text in parentheses."""
        return self.kind if self.is_stated else self.declared

    @property
    def is_character(self) -> bool:
        """Whether masks and hashes apply."""
        return self.kind in CHARACTER

    @property
    def is_apart(self) -> bool:
        """Whether the log may store values apart from their rows: those of LOBs, of XML, and texts
        beyond 4000 bytes. A row without such a column does not mean that it is null."""
        return self.kind in LARGE or self.length > EXTENDED.get(self.kind, self.length)

    @property
    def text_size(self) -> int:
        """See DeclaredType; Oracle's schemas list no values."""
        return 0

    @property
    def digits(self) -> int | None:
        """The scale of a NUMBER, or the fraction digits of a timestamp or an interval."""
        kind = self.kind
        if kind == YEAR_TO_MONTH:
            return None
        if kind not in _DEFAULT_DIGITS:
            return self.scale
        stated = _PARENTHESES.findall(self.declared)
        if kind == DAY_TO_SECOND:
            of_seconds = _PARENTHESES.search(self.declared, self.declared.upper().find("SECOND"))
            stated = [] if of_seconds is None else [of_seconds[1]]
        if stated:
            return int(stated[0])
        return _DEFAULT_DIGITS[kind] if self.scale is None else self.scale

    def length_and_scale(self) -> tuple[int | None, int | None]:
        """Return length and scale: for a NUMBER its precision and scale; the length of a timestamp
        is its fraction digits."""
        kind = self.kind
        if kind == "NUMBER":
            has_none = self.scale is None and not self.is_stated
            default = 0 if has_none else MAX_DIGITS
            return (default if self.precision is None else self.precision), self.scale
        if kind == "FLOAT":
            return self.precision or self.length, self.scale
        if kind in TIMESTAMPS:
            return self.digits, None
        if kind == YEAR_TO_MONTH:
            return self.precision, None if self.is_stated else self.scale
        if kind == DAY_TO_SECOND:
            return self.precision, self.digits
        if self.is_stated and kind not in _WITH_LENGTH:
            return (self.digits if kind in (ZONED, LOCAL) else None), None
        return self.length, self.digits

    def resolve(
        self,
        options: TypeOptions = DEFAULT_OPTIONS,
        *,
        optional: bool = True,
        default: str | None = None,
        column: ColumnName = NO_COLUMN,
    ) -> ColumnType | None:
        """See DeclaredType; `default` is ALL_TAB_COLS.DATA_DEFAULT."""
        kind = self.kind
        maker = maker_of(kind)
        if maker is None:
            return None
        declaration = maker(
            self.precision if kind == "NUMBER" else self.length, self.digits, options
        )
        value = None
        if default is not None:
            value = default_value(self, declaration, default, optional=optional)
        return ColumnType.of(
            declaration, self.name, options, optional=optional, default=value, column=column
        )
