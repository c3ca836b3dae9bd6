"""Which tables a snapshot reads, how each is cut, and in which order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogReading, CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import (
    find_operators_in,
    settings_of_users,
    translate,
)
from headrace.connectors.postgresql.filtered_rows import check_filter
from headrace.connectors.postgresql.reading.chunks import (
    PAGE_BYTES,
    chunk_kind,
    number_of_rows,
    query_is_empty,
    tables_with_rows,
)
from headrace.connectors.postgresql.reading.overrides import Overrides
from headrace.connectors.postgresql.types.type_facts import operator_schemas

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SnapshotTable:
    """A table that holds rows, as the table list keeps it. `kind`: see `Chunk`."""

    oid: int
    schema: str
    table: str
    kind: str
    leaves: tuple[tuple[int, str, str, int, int], ...]
    opens: bool  # the first captured table; the marker `first` is left out when it is empty
    condition: str | None = None  # of the signal that asked for it; checked when it is used

    @property
    def name(self) -> str:
        """schema.table"""
        return f"{self.schema}.{self.table}"

    def to_json(self) -> list[Any]:
        leaves = [list(leaf) for leaf in self.leaves]
        found = [self.oid, self.schema, self.table, self.kind, leaves, self.opens]
        return found if self.condition is None else [*found, self.condition]

    @staticmethod
    def from_json(data: list[Any]) -> SnapshotTable:
        oid, schema, table, kind, leaves, *rest = data
        return SnapshotTable(oid, schema, table, kind, tuple(tuple(leaf) for leaf in leaves), *rest)


def snapshot_tables(config: PostgresConfig, capture: Capture, catalog: Catalog) -> list[str]:
    """Names of the tables whose rows are read: by the include list, then by name."""
    return _snapshot_tables(config, capture, catalog.tables())


def _snapshot_tables(
    config: PostgresConfig, capture: Capture, there: Sequence[CatalogTable]
) -> list[str]:
    chosen = config.snapshot_filter()
    names = [table.name for table in there]
    taken = [name for name in names if capture.reads(name) and chosen.accepts(name)]
    return sorted(taken, key=capture.order)


class TableList:
    """Lists the tables of one snapshot, over a connection that sees it."""

    def __init__(
        self,
        connection: psycopg.Connection,
        config: PostgresConfig,
        capture: Capture,
        catalog: Catalog,
        read: Callable[[Sequence[int]], CatalogReading],
        has_key: Callable[[SnapshotTable], bool],
    ) -> None:
        """`read` describes tables."""
        self._connection, self._config = connection, config
        self._capture, self._catalog = capture, catalog
        self._read = read
        self._has_key = has_key
        self._overrides = Overrides.of(config)
        self._filled: set[tuple[str, str]] = set()

    def tables(self, wanted: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        """Tables with rows, in the order of the include list and by name, or by their number of
        rows; but where they are more than one chunk, those first that cannot be resumed: the
        ones without any key, and large ones without a usable one. `wanted` names those that a
        signal asks for, and their conditions."""
        there = self._catalog.tables()
        oids = {table.name: table.oid for table in there}
        if wanted is None:
            names = _snapshot_tables(self._config, self._capture, there)
        else:
            asked = (name for name in wanted if self._capture.reads(name))
            names = sorted(asked, key=self._capture.order)
        reading = self._read([oids[name] for name in names if name in oids])
        leaves_of = (table.leaves for table in reading.tables.values())
        names_of = {(leaf[1], leaf[2]) for leaves in leaves_of for leaf in leaves}
        self._filled = tables_with_rows(self._connection, sorted(names_of))
        found = []
        number = -1
        for name in names:
            table = reading.describe(oids[name]) if name in oids else None
            if table is None:
                continue
            condition = None if wanted is None else wanted[name]
            if condition is not None and not self._accepts(condition, table):
                continue
            number += 1
            kind, leaves = self._leaves(table, condition)
            if leaves:
                opens = number == 0
                found.append(
                    SnapshotTable(
                        table.oid, table.schema, table.table, kind, leaves, opens, condition
                    )
                )
        found = self._by_rows(found)
        if sum(map(_bytes, found)) > self._config.headrace_snapshot_chunk_bytes:
            found.sort(key=self._resumes)
        return found

    def _accepts(self, condition: str, table: CatalogTable) -> bool:
        from headrace.signals.conditions import selected_filter  # 0.2 s, seldom needed

        types = [column.type.facts for column in table.columns]
        find_operators_in(self._connection, operator_schemas(types))
        try:
            checked = selected_filter(condition, table.name, {c.name for c in table.columns})
            check_filter(self._connection, (table.schema, table.table), checked)
        except ValueError as problem:
            log.warning("%s is not read: %s", table.name, problem)
            return False
        return True

    def _leaves(
        self, table: CatalogTable, condition: str | None
    ) -> tuple[str, tuple[tuple[int, str, str, int, int], ...]]:
        statement = self._overrides.statements.get(table.name)
        if statement is None or condition is not None:
            leaves = tuple(leaf for leaf in table.leaves if (leaf[1], leaf[2]) in self._filled)
            return chunk_kind(table), leaves
        try:
            with settings_of_users(self._connection):
                empty = query_is_empty(self._connection, statement)
        except psycopg.Error as error:
            what = f"snapshot.select.statement.overrides.{table.name}"
            raise translate(error, self._config, what) from None
        pages = sum(leaf[3] for leaf in table.leaves)
        rows = sum(leaf[4] for leaf in table.leaves)
        whole = (table.oid, table.schema, table.table, pages, rows)
        return "query", () if empty else (whole,)

    def _by_rows(self, tables: list[SnapshotTable]) -> list[SnapshotTable]:
        order = self._config.snapshot_tables_order_by_row_count
        if order == "disabled":
            return tables
        rows = {
            table.oid: sum(number_of_rows(self._connection, leaf) for leaf in table.leaves)
            for table in tables
        }
        return sorted(tables, key=lambda t: rows[t.oid], reverse=order == "descending")

    def _resumes(self, table: SnapshotTable) -> bool:
        small = _bytes(table) <= self._config.headrace_snapshot_chunk_bytes
        return table.kind == "key" or (small and self._has_key(table))


def _bytes(table: SnapshotTable) -> int:
    return sum(leaf[3] for leaf in table.leaves) * PAGE_BYTES
