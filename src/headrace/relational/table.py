"""Tables as a catalogue or a log shows them: what all connectors of tables say of one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from headrace.relational.types.column_type import DeclaredType


@dataclass(frozen=True)
class Filler:
    """What rows have in a column that is younger than they: a value as the database's text, or null
    (None). `is_known` False: they have values that nobody can tell."""

    text: str | None = None
    is_known: bool = True


@dataclass(frozen=True)
class Column:
    """A column. `default` is the default's expression in the database's SQL, None: none (also for
    generated columns, whose values other columns determine). `defaults_to_null`: a schema history
    has null as its default although it does not accept null, because it once did. `id` tells it
    from others of its table, also from one that had its name before (empty: it is not known);
    `filler` None: what older rows have is its default."""

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
        """What the order of its values follows: name and type, unless a database says more."""
        return f"{self.name} {self.type}"


@dataclass(frozen=True)
class Table:
    """A table. `key` is the primary key in key order, else the columns of a unique index without
    expressions, else empty."""

    schema: str
    table: str
    columns: tuple[Column, ...] = ()
    key: tuple[str, ...] = ()
    comment: str | None = field(default=None, kw_only=True)
    own_id: str = field(default="", compare=False, kw_only=True)
    """Tells it from a table that had its name before; empty: it is not known."""
    identity_columns: frozenset[str] | None = field(default=None, compare=False, kw_only=True)
    """The columns that the log has of a row that is deleted; None: all of them, or it is not
    known."""

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
        """The columns of these names, in their order; each is there."""
        return tuple(self.by_name[name] for name in names)

    @cached_property
    def not_null(self) -> frozenset[str]:
        """Names of the columns that accept no null."""
        return frozenset(column.name for column in self.columns if column.not_null)
