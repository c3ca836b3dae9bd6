"""A column's type as Db2 declares it, and how its values are rendered."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.connectors.db2.types.declarations import CHARACTER, MAKERS
from headrace.connectors.db2.types.defaults import default_value
from headrace.relational.types.column_type import NO_COLUMN, ColumnName, ColumnType, DeclaredType
from headrace.relational.types.options import TypeOptions

DEFAULT_OPTIONS = TypeOptions()
_PARENTHESES = re.compile(r"\([^)]*\)")
_SPACES = re.compile(r"\s+")
_DEFAULT_FRACTION = 6
"""Fraction digits of a TIMESTAMP without precision."""


@dataclass(frozen=True)
class Db2Type:
    """A DeclaredType: the type's kind, which is its name in upper case without parentheses
    (`VARCHAR FOR BIT DATA`), its length, and its scale or fraction digits (None: it has none). As
    text it is its kind."""

    kind: str
    length: int = 0
    scale: int | None = None

    @staticmethod
    def of(type_name: str, column_size: int | None = None, digits: int | None = None) -> Db2Type:
        """Return the type in the driver's metadata (TYPE_NAME, COLUMN_SIZE, DECIMAL_DIGITS of
        SQLColumns), where a name may contain parentheses: `VARCHAR () FOR BIT DATA`."""
        kind = _SPACES.sub(" ", _PARENTHESES.sub(" ", type_name)).strip().upper()
        return Db2Type(kind, column_size or 0, digits)

    def __str__(self) -> str:
        return self.kind

    @property
    def name(self) -> str:
        """The driver's name of the type, which Debezium shows: `VARCHAR () FOR BIT DATA`."""
        return self.kind.replace(" FOR BIT DATA", " () FOR BIT DATA")

    @property
    def is_character(self) -> bool:
        """Whether masks and hashes apply."""
        return self.kind in CHARACTER

    @property
    def text_size(self) -> int:
        """See DeclaredType; Db2's schemas list no values."""
        return 0

    @property
    def fraction_digits(self) -> int:
        """The fraction digits of a TIMESTAMP."""
        return _DEFAULT_FRACTION if self.scale is None else self.scale

    def length_and_scale(self) -> tuple[int, int | None]:
        """Return length and scale."""
        return self.length, self.scale

    def resolve(
        self,
        options: TypeOptions = DEFAULT_OPTIONS,
        *,
        optional: bool = True,
        default: str | None = None,
        column: ColumnName = NO_COLUMN,
    ) -> ColumnType | None:
        """See DeclaredType; `default` is COLUMN_DEF of SQLColumns. Returns None for an unknown
        type, which is left out."""
        maker = MAKERS.get(self.kind)
        if maker is None:
            return None
        scale = self.fraction_digits if self.kind.startswith("TIMESTAMP") else self.scale or 0
        declaration = maker(self.length, scale, options)
        value = None
        if default is not None:
            value = default_value(self.kind, self.length, declaration, default, optional=optional)
        return ColumnType.of(
            declaration, self.name, options, optional=optional, default=value, column=column
        )


def holds(declared: DeclaredType, other: DeclaredType) -> bool:
    """Whether a column of the type `declared` can have the values of `other`: both are of the same
    kind, and `other` has no more digits after the point. Lengths are not compared."""
    scale, other_scale = (name.length_and_scale()[1] or 0 for name in (declared, other))
    return str(declared) == str(other) and other_scale <= scale
