"""The tables of a snapshot: their selection, chunks, descriptions, and the queries of chunks."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic

from headrace.config.properties.relational import RelationalConfig
from headrace.relational.capture import TableCapture
from headrace.relational.catalog import T, TableCatalog, TableReading
from headrace.relational.events import RelationFacts
from headrace.relational.overrides import Overrides
from headrace.relational.reading.chunk_sql import ChunkSql, Path
from headrace.relational.reading.chunk_targets import needed
from headrace.relational.table import Column
from headrace.snapshots.chunks import Chunk, ChunkKind, KeyBound
from headrace.snapshots.notifications import ChunkAnnouncements
from headrace.snapshots.slices import ChunkQuery
from headrace.snapshots.tables import Leaf, ReadingOrder, SnapshotTable, TableId

log = logging.getLogger(__name__)

_TABLES_AT_ONCE = 16
"""The most tables that are described together while chunks are cut."""
_TABLES_PER_QUERY = 200
"""The most tables in one query for tables that have rows."""
_COUNTED_PAGES = 128
"""The most pages of a leaf without statistics whose rows are counted."""


class SnapshotTables(ABC, Generic[T]):
    """The part of `headrace.snapshots.snapshot_source.SnapshotSource` that concerns tables,
    over a catalog; subclasses query the held snapshot. Methods raise HeadraceError."""

    dialect: str
    """sqlglot's name of the SQL of filters."""
    keyless: ClassVar[ChunkKind] = ChunkKind.PAGES
    """The cut of tables without key."""

    def __init__(
        self, config: RelationalConfig, capture: TableCapture, catalog: TableCatalog[T]
    ) -> None:
        self._settings, self._captured, self._tables = config, capture, catalog
        self._overrides = Overrides.of(config)
        self._readings: dict[TableId, TableReading[T]] = {}
        self._expected: list[TableId] = []
        self._numbers: dict[TableId, int] = {}
        self._described: dict[TableId, tuple[T, RelationFacts] | None] = {}
        self._left_out: set[TableId] = set()

    @property
    @abstractmethod
    def sql(self) -> ChunkSql:
        """The SQL for the held snapshot."""

    @property
    @abstractmethod
    def page_bytes(self) -> int:
        """See SnapshotSource."""

    @abstractmethod
    def _ask(self, statement: str, /) -> Sequence[tuple[Any, ...]]:
        """Run a query in the held snapshot and return its rows."""

    def _keys(self, statement: str, key: Sequence[Column], /) -> list[KeyBound]:  # noqa: ARG002
        """The keys that a query returns in the held snapshot, as texts. `key` are their columns,
        for databases whose queries return values."""
        return [tuple(str(value) for value in row) for row in self._ask(statement)]

    @abstractmethod
    def _estimate(self, leaf: Leaf, /) -> int:
        """Estimate the number of rows of a large leaf without statistics."""

    def _compare(self, facts: RelationFacts, /) -> None:
        """Prepare for queries that compare values of a table's types."""

    @abstractmethod
    def _check_filter(self, table: T, condition: str, /) -> None:
        """Raises ValueError with the server's message if it rejects a filter."""

    @abstractmethod
    def _is_empty(self, name: str, statement: str, /) -> bool:
        """Whether an override, the statement of the table `name`, returns no row."""

    @abstractmethod
    def _statement(
        self, chunk: Chunk, leaf: Leaf, condition: str | None, table: T, facts: RelationFacts, /
    ) -> Any:
        """Return the query of a chunk of one of the table's leaves; see ChunkQuery.query. Raises
        ValueError if its statement names an object that no longer exists."""

    # -- selection ------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The names of the tables whose rows are read: in the order of the include list, then by
        name."""
        return self._included(self._tables.tables())

    def _included(self, present: Sequence[T]) -> list[str]:
        chosen = self._settings.snapshot_filter()
        names = (table.name for table in present)
        included = [name for name in names if self._captured.reads(name) and chosen.accepts(name)]
        return sorted(included, key=self._captured.order)

    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        """See SnapshotSource."""
        present = self._tables.tables()
        ids = {table.name: table.id for table in present}
        if conditions is None:
            names = self._included(present)
        else:
            named = (name for name in conditions if self._captured.reads(name))
            names = sorted(named, key=self._captured.order)
        reading = self._read([ids[name] for name in names if name in ids])
        leaves_of = (table.leaves for table in reading.tables.values())
        filled = self._filled(sorted({leaf.path for leaves in leaves_of for leaf in leaves}))
        tables = []
        opens = True
        for name in names:
            table = reading.describe(ids[name]) if name in ids else None
            if table is None:
                continue
            condition = None if conditions is None else conditions[name]
            if condition is not None and not self._accepts(condition, table):
                continue
            cut, leaves = self._leaves(table, condition, filled)
            if leaves:
                tables.append(SnapshotTable(table.id, *table.path, cut, leaves, opens, condition))
            opens = False
        config = self._settings
        order = ReadingOrder(
            str(config.snapshot_tables_order_by_row_count),
            config.headrace_snapshot_chunk_bytes,
            self.page_bytes,
        )
        return order.of(tables, self.rows, self.has_key)

    def _accepts(self, condition: str, table: T) -> bool:
        try:
            self._check_filter(table, self._selected(condition, table))
        except ValueError as problem:
            log.warning("%s is not read: %s", table.name, problem)
            return False
        return True

    def _selected(self, condition: str, table: T) -> str:
        """Return a signal's filter as validated SQL. Raises ValueError."""
        from headrace.signals.conditions import selected_filter  # takes 0.2 s, rarely needed

        columns = {column.name for column in table.columns}
        return selected_filter(condition, table.name, columns, dialect=self.dialect)

    def _leaves(
        self, table: T, condition: str | None, filled: set[tuple[str, str]]
    ) -> tuple[ChunkKind, tuple[Leaf, ...]]:
        statement = self._overrides.statements.get(table.name)
        if statement is None or condition is not None:
            usable = table.key and set(table.key) <= table.not_null
            leaves = (leaf for leaf in table.leaves if leaf.path in filled)
            return ChunkKind.KEY if usable else self.keyless, tuple(leaves)
        empty = self._is_empty(table.name, statement)
        pages = sum(leaf.pages for leaf in table.leaves)
        rows = sum(leaf.rows for leaf in table.leaves)
        return ChunkKind.WHOLE, () if empty else (Leaf(table.id, *table.path, pages, rows),)

    def _filled(self, leaves: Sequence[Path]) -> set[Path]:
        """The leaves that have a row in the held snapshot."""
        filled: set[Path] = set()
        for start in range(0, len(leaves), _TABLES_PER_QUERY):
            queried_leaves = leaves[start : start + _TABLES_PER_QUERY]
            filled.update(
                queried_leaves[int(number)]
                for (number,) in self._ask(self.sql.filled(queried_leaves))
            )
        return filled

    def rows(self, leaf: Leaf) -> int:
        """See SnapshotSource."""
        if leaf.rows > 0:
            return leaf.rows
        if leaf.pages > _COUNTED_PAGES:
            return self._estimate(leaf)
        return int(self._ask(self.sql.count([leaf.path], None))[0][0])

    # -- descriptions ---------------------------------------------------------------------------

    def expect(self, tables: Sequence[SnapshotTable]) -> None:
        """See SnapshotSource: when a table is described, those after it are read together with
        it."""
        self._expected = [table.id for table in tables]
        self._numbers = {identity: number for number, identity in enumerate(self._expected)}

    def refresh(self, tables: Sequence[SnapshotTable] = ()) -> None:
        """See SnapshotSource. Descriptions from which chunks were already cut stay."""
        self._readings.clear()
        if tables:
            self._read([table.id for table in tables])

    def has_key(self, table: SnapshotTable) -> bool:
        """See SnapshotSource."""
        described = self._reading_of(table.id).describe(table.id)
        return described is not None and bool(self._facts(_as_planned(described, table)).key)

    def _describe(self, table: SnapshotTable) -> tuple[T, RelationFacts] | None:
        """Return the current table, and its facts, which have the name from the planning; None if
        it no longer exists."""
        if table.id not in self._described:
            described = self._reading_of(table.id).describe(table.id)
            self._described[table.id] = (
                None
                if described is None
                else (described, self._facts(_as_planned(described, table)))
            )
        return self._described[table.id]

    def _read(self, ids: Sequence[TableId]) -> TableReading[T]:
        """Read the current tables, for this range."""
        reading = self._tables.read(ids, sizes=True)
        self._readings.update(dict.fromkeys(ids, reading))
        return reading

    def _reading_of(self, identity: TableId) -> TableReading[T]:
        if identity not in self._readings:
            number = self._numbers.get(identity, len(self._expected))
            self._read([identity, *self._expected[number + 1 : number + _TABLES_AT_ONCE]])
        return self._readings[identity]

    def _facts(self, table: T) -> RelationFacts:
        return needed(self._captured.relation(table, table))

    # -- chunks ---------------------------------------------------------------------------------

    def next_bound(
        self, table: SnapshotTable, leaf: Leaf, lower: KeyBound | None, rows: int
    ) -> KeyBound | None:
        """See SnapshotSource."""
        described = self._describe(table)
        if described is None:
            return None
        key = described[0].key_columns
        self._compare(described[1])
        conditions = [] if lower is None else [self.sql.compared(key, ">=", lower)]
        bounds = self._keys(self.sql.key_after(leaf.path, key, conditions, rows), key)
        return bounds[0] if bounds else None

    def query(
        self, table: SnapshotTable, chunk: Chunk, announcements: ChunkAnnouncements | None
    ) -> ChunkQuery | None:
        """See SnapshotSource."""
        described = self._describe(table)
        if described is None:
            log.warning("%s no longer exists; its rows are left out", table.name)
            return None
        condition = None
        try:
            if table.condition is not None:
                condition = self._selected(table.condition, _as_planned(described[0], table))
            statement = self._statement(chunk, table.leaves[chunk.leaf], condition, *described)
        except ValueError as problem:
            if table.id not in self._left_out:
                self._left_out.add(table.id)
                log.warning("%s is left out from here on: %s", table.name, problem)
            return None
        count = None
        counted = announcements is not None and announcements.after
        if counted and not (chunk.first and len(table.leaves) == 1):
            count = self.sql.count([leaf.path for leaf in table.leaves], condition)
        return ChunkQuery(
            chunk, statement, described[1], announcements, condition is not None, count
        )


def _as_planned(described: T, table: SnapshotTable) -> T:
    """A table with the name from the planning, which events and filters use."""
    if described.path == (table.schema, table.table):
        return described
    return replace(described, schema=table.schema, table=table.table)
