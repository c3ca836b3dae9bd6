"""Which tables a snapshot reads, and how each is cut."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import psycopg

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogReading, CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import (
    find_operators_in,
    settings_of_users,
    translate,
)
from headrace.connectors.postgresql.reading.chunks import (
    PAGE_BYTES,
    cut_of,
    number_of_rows,
    query_is_empty,
    tables_with_rows,
)
from headrace.connectors.postgresql.reading.filtered_rows import DIALECT, check_filter
from headrace.connectors.postgresql.types.type_facts import operator_schemas
from headrace.relational.overrides import Overrides
from headrace.snapshots.chunks import Cut
from headrace.snapshots.tables import Leaf, ReadingOrder, SnapshotTable

log = logging.getLogger(__name__)


def snapshot_tables(config: PostgresConfig, capture: Capture, catalog: Catalog) -> list[str]:
    """Names of the tables whose rows are read: by the include list, then by name."""
    return _included(config, capture, catalog.tables())


def _included(
    config: PostgresConfig, capture: Capture, present: Sequence[CatalogTable]
) -> list[str]:
    chosen = config.snapshot_filter()
    names = (table.name for table in present)
    included = [name for name in names if capture.reads(name) and chosen.accepts(name)]
    return sorted(included, key=capture.order)


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
        """`read` describes tables by their oids."""
        self._connection, self._config = connection, config
        self._capture, self._catalog = capture, catalog
        self._read = read
        self._has_key = has_key
        self._overrides = Overrides.of(config)
        self._filled: set[tuple[str, str]] = set()

    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        """Tables with rows: see `ReadingOrder`. `conditions`: only these, each with its filter."""
        present = self._catalog.tables()
        oids = {table.name: table.oid for table in present}
        if conditions is None:
            names = _included(self._config, self._capture, present)
        else:
            named = (name for name in conditions if self._capture.reads(name))
            names = sorted(named, key=self._capture.order)
        reading = self._read([oids[name] for name in names if name in oids])
        leaves_of = (table.leaves for table in reading.tables.values())
        leaf_names = {(leaf.schema, leaf.name) for leaves in leaves_of for leaf in leaves}
        self._filled = tables_with_rows(self._connection, sorted(leaf_names))
        tables = []
        number = -1
        for name in names:
            table = reading.describe(oids[name]) if name in oids else None
            if table is None:
                continue
            condition = None if conditions is None else conditions[name]
            if condition is not None and not self._accepts(condition, table):
                continue
            number += 1
            cut, leaves = self._leaves(table, condition)
            if leaves:
                opens = number == 0
                tables.append(
                    SnapshotTable(
                        table.oid, table.schema, table.table, cut, leaves, opens, condition
                    )
                )
        order = ReadingOrder(
            str(self._config.snapshot_tables_order_by_row_count),
            self._config.headrace_snapshot_chunk_bytes,
            PAGE_BYTES,
        )
        return order.of(tables, lambda leaf: number_of_rows(self._connection, leaf), self._has_key)

    def _accepts(self, condition: str, table: CatalogTable) -> bool:
        from headrace.signals.conditions import selected_filter  # 0.2 s, seldom needed

        types = [column.type.facts for column in table.columns]
        find_operators_in(self._connection, operator_schemas(types))
        try:
            checked = selected_filter(
                condition, table.name, {c.name for c in table.columns}, dialect=DIALECT
            )
            check_filter(self._connection, (table.schema, table.table), checked)
        except ValueError as problem:
            log.warning("%s is not read: %s", table.name, problem)
            return False
        return True

    def _leaves(self, table: CatalogTable, condition: str | None) -> tuple[Cut, tuple[Leaf, ...]]:
        statement = self._overrides.statements.get(table.name)
        if statement is None or condition is not None:
            filled = [leaf for leaf in table.leaves if (leaf.schema, leaf.name) in self._filled]
            return cut_of(table), tuple(filled)
        try:
            with settings_of_users(self._connection):
                empty = query_is_empty(self._connection, statement)
        except psycopg.Error as error:
            what = f"snapshot.select.statement.overrides.{table.name}"
            raise translate(error, self._config, what) from None
        pages = sum(leaf.pages for leaf in table.leaves)
        rows = sum(leaf.rows for leaf in table.leaves)
        whole = Leaf(table.oid, table.schema, table.table, pages, rows)
        return Cut.WHOLE, () if empty else (whole,)
