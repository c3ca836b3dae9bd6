"""Tables in a database's catalog: their identities, their partitions, and consistent readings of
the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from headrace.relational.table import Table
from headrace.snapshots.tables import Leaf, TableId


@dataclass(frozen=True)
class StoredTable(Table):
    """A table in its current state. `id` is its identity in the database; `leaves` are the
    partitions with rows, or the table itself if it is not partitioned."""

    id: TableId = 0
    leaves: tuple[Leaf, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether it is read without the tables that inherit from it; False if these are its
        partitions."""
        return True


T = TypeVar("T", bound=StoredTable)


@dataclass(frozen=True)
class TableReading(Generic[T]):
    """Tables by id in one state of the catalog; tables that do not exist are left out."""

    tables: Mapping[TableId, T]

    def describe(self, identity: TableId) -> T | None:
        """Return the table with this id; None if it does not exist."""
        return self.tables.get(identity)

    def named(self, schema: str, table: str) -> T | None:
        """Return the table with this name; None if it does not exist."""
        return self._by_name.get((schema, table))

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], T]:
        return {table.path: table for table in self.tables.values()}


class TableCatalog(Protocol[T]):
    """Lists and describes the tables of a database."""

    def tables(self) -> Sequence[T]:
        """Every table of the database, without columns and leaves."""
        ...

    def read(self, ids: Iterable[TableId] = (), /, *, sizes: bool = False) -> TableReading[T]:
        """Return tables with columns, key and leaves; `sizes`: the pages of the leaves are counted
        at the time of the call."""
        ...
