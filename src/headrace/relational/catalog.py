"""What a catalogue says of tables: their identities, their partitions, and one reading of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from headrace.relational.table import Table
from headrace.snapshots.tables import Leaf, TableId


@dataclass(frozen=True)
class StoredTable(Table):
    """A table as it is now. `id` is its identity in the database; `leaves` are the partitions with
    rows, or the table itself when it is not partitioned."""

    id: TableId = 0
    leaves: tuple[Leaf, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether it is read without the tables that inherit from it: not when they are its
        partitions."""
        return True


T = TypeVar("T", bound=StoredTable)


@dataclass(frozen=True)
class TableReading(Generic[T]):
    """Tables by id as one state of the catalogue shows them; what is not there is no member."""

    tables: Mapping[TableId, T]

    def describe(self, identity: TableId) -> T | None:
        """A table; None if no table has this id."""
        return self.tables.get(identity)

    def named(self, schema: str, table: str) -> T | None:
        """The table of that name."""
        return self._by_name.get((schema, table))

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], T]:
        return {table.path: table for table in self.tables.values()}


class TableCatalog(Protocol[T]):
    """Lists and describes tables."""

    def tables(self) -> Sequence[T]:
        """Every table of the database, without columns and leaves."""
        ...

    def read(self, ids: Iterable[TableId] = (), /, *, sizes: bool = False) -> TableReading[T]:
        """Tables with columns, key and leaves; `sizes`: the leaves' pages are counted now."""
        ...
