"""Tables in a catalog or a log: the description that all relational connectors share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from headrace.relational.types.column_type import DeclaredType


@dataclass(frozen=True)
class Filler:
    """The value in a column of rows that are older than the column: the database's text, or null
    (None). `is_known` False: their values are unknown."""

    text: str | None = None
    is_known: bool = True


@dataclass(frozen=True)
class Column:
    """A column. `default` is the default's expression in the database's SQL, None: no default (also
    for generated columns, whose values depend on other columns). `defaults_to_null`: a schema
    history has null as its default although it does not accept null, because it once did. `id`
    distinguishes it from the table's other columns and from an earlier one with the same name
    (empty: not known); `filler` None: older rows have its default."""

    name: str
    type: DeclaredType
    not_null: bool
    default: str | None = None
    comment: str | None = None
    generated: bool = False
    defaults_to_null: bool = False
    id: str = field(default="", compare=False)
    filler: Filler | None = field(default=None, compare=False)

    @property
    def order(self) -> str:
        """Text of the facts that determine the order of its values: name and type, unless a
        database has more."""
        return f"{self.name} {self.type}"


@dataclass(frozen=True)
class Table:
    """A table. `key` is the primary key in key order, otherwise the columns of a unique index
    without expressions, otherwise empty."""

    schema: str
    table: str
    columns: tuple[Column, ...] = ()
    key: tuple[str, ...] = ()
    comment: str | None = field(default=None, kw_only=True)
    own_id: str = field(default="", compare=False, kw_only=True)
    """Distinguishes it from an earlier table with the same name; empty: not known."""
    key_doubt: str = field(default="", compare=False, kw_only=True)
    """Why rows may share or exchange values of the key; empty: they cannot, or it is not known."""
    identity_columns: frozenset[str] | None = field(default=None, compare=False, kw_only=True)
    """The columns that the log contains for a deleted row; None: all of them, or not known."""

    @property
    def name(self) -> str:
        """schema.table"""
        return f"{self.schema}.{self.table}"

    @property
    def path(self) -> tuple[str, str]:
        """Schema and table."""
        return self.schema, self.table

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """The columns by name."""
        return {column.name: column for column in self.columns}

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The columns of the key."""
        return self.columns_of(self.key)

    def columns_of(self, names: Iterable[str]) -> tuple[Column, ...]:
        """The columns with these names, in this order; all must exist."""
        return tuple(self.by_name[name] for name in names)

    @cached_property
    def not_null(self) -> frozenset[str]:
        """Names of the columns that accept no null."""
        return frozenset(column.name for column in self.columns if column.not_null)
