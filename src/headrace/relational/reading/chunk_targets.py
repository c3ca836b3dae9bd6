"""Tables that incremental snapshots read: the key columns, and the condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic

from headrace.relational.capture import TableCapture
from headrace.relational.catalog import T, TableCatalog
from headrace.relational.events import RelationFacts
from headrace.relational.table import Column
from headrace.signals.progress import Pending
from headrace.snapshots.incremental.chunk_source import Skipped
from headrace.streaming.changes.key_columns import KeyRendering


@dataclass(frozen=True)
class TableTarget(Generic[T]):
    """A table that can be read in chunks. See `snapshots.incremental.source.Target`; `condition` is
    validated SQL."""

    table: T
    facts: RelationFacts
    key: tuple[str, ...]
    condition: str | None
    rendering: KeyRendering

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the key."""
        return self.table.columns_of(self.key)

    @property
    def order(self) -> str:
        """See Target: the table's identity, and the facts that determine its key's order."""
        return f"{self.table.id} {','.join(column.order for column in self.columns)}"

    @property
    def parts(self) -> frozenset[int]:
        """The ids of the table and its partitions."""
        return frozenset((self.table.id, *(leaf.id for leaf in self.table.leaves)))


class ChunkTargets(Generic[T]):
    """The captured tables of a database; `dialect` is sqlglot's name of its SQL."""

    def __init__(self, catalog: TableCatalog[T], capture: TableCapture, dialect: str) -> None:
        self._catalog, self._capture, self._dialect = catalog, capture, dialect

    def names(self) -> list[str]:
        """The names of the captured tables: in the order of the include list, then by name."""
        names = (table.name for table in self._catalog.tables())
        return sorted(filter(self._capture.reads, names), key=self._capture.order)

    def target(self, pending: Pending, rendering: KeyRendering) -> TableTarget[T]:
        """Return the target that reads a table, whose keys are rendered by `rendering`. Raises
        Skipped."""
        table = self._described(pending.name)
        facts = self._capture.relation(table, table)
        key = (pending.surrogate,) if pending.surrogate else facts.key
        names = {column.name for column in table.columns}
        if not key:
            raise Skipped("NO_PRIMARY_KEY", "it has no key (name one with surrogate-key)")
        if pending.surrogate and pending.surrogate not in names:
            raise Skipped("SQL_EXCEPTION", f"there is no column {pending.surrogate}")
        condition = None
        if pending.condition is not None:
            try:
                from headrace.signals.conditions import checked_filter  # takes 0.2 s, rarely needed

                condition = checked_filter(
                    pending.condition, pending.name, names, dialect=self._dialect
                )
            except ValueError as error:
                raise Skipped("SKIPPED", str(error)) from None
        return TableTarget(table, needed(facts, key), key, condition, rendering)

    def _described(self, name: str) -> T:
        if not self._capture.reads(name):
            raise Skipped("UNKNOWN_SCHEMA", "it is not captured")
        ids = [table.id for table in self._catalog.tables() if table.name == name][:1]
        reading = self._catalog.read(ids, sizes=True)
        for identity in ids:
            table = reading.describe(identity)
            if table is not None:
                return table
        raise Skipped("UNKNOWN_SCHEMA", "there is no such table")


def needed(facts: RelationFacts, key: Sequence[str] = ()) -> RelationFacts:
    """The facts without columns that neither events nor a key need, so that images do not contain
    them."""
    names = {*facts.key, *key}
    columns = tuple(c for c in facts.columns if c.captured or c.name in names)
    return replace(facts, columns=columns)
