"""The effects of statements on a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NoReturn

from headrace.connectors.oracle.ddl.columns import ColumnDefinition, accepting
from headrace.connectors.oracle.ddl.tokens import DdlNotUnderstood
from headrace.errors import HeadraceError
from headrace.relational.table import Column, Table

Path = tuple[str, str]
"""Schema and table."""
Step = Callable[[Table], Table]
"""A function that makes one of a statement's changes; raises DdlNotUnderstood."""


class DdlKind(StrEnum):
    """The kind of a statement that changes a table."""

    CREATE = "create"
    ALTER = "alter"
    RENAME = "rename"
    DROP = "drop"
    TRUNCATE = "truncate"
    COMMENT = "comment"


@dataclass(frozen=True)
class TableDdl:
    """The changes of a table by a statement: `path` is its name after the statement, `previous` its
    former name if the statement changes it."""

    kind: DdlKind
    path: Path
    previous: Path | None = None
    steps: tuple[Step, ...] = ()

    def applied(self, table: Table | None) -> Table | None:
        """Return the table after the statement, from the table before it; None: the table does not
        exist. Raises HeadraceError `oracle.ddl_not_understood` if the statement does not say all of
        its effects, so that the data dictionary has to be read."""
        if self.kind is DdlKind.DROP:
            return None
        if self.kind in (DdlKind.TRUNCATE, DdlKind.COMMENT) and table is None:
            return None
        if self.kind is DdlKind.CREATE:
            table = Table(*self.path)
        if table is None:
            refuse(self.path, "nothing is known of the table before it")
        table = replace(table, schema=self.path[0], table=self.path[1])
        try:
            for step in self.steps:
                table = step(table)
        except DdlNotUnderstood as error:
            refuse(self.path, str(error))
        return table


def refuse(path: Path, reason: str) -> NoReturn:
    """Raise HeadraceError `oracle.ddl_not_understood`."""
    raise HeadraceError(
        "oracle.ddl_not_understood",
        f"A statement that changes the table {path[0]}.{path[1]} cannot be read: {reason}",
        "No action is needed if headrace reads the table from the data dictionary instead; take a "
        "new snapshot of the table if its columns are not those of the redo.",
    )


@dataclass(frozen=True)
class AddColumns:
    """Columns that are added after the others; an existing one is replaced."""

    columns: tuple[ColumnDefinition, ...]

    def __call__(self, table: Table) -> Table:
        for definition in self.columns:
            column = definition.made()
            if definition.name in table.by_name:
                table = _with_column(table, definition.name, column)
            else:
                table = replace(table, columns=(*table.columns, column))
        keys = tuple(definition.name for definition in self.columns if definition.is_key)
        return SetKey(keys)(table) if keys and not table.key else table


@dataclass(frozen=True)
class ModifyColumns:
    """Existing columns that are modified."""

    columns: tuple[ColumnDefinition, ...]

    def __call__(self, table: Table) -> Table:
        for definition in self.columns:
            column = _column(table, definition.name)
            table = _with_column(table, definition.name, definition.applied(column))
        keys = tuple(definition.name for definition in self.columns if definition.is_key)
        return SetKey(keys)(table) if keys else table


@dataclass(frozen=True)
class DropColumns:
    """Columns that are dropped, also from the key."""

    names: tuple[str, ...]

    def __call__(self, table: Table) -> Table:
        columns = tuple(column for column in table.columns if column.name not in self.names)
        return replace(
            table,
            columns=columns,
            key=tuple(column for column in table.key if column not in self.names),
        )


@dataclass(frozen=True)
class RenameColumn:
    """A column that is renamed."""

    old: str
    new: str

    def __call__(self, table: Table) -> Table:
        renamed = replace(_column(table, self.old), name=self.new)
        table = _with_column(table, self.old, renamed)
        return replace(
            table, key=tuple(self.new if column == self.old else column for column in table.key)
        )


@dataclass(frozen=True)
class SetKey:
    """The primary key, whose columns accept no null; empty: the table no longer has a key."""

    names: tuple[str, ...]

    def __call__(self, table: Table) -> Table:
        for name in self.names:
            table = _with_column(table, name, accepting(_column(table, name), nulls=False))
        return replace(table, key=self.names)


@dataclass(frozen=True)
class CommentColumn:
    """The new comment of a column."""

    name: str
    comment: str

    def __call__(self, table: Table) -> Table:
        described = replace(_column(table, self.name), comment=self.comment)
        return _with_column(table, self.name, described)


@dataclass(frozen=True)
class CommentTable:
    """The new comment of the table."""

    comment: str

    def __call__(self, table: Table) -> Table:
        return replace(table, comment=self.comment)


@dataclass(frozen=True)
class Unstated:
    """An effect that the statement does not state."""

    reason: str

    def __call__(self, _table: Table, /) -> Table:
        raise DdlNotUnderstood(self.reason)


def _column(table: Table, name: str) -> Column:
    column = table.by_name.get(name)
    if column is None:
        raise DdlNotUnderstood(f"the table has no column {name}")
    return column


def _with_column(table: Table, name: str, column: Column) -> Table:
    columns: Sequence[Column] = [
        column if former.name == name else former for former in table.columns
    ]
    return replace(table, columns=tuple(columns))
