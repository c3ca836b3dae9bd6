"""Columns of a table that follow those of its source, in the commits of micro-batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headrace.sinks.replicas import refusals
from headrace.sinks.replicas.changes.part import Part
from headrace.sinks.replicas.changes.schemas import of_json
from headrace.sinks.replicas.columns.kept_columns import change_of_kept_columns
from headrace.sinks.replicas.evolution import change_of_columns, steps_of
from headrace.sinks.replicas.lake import (
    BATCH,
    OWN,
    QUERY,
    SOURCE,
    Column,
    ColumnChange,
    LakeTable,
    TableChange,
    TableName,
    TableSchema,
    Transaction,
)
from headrace.sinks.replicas.modes.mode import Mode
from headrace.sinks.replicas.modes.own_columns import with_own_columns, without_own_columns
from headrace.sinks.replicas.options import Ambiguous
from headrace.sinks.replicas.outcomes import Work
from headrace.sinks.replicas.runners import Runner
from headrace.sinks.replicas.source_columns import after, is_replaced, property_of, with_ids


@dataclass(frozen=True)
class FollowedColumns:
    """Changes the columns of the table `name` after those of its source. Methods raise
    HeadraceError."""

    name: TableName
    mode: Mode
    ambiguous: Ambiguous
    runner: Runner

    def begin(self, table: LakeTable, target: TableSchema, work: Work) -> Transaction:
        """Begin a transaction after which the table has the wanted columns: those of the source,
        and `__deleted` with soft deletes."""
        target = self._keyed(target)
        transaction = table.begin(ColumnChange())
        is_empty = not any(file.rows > file.deleted for file in transaction.files)
        current = self.current(table, target)
        change = self._change(current, target, is_empty=is_empty, is_copied=work.is_copied)
        if not change:
            return transaction
        *first, last = steps_of(change, current)
        for step in first:
            begun = table.begin(step)
            current = after(current, step)
            removed = list(begun.files) if is_empty else []
            begun.commit(TableChange(removed=removed), self._keeper(table, current))
        fills = last.added and not is_empty and not work.is_copied and self.mode is not Mode.APPEND
        if fills and self._fill(table, last, work.name, after(current, last)):
            last = ColumnChange()
        return table.begin(last)

    def current(self, table: LakeTable, target: TableSchema) -> TableSchema:
        """Return the columns of a table, without those that headrace adds in its mode."""
        schema = with_ids(table.schema(), table.properties().get(SOURCE, ""), target)
        return without_own_columns(schema, self.mode)

    def require(self, current: TableSchema, target: TableSchema) -> None:
        """Refuse what even an empty table does not take."""
        change_of_columns(self.name, current, target, self.ambiguous, is_empty=True)

    def older_values(
        self,
        parts: Sequence[Part],
        renamed: Mapping[str, Mapping[str, str]],
        target: TableSchema,
    ) -> dict[str, object]:
        """Return the values of columns that some parts lack because they are older; a change log
        has null there. Raises HeadraceError("replicas.default_unknown")."""
        if self.mode is Mode.APPEND:
            return {}
        lacking: set[str] = set()
        for part in parts:
            if part.path:
                now = renamed.get(part.path, {})
                had = {now.get(name, name) for name in of_json(part.schema).names}
                lacking |= {name for name in target.names if name not in had}
        columns = [column for column in target.columns if column.name in lacking]
        for column in columns:
            if not column.is_known:
                raise refusals.default_unknown(self.name, column)
        return _defaults(columns)

    def renamed(self, parts: Sequence[Part], newest: TableSchema) -> dict[str, Mapping[str, str]]:
        """Return new names of columns by former ones, by the paths of parts with former ones."""
        renamed: dict[str, Mapping[str, str]] = {}
        for part in parts:
            had = of_json(part.schema) if part.path else newest
            if _ids(had) != _ids(newest) and not is_replaced(had, newest):
                late = self._keyed(newest)
                change = change_of_columns(self.name, self._keyed(had), late, self.ambiguous)
                # A dropped column's name may be another column's now.
                gone = {name: f"{OWN}dropped_{name}" for name in change.dropped}
                if change.renamed or gone:
                    renamed[part.path] = {**gone, **change.renamed}
        return renamed

    def _keyed(self, schema: TableSchema) -> TableSchema:
        """Return the schema with the key by which the table finds rows: a change log has none."""
        return replace(schema, key=()) if self.mode is Mode.APPEND else schema

    def _change(
        self, current: TableSchema, target: TableSchema, *, is_empty: bool, is_copied: bool
    ) -> ColumnChange:
        if is_empty or not self.mode.keeps_rows:
            return change_of_columns(self.name, current, target, self.ambiguous, is_empty=is_empty)
        retypes = is_copied or self.mode is Mode.APPEND
        return change_of_kept_columns(self.name, current, target, self.ambiguous, retypes=retypes)

    def _fill(self, table: LakeTable, change: ColumnChange, name: str, late: TableSchema) -> bool:
        """Fill existing rows with the values of new columns for older rows, and commit the change;
        returns False without a commit if these are null."""
        from headrace.sinks.replicas.files.compacting import fill

        for column in change.added:
            if not column.is_known:
                raise refusals.default_unknown(self.name, column)
        defaults = _defaults(change.added)
        if not defaults:
            return False
        transaction = table.begin(change)
        filled = fill(transaction, f"{name}-fill", self.runner, defaults)
        transaction.commit(filled, self._keeper(table, late))
        return True

    def _keeper(self, table: LakeTable, late: TableSchema) -> dict[str, str]:
        """Return the properties that mark a commit within a micro-batch as the query's own, and
        those of the columns after it."""
        return own_properties(table) | source_property(
            with_own_columns(self.name, late, self.mode), table
        )


def own_properties(table: LakeTable) -> dict[str, str]:
    """Return the properties that mark a commit within a micro-batch as the query's own."""
    properties = table.properties()
    return {name: properties[name] for name in (QUERY, BATCH) if name in properties}


def source_property(schema: TableSchema, table: LakeTable | None = None) -> dict[str, str]:
    """Return the property of the source of a table, with these columns."""
    former = "" if table is None else table.properties().get(SOURCE, "")
    text = property_of(schema, former)
    return {SOURCE: text} if text else {}


def _ids(schema: TableSchema) -> list[tuple[str, str]]:
    return [(column.name, column.id) for column in schema.columns]


def _defaults(columns: Sequence[Column]) -> dict[str, object]:
    return {column.name: column.default for column in columns if column.default is not None}
