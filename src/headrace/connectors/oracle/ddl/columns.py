"""Definitions of columns in CREATE TABLE and ALTER TABLE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.connectors.oracle.ddl.data_types import read_type
from headrace.connectors.oracle.ddl.tokens import DdlNotUnderstood, TokenCursor
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.relational.table import Column

_OPTIONS = frozenset({
    "AS", "CHECK", "COLLATE", "CONSTRAINT", "DECRYPT", "DEFAULT", "DISABLE", "ENABLE", "ENCRYPT",
    "GENERATED", "INVISIBLE", "LOB", "NOT", "NULL", "PRIMARY", "REFERENCES", "RESERVABLE", "SORT",
    "STORE", "SUPPLEMENTAL", "UNIQUE", "USING", "VIRTUAL", "VISIBLE",
})  # fmt: skip
"""The words that may follow the type of a column, or replace it in a MODIFY."""


@dataclass(frozen=True)
class ColumnDefinition:
    """The definition of a column in a statement; None: the statement does not state it. `default`
    is the text of an expression."""

    name: str
    type: OracleType | None = None
    default: str | None = None
    not_null: bool | None = None
    is_key: bool = False
    generated: bool = False

    def made(self) -> Column:
        """Return a new column. Raises DdlNotUnderstood if an expression determines its type."""
        if self.type is None:
            raise DdlNotUnderstood(f"the type of column {self.name} is not stated")
        default = None if self.generated else self.default
        not_null = bool(self.not_null) or self.is_key
        return Column(
            self.name,
            self.type,
            not_null,
            default,
            generated=self.generated,
            defaults_to_null=not_null and not self.not_null,
        )

    def applied(self, column: Column) -> Column:
        """Return the modified column."""
        if self.type is not None:
            column = replace(column, type=self.type)
        if self.default is not None:
            column = replace(column, default=self.default)
        if self.not_null is not None or self.is_key:
            column = accepting(column, nulls=not (self.not_null or self.is_key))
        return column


def accepting(column: Column, *, nulls: bool) -> Column:
    """Return a column that accepts nulls from now on, or does not."""
    once = column.defaults_to_null or not column.not_null
    return replace(column, not_null=not nulls, defaults_to_null=once and not nulls)


IN_LIST = frozenset({",", ")"})
"""The signs that end definitions in parentheses."""


def read_column(cursor: TokenCursor, ends: frozenset[str] = IN_LIST) -> ColumnDefinition:
    """Return the next definition, up to one of `ends` or the end. Raises DdlNotUnderstood."""
    column = ColumnDefinition(cursor.name())
    if not (cursor.at_end or cursor.sees_any(_OPTIONS | ends)):
        column = replace(column, type=read_type(cursor))
    while not (cursor.at_end or cursor.sees_any(ends)):
        column = _option(cursor, column, ends)
    return column


def _option(
    cursor: TokenCursor, column: ColumnDefinition, ends: frozenset[str]
) -> ColumnDefinition:
    if cursor.take("DEFAULT"):
        return _default(cursor, column, ends)
    if cursor.take("NOT", "NULL"):
        return replace(column, not_null=True)
    if cursor.take("NULL"):
        return replace(column, not_null=False)
    if cursor.take("PRIMARY", "KEY"):
        return replace(column, is_key=True)
    if cursor.take("GENERATED"):
        return _generated(cursor, column)
    if cursor.take("AS"):
        cursor.skip_parentheses()
        return replace(column, generated=True)
    if cursor.take("CONSTRAINT"):
        cursor.name()
        return column
    if cursor.take("LOB") or cursor.take("STORE"):
        # The storage of large objects: to the end of the definition.
        while not (cursor.at_end or cursor.sees_any(ends)):
            _skip_one(cursor)
        return column
    _skip_one(cursor)
    return column


def _skip_one(cursor: TokenCursor) -> None:
    if cursor.sees("("):
        cursor.skip_parentheses()
    else:
        cursor.next()


def _default(
    cursor: TokenCursor, column: ColumnDefinition, ends: frozenset[str]
) -> ColumnDefinition:
    not_null = column.not_null
    if cursor.take("ON", "NULL"):
        not_null = True
        cursor.take("FOR", "INSERT", "ONLY")
        cursor.take("FOR", "INSERT", "AND", "UPDATE")
    text = cursor.skip_until(lambda: cursor.sees_any(_OPTIONS | ends))
    return replace(column, default=text, not_null=not_null)


def _generated(cursor: TokenCursor, column: ColumnDefinition) -> ColumnDefinition:
    if not cursor.take("ALWAYS"):
        cursor.expect("BY", "DEFAULT")
        cursor.take("ON", "NULL")
    cursor.expect("AS")
    if cursor.take("IDENTITY"):
        cursor.skip_parentheses()
        return replace(column, not_null=True)
    cursor.skip_parentheses()
    return replace(column, generated=True)
