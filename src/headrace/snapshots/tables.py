"""The tables of a snapshot: their form in offsets, and the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from headrace.signals.stored import (
    LARGEST_COUNT,
    checked_number,
    checked_text,
    listed,
    optional_text,
    reading,
)
from headrace.snapshots.chunks import ChunkKind

TableId = Any
"""The identity of a table, or of a partition, in its database: a number, or a text if tables have
no numbers. Offsets contain it as JSON."""


class Leaf(NamedTuple):
    """A partition with rows, or a table that has no partitions: its identity in the database, its
    number of pages, and of rows by the statistics (0 or less: no statistics)."""

    id: TableId
    schema: str
    name: str
    pages: int
    rows: int

    @property
    def path(self) -> tuple[str, str]:
        """Schema and name."""
        return self.schema, self.name


@dataclass(frozen=True)
class SnapshotTable:
    """A table with rows. `opens`: it is the first captured table (if that one is empty, no row has
    the marker `first`). `condition` is that of the signal that asked for the table; it is checked
    when it is used. `key` names the key that bounds its chunks, in the notation of the database,
    `parts` the partitions it had when its leaves were listed; None: it is not compared, or was
    written by an earlier release."""

    id: TableId
    schema: str
    table: str
    kind: ChunkKind
    leaves: tuple[Leaf, ...]
    opens: bool
    condition: str | None = None
    key: str | None = None
    parts: str | None = None

    @staticmethod
    def of(
        leaf: Leaf, kind: ChunkKind, *, opens: bool, condition: str | None = None
    ) -> SnapshotTable:
        """Return a table without partitions."""
        return SnapshotTable(leaf.id, leaf.schema, leaf.name, kind, (leaf,), opens, condition)

    @property
    def name(self) -> str:
        """The name as schema.table, or the table alone if there are no schemas."""
        return f"{self.schema}.{self.table}" if self.schema else self.table

    @property
    def pages(self) -> int:
        """The number of pages of all leaves."""
        return sum(leaf.pages for leaf in self.leaves)

    @property
    def rows(self) -> int | None:
        """The number of rows of all leaves, by the statistics; None if a leaf has no statistics."""
        counts = [leaf.rows for leaf in self.leaves]
        return sum(counts) if all(count > 0 for count in counts) else None

    def to_json(self) -> list[Any]:
        """Return the table as JSON for offsets."""
        leaves = [list(leaf) for leaf in self.leaves]
        members = [self.id, self.schema, self.table, str(self.kind), leaves, self.opens]
        further = [self.condition, self.key, self.parts]
        while further and further[-1] is None:
            further.pop()
        return members + further

    @staticmethod
    def from_json(data: list[Any]) -> SnapshotTable:
        """Read the JSON list of `to_json`. Raises HeadraceError("offset.broken")."""
        with reading(data):
            identity, schema, table, kind, leaves, opens, *further = data
            condition, key, parts = [*further, None, None, None][: max(3, len(further))]
            return SnapshotTable(
                _identity(identity),
                checked_text(schema, "schema"),
                checked_text(table, "table"),
                ChunkKind(kind),
                listed(leaves, "leaves", _leaf),
                bool(opens),
                optional_text(condition, "condition"),
                optional_text(key, "key"),
                optional_text(parts, "parts"),
            )

    def cut(self, leaves: tuple[Leaf, ...], parts: str | None) -> SnapshotTable:
        """Return the table with other leaves."""
        return replace(self, leaves=leaves, parts=parts)


def _leaf(data: object) -> Leaf:
    identity, schema, name, pages, rows = listed(data, "leaves", lambda member: member)
    return Leaf(
        _identity(identity),
        checked_text(schema, "schema"),
        checked_text(name, "name"),
        checked_number(pages, "pages"),
        checked_number(rows, "rows", least=-LARGEST_COUNT),
    )


def _identity(value: object) -> TableId:
    return value if isinstance(value, str) else checked_number(value, "id")


@dataclass(frozen=True)
class ReadingOrder:
    """The order in which a snapshot reads its tables. `by_rows` is
    snapshot.tables.order.by.row.count (disabled, ascending, descending)."""

    by_rows: str
    chunk_bytes: int
    page_bytes: int

    def of(
        self,
        tables: Sequence[SnapshotTable],
        rows: Callable[[Leaf], int],
        has_key: Callable[[SnapshotTable], bool],
    ) -> list[SnapshotTable]:
        """Return the tables in their order, or by their number of `rows`. Of those with more than
        one chunk, the ones that cannot be resumed come first: tables without a key, and large ones
        without a usable key."""
        ordered = list(tables)
        if self.by_rows != "disabled":
            counts = {table.id: sum(map(rows, table.leaves)) for table in tables}
            ordered.sort(key=lambda table: counts[table.id], reverse=self.by_rows == "descending")
        if sum(table.pages for table in tables) * self.page_bytes > self.chunk_bytes:
            ordered.sort(key=lambda table: self._resumes(table, has_key))
        return ordered

    def _resumes(self, table: SnapshotTable, has_key: Callable[[SnapshotTable], bool]) -> bool:
        small = table.pages * self.page_bytes <= self.chunk_bytes
        return table.kind is ChunkKind.KEY or (small and has_key(table))
