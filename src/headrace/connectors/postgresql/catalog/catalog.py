"""Catalogue queries: tables, columns, keys, types. A role with SELECT on the tables suffices."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import psycopg

from headrace.connectors.postgresql.catalog.older_rows import is_since, nulls_before
from headrace.connectors.postgresql.catalog.unique_indexes import UNIQUE_INDEXES, UniqueIndex
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import QUERY_LIMIT, connect, translate
from headrace.connectors.postgresql.types.resolve import PostgresType
from headrace.connectors.postgresql.types.type_facts import NO_TYPMOD, TypeFacts
from headrace.connectors.postgresql.visibility import VisibleTransactions
from headrace.relational.catalog import StoredTable, TableReading
from headrace.relational.table import Column, Filler
from headrace.snapshots.tables import Leaf

_Answer = TypeVar("_Answer")
Values = Sequence[object] | Mapping[str, object]
"""The parameters of a query."""


@dataclass(frozen=True)
class CatalogColumn(Column):
    """A column as it is now; `default` is pg_get_expr, `number` attnum, `collation` an oid.
    `fills`: rows that existed before the column have a value in it (pg_attribute.atthasmissing)."""

    type: PostgresType
    generated: bool = False
    fills: bool = False
    number: int = field(default=0, compare=False)
    collation: int = field(default=0, compare=False)
    changed_by: int = field(default=0, compare=False)
    """The transaction that changed the column last."""
    is_null_before: bool = field(default=False, compare=False)
    """Whether older rows have null in the column unless the table was rewritten since."""

    @property
    def order(self) -> str:
        """See Column; a renamed column keeps its order."""
        return f"{self.number}:{self.type.facts.oid}:{self.collation}"


@dataclass(frozen=True)
class TableHistory:
    """The catalogue's entries about earlier versions of a table: whether its file is not the first
    one (VACUUM FULL, TRUNCATE, ALTER TABLE), the transactions that changed its entry last and that
    created it, the columns that were dropped (numbers, and the transactions that dropped them), and
    whether a publication lists columns, so that the log may have only some."""

    is_rewritten: bool = False
    changed_by: int = 0
    created_by: int = 0
    dropped: Mapping[int, int] = field(default_factory=dict)
    lists_columns: bool = False


@dataclass(frozen=True)
class CatalogTable(StoredTable):
    """An ordinary or partitioned table. `id` is its oid, `identity` pg_class.relreplident."""

    columns: tuple[CatalogColumn, ...] = ()
    partitioned: bool = False
    identity: str = "d"
    history: TableHistory = field(default_factory=TableHistory, compare=False)

    @property
    def unproven(self) -> tuple[CatalogColumn, ...]:
        """Columns whose older rows have null unless it was a rewrite that removed what the
        catalogue knew of them."""
        return tuple(
            column
            for column in self.columns
            if column.is_null_before and not (column.filler and column.filler.is_known)
        )

    @property
    def alone(self) -> bool:
        """See StoredTable; the children of an ordinary table are separate tables."""
        return not self.partitioned


_TABLES = """
SELECT c.oid, n.nspname, c.relname, c.relkind = 'p', c.relreplident::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_t%%'
"""
_COMMENTS = """
SELECT n.nspname::text || '.' || c.relname::text, COALESCE(obj_description(c.oid, 'pg_class'), '')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
"""
_CHOSEN = """ AND (c.oid = ANY (%s::oid[])
  OR (n.nspname, c.relname) IN (SELECT * FROM unnest(%s::name[], %s::name[])))
"""
_COLUMNS = """
SELECT a.attrelid, a.attname, a.atttypid, a.atttypmod,
       a.attnotnull OR (t.typtype = 'd' AND t.typnotnull),
       CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END,
       a.attgenerated <> '', col_description(a.attrelid, a.attnum), a.atthasmissing,
       a.attnum, a.attcollation, (a.attmissingval::text::text[])[1],
       a.attgenerated <> '' OR a.attidentity <> '', a.xmin::text::bigint
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = ANY (%s::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum
"""
_HISTORIES = """
SELECT c.oid, c.relkind = 'p' OR c.relfilenode <> c.oid, c.xmin::text::bigint,
  (SELECT a.xmin::text::bigint FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = -1),
  ARRAY(SELECT a.attnum::int FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attisdropped ORDER BY a.attnum),
  ARRAY(SELECT a.xmin::text::bigint FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attisdropped ORDER BY a.attnum),
  EXISTS (SELECT FROM pg_publication_rel r WHERE to_jsonb(r)->>'prattrs' IS NOT NULL)
FROM pg_class c WHERE c.oid = ANY (%s::oid[])
"""
_IDENTITIES = """
SELECT i.indrelid, array_agg(a.attname::text)
FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k(number, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
WHERE i.indrelid = ANY (%s::oid[]) AND k.place <= i.indnkeyatts
  AND (c.relreplident = 'd' AND i.indisprimary OR c.relreplident = 'i' AND i.indisreplident)
GROUP BY i.indrelid
"""
_LEFT_OUT = """
SELECT t.schemaname::text || '.' || t.tablename::text, format('the publication %%s leaves out %%s',
  t.pubname, concat_ws(', ', CASE WHEN NOT pubinsert THEN 'INSERT' END,
    CASE WHEN NOT pubupdate THEN 'UPDATE' END, CASE WHEN NOT pubdelete THEN 'DELETE' END,
    CASE WHEN NOT pubtruncate THEN 'TRUNCATE' END, 'rows without ' || (to_jsonb(t)->>'rowfilter')))
FROM pg_publication p JOIN pg_publication_tables t USING (pubname) WHERE pubname = %s
  AND NOT (pubinsert AND pubupdate AND pubdelete AND pubtruncate
    AND to_jsonb(t)->>'rowfilter' IS NULL)
"""
_VIA_ROOT = """
SELECT coalesce((to_jsonb(p)->>'pubviaroot')::boolean, false) FROM pg_publication p
WHERE pubname = %s
"""
_LEAVES = """
WITH RECURSIVE tree(root, oid) AS (
  SELECT r.oid, r.oid FROM unnest(%(oids)s::oid[]) r(oid) UNION ALL
  SELECT t.root, i.inhrelid FROM tree t JOIN pg_inherits i ON i.inhparent = t.oid
  JOIN pg_class p ON p.oid = t.oid AND p.relkind = 'p')
SELECT t.root, c.oid, n.nspname, c.relname, c.relpages, GREATEST(c.reltuples, 0)::bigint,
       CASE WHEN %(sizes)s THEN COALESCE(pg_relation_size(c.oid), 0) / 8192 ELSE 0 END
FROM tree t JOIN pg_class c ON c.oid = t.oid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' ORDER BY t.root, n.nspname, c.relname
"""
_ROOTS = """
WITH RECURSIVE tree(root, oid) AS (
  SELECT p.oid, i.inhrelid FROM pg_class p JOIN pg_inherits i ON i.inhparent = p.oid
  WHERE p.relkind = 'p' AND NOT p.relispartition UNION ALL
  SELECT t.root, i.inhrelid FROM tree t JOIN pg_inherits i ON i.inhparent = t.oid
  JOIN pg_class p ON p.oid = t.oid AND p.relkind = 'p')
SELECT oid, root FROM tree
"""
_ESTIMATES = """
SELECT n.nspname::text || '.' || c.relname::text,
  CASE WHEN bool_or(l.reltuples <= 0 AND pg_relation_size(l.oid) > 0) THEN -1
       ELSE sum(greatest(l.reltuples, 0))::bigint END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN LATERAL (SELECT c.oid AS oid WHERE c.relkind = 'r' UNION ALL
  SELECT t.relid FROM pg_partition_tree(c.oid) t WHERE c.relkind = 'p' AND t.isleaf) f ON true
JOIN pg_class l ON l.oid = f.oid
WHERE c.relkind IN ('r', 'p') AND n.nspname::text || '.' || c.relname::text = ANY (%s)
GROUP BY 1
"""
_TYPES = """
WITH RECURSIVE needed(oid) AS (
  SELECT unnest(%s::oid[]) UNION
  SELECT part.oid FROM needed n JOIN pg_type t ON t.oid = n.oid
  CROSS JOIN LATERAL (VALUES
    (CASE WHEN t.typelem <> 0 AND t.typlen = -1 AND t.typcategory = 'A' THEN t.typelem END),
    (CASE WHEN t.typtype = 'd' THEN t.typbasetype END)) part(oid)
  WHERE part.oid IS NOT NULL)
SELECT t.oid, t.typname, n.nspname, t.typtype::text,
       CASE WHEN t.typelem <> 0 AND t.typlen = -1 AND t.typcategory = 'A' THEN t.typelem END,
       CASE WHEN t.typtype = 'd' THEN t.typbasetype END, t.typtypmod,
       ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = t.oid
             ORDER BY e.enumsortorder),
       t.typdelim::text
FROM needed JOIN pg_type t ON t.oid = needed.oid JOIN pg_namespace n ON n.oid = t.typnamespace
"""


@dataclass(frozen=True)
class CatalogReading(TableReading[CatalogTable]):
    """Tables and types by oid as one snapshot of the catalogue shows them; `snapshot` is its
    `txid_current_snapshot()`. A requested type that does not exist is a pseudo-type."""

    types: Mapping[int, TypeFacts]
    snapshot: str
    older_than: int | None = None
    """The transaction before which rows with values in newer columns were searched."""

    def sees(self, xid: int) -> bool:
        """Whether the snapshot sees the transaction `xid` of the log."""
        return VisibleTransactions(self.snapshot).sees(xid)

    def is_since(self, changed_by: int, xid: int) -> bool:
        """Whether a change of the catalogue by the transaction `changed_by` is of `xid` or a later
        transaction; a transaction that ends later can have a smaller id."""
        return is_since(changed_by, xid, self.snapshot)

    def type_facts(self, oid: int) -> TypeFacts:
        """Return the type with this oid; a pseudo-type if it is unknown."""
        return self.types.get(oid) or _no_type(oid)


@dataclass
class Catalog:
    """Queries of the catalogue on one connection, which the first query opens. `limit` names the
    property that limits the queries of a given `connection`."""

    config: PostgresConfig
    connection: psycopg.Connection | None = None
    limit: str = QUERY_LIMIT

    def rows(self, query: str, values: Values | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises HeadraceError."""
        return self._asked(lambda connection: _ask(connection, query, values))

    def value(self, query: str) -> str:
        """Return the result of a query of one row and one column, as text."""
        return str(self.rows(query)[0][0])

    def _asked(self, ask: Callable[[psycopg.Connection], _Answer]) -> _Answer:
        for attempt in (1, 2):
            if self.connection is None or self.connection.closed:
                self.connection = connect(
                    self.config, application="headrace catalogue", limit=QUERY_LIMIT
                )
            try:
                return ask(self.connection)
            except psycopg.Error as error:
                dead = self.connection.closed or self.connection.broken
                if not dead or attempt == 2:
                    doing = "Reading the catalogue"
                    raise translate(error, self.config, doing, self.limit) from None
                self.connection = None
        raise AssertionError

    def cancel(self) -> None:
        """Cancel the query that another thread waits for; never raises."""
        connection = self.connection
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                connection.cancel_safe(timeout=5)

    def close(self) -> None:
        """Close the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def tables(self) -> list[CatalogTable]:
        """Every table of the database (without columns; see `describe`), partitions included."""
        return [
            CatalogTable(schema, table, id=oid, partitioned=partitioned, identity=identity)
            for oid, schema, table, partitioned, identity in self.rows(_TABLES)
        ]

    def comments(self) -> dict[str, str]:
        """The comments of all tables by `schema.table`; empty for a table without comment."""
        return {str(name): str(comment) for name, comment in self.rows(_COMMENTS)}

    def identities(self, oids: Sequence[int]) -> dict[int, frozenset[str]]:
        """The columns of the replica identities that are keys, by the oid of the table."""
        return {int(oid): frozenset(names) for oid, names in self.rows(_IDENTITIES, (list(oids),))}

    def left_out(self, publication: str) -> dict[str, str]:
        """Return the changes of tables that a publication leaves out, in words, by
        `schema.table`."""
        return {str(name): str(changes) for name, changes in self.rows(_LEFT_OUT, (publication,))}

    def via_root(self, publication: str) -> bool | None:
        """Return whether a publication names changes of partitions by their root; None: it does not
        exist."""
        rows = self.rows(_VIA_ROOT, (publication,))
        return bool(rows[0][0]) if rows else None

    def partition_roots(self) -> dict[int, int]:
        """The oid of the topmost parent of each partition, by the oid of the partition."""
        return {int(partition): int(root) for partition, root in self.rows(_ROOTS)}

    def leaves(self, oids: Sequence[int]) -> dict[int, tuple[Leaf, ...]]:
        """The leaves of partitioned tables, by the oid of the table; waits for no lock."""
        if not oids:
            return {}
        by_root: dict[int, list[Leaf]] = {oid: [] for oid in oids}
        for root, *leaf in self.rows(_LEAVES, {"oids": list(oids), "sizes": False}):
            by_root[int(root)].append(Leaf(*leaf[:5]))
        return {oid: tuple(leaves) for oid, leaves in by_root.items()}

    def read(
        self,
        oids: Iterable[int] = (),
        *,
        names: Iterable[tuple[str, str]] = (),
        types: Iterable[int] = (),
        sizes: bool = False,
        older_than: int | None = None,
    ) -> CatalogReading:
        """Tables by oid and by name (schema, table), the types of their columns, and `types` in
        addition, all read on one snapshot with a constant number of queries. It waits while a table
        is locked exclusively, because PostgreSQL locks a table to print its defaults. `sizes`: the
        leaves' pages are those of the files; otherwise those of the statistics. `older_than`:
        columns of rewritten tables in which all rows before this transaction have null get null as
        their filler; otherwise it stays unknown."""
        chosen = list(oids), list(names), list(types)
        return self._asked(
            lambda connection: _read(connection, *chosen, sizes=sizes, older_than=older_than)
        )

    def estimates(self, names: Sequence[str]) -> dict[str, int]:
        """Row counts by `schema.table` according to the statistics; -1: unknown."""
        counts = self.rows(_ESTIMATES, (list(names),))
        return {str(name): int(rows) for name, rows in counts}

    def setting(self, name: str) -> str:
        """A server setting as text; empty when it does not exist."""
        settings = self.rows("SELECT setting FROM pg_settings WHERE name = %s", (name,))
        return str(settings[0][0]) if settings else ""


def _ask(
    connection: psycopg.Connection, query: str, values: Values | None = None
) -> list[tuple[Any, ...]]:
    return connection.execute(query.encode(), values).fetchall()


def _read(
    connection: psycopg.Connection,
    oids: list[int],
    names: list[tuple[str, str]],
    types: list[int],
    *,
    sizes: bool,
    older_than: int | None,
) -> CatalogReading:
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        snapshot = str(_ask(connection, "SELECT txid_current_snapshot()::text")[0][0])
        listed: list[tuple[Any, ...]] = []
        if oids or names:
            schemas, tables = [name[0] for name in names], [name[1] for name in names]
            listed = _ask(connection, _TABLES + _CHOSEN, (oids, schemas, tables))
        present = [row[0] for row in listed]
        columns: dict[int, list[tuple[Any, ...]]] = {oid: [] for oid in present}
        keys: dict[int, UniqueIndex] = {}
        histories: dict[int, TableHistory] = {}
        leaves: dict[int, list[Leaf]] = {oid: [] for oid in present}
        if present:
            for oid, *column in _ask(connection, _COLUMNS, (present,)):
                columns[oid].append(tuple(column))
            for oid, *facts, numbers, by, lists in _ask(connection, _HISTORIES, (present,)):
                is_rewritten, changed_by, created_by = facts
                dropped = dict(zip(numbers, by, strict=True))
                histories[oid] = TableHistory(is_rewritten, changed_by, created_by, dropped, lists)
            for oid, key, *index in _ask(connection, UNIQUE_INDEXES, (present,)):
                keys[oid] = UniqueIndex(tuple(key or ()), *index)
            chosen = {"oids": present, "sizes": sizes}
            for root, oid, schema, name, pages, rows, real in _ask(connection, _LEAVES, chosen):
                leaf = Leaf(oid, schema, name, max(pages, real), _rows_now(rows, pages, real))
                leaves[root].append(leaf)
        needed = {int(column[1]) for table_columns in columns.values() for column in table_columns}
        described_types = _types(_ask(connection, _TYPES, (sorted(needed.union(types)),)))
        described = {}
        for oid, schema, table, partitioned, identity in listed:
            described_columns = tuple(_columns(columns[oid], described_types, histories[oid]))
            key = keys.get(oid, UniqueIndex())
            described[oid] = CatalogTable(
                schema,
                table,
                described_columns,
                key.columns,
                oid,
                tuple(leaves[oid]),
                partitioned,
                identity,
                histories[oid],
                own_id=str(oid),
                key_doubt=key.doubt(described_columns),
            )
        if older_than is not None:
            described = {
                oid: _with_nulls(connection, table, older_than, snapshot)
                for oid, table in described.items()
            }
    unknown = {oid: _no_type(oid) for oid in types if oid not in described_types}
    return CatalogReading(described, unknown | described_types, snapshot, older_than)


def _columns(
    rows: list[tuple[Any, ...]], types: Mapping[int, TypeFacts], history: TableHistory
) -> Iterable[CatalogColumn]:
    """Columns with the null that their older rows have, where that is certain. The columns of a
    CREATE TABLE have none: they are new to headrace because they were not captured."""
    columns = [_column(row, types) for row in rows]
    numbers = {**history.dropped, **{column.number: column.changed_by for column in columns}}
    created = max((n for n, by in numbers.items() if by == history.created_by), default=0)
    for column in columns:
        is_null = column.is_null_before and column.number > created
        known = column.filler if column.fills or not is_null or history.is_rewritten else Filler()
        yield replace(column, is_null_before=is_null, filler=known)


def _with_nulls(
    connection: psycopg.Connection, table: CatalogTable, xid: int, snapshot: str
) -> CatalogTable:
    """A rewritten table with the nulls of rows before the transaction `xid` as fillers. ALTER TABLE
    gives the rows that it writes its own transaction, so all rows are searched if there may have
    been one since."""
    unproven = {column.name: column.changed_by for column in table.unproven}
    if not unproven:
        return table
    older = None if is_since(table.history.changed_by, xid, snapshot) else xid
    nulls = nulls_before(connection, table.path, unproven, older, snapshot)
    columns = (replace(c, filler=Filler()) if c.name in nulls else c for c in table.columns)
    return replace(table, columns=tuple(columns))


def _column(row: tuple[Any, ...], types: Mapping[int, TypeFacts]) -> CatalogColumn:
    """A column from a row of `_COLUMNS` without its table."""
    name, type_oid, typmod, not_null, default, generated, comment, fills, *more = row
    number, collation, missing, is_computed, changed_by = more
    declared = PostgresType(types.get(type_oid) or _no_type(type_oid), typmod)
    return CatalogColumn(
        name,
        declared,
        not_null,
        default,
        comment,
        generated=generated,
        fills=fills,
        number=number,
        collation=collation,
        changed_by=changed_by,
        id=str(number),
        filler=Filler(missing) if fills else Filler(is_known=False),
        is_null_before=not fills and default is None and not is_computed,
    )


def _types(rows: list[tuple[Any, ...]]) -> dict[int, TypeFacts]:
    by_oid = {int(row[0]): row for row in rows}
    types: dict[int, TypeFacts] = {}

    def facts(oid: int) -> TypeFacts:
        if oid not in by_oid:
            return _no_type(oid)
        if oid not in types:
            _, name, schema, kind, element, base, typmod, labels, delimiter = by_oid[oid]
            types[oid] = TypeFacts(
                oid,
                str(name),
                str(schema),
                str(kind),
                facts(int(element)) if element is not None else None,
                facts(int(base)) if base is not None else None,
                tuple(labels),
                int(typmod) if kind == "d" else NO_TYPMOD,
                str(delimiter),
            )
        return types[oid]

    for oid in by_oid:
        facts(oid)
    return types


def _no_type(oid: int) -> TypeFacts:
    return TypeFacts(oid, f"type {oid}", "", "p")


def _rows_now(rows: int, pages: int, real: int) -> int:
    """The statistics' row count, scaled to the number of pages that the table has now."""
    return rows * max(real, pages) // pages if pages > 0 else 0
