"""Catalogue queries: tables, columns, keys, types. A role with SELECT on the tables suffices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import connect, translate
from headrace.connectors.postgresql.type_facts import NO_TYPMOD, TypeFacts


@dataclass(frozen=True)
class CatalogColumn:
    """A column as it is now; `default` is pg_get_expr, None for generated columns."""

    name: str
    number: int
    type_oid: int
    typmod: int
    not_null: bool
    default: str | None
    generated: bool
    comment: str | None = None


@dataclass(frozen=True)
class CatalogTable:
    """An ordinary or partitioned table. `key` is the primary key in key order, else the columns
    of a unique index without expressions, else empty; `leaves` are the partitions with rows
    (the table itself when it is not partitioned) as (oid, schema, name, pages, rows)."""

    oid: int
    schema: str
    table: str
    partitioned: bool
    identity: str
    columns: tuple[CatalogColumn, ...]
    key: tuple[str, ...]
    leaves: tuple[tuple[int, str, str, int, int], ...] = ()

    @property
    def name(self) -> str:
        """schema.table"""
        return f"{self.schema}.{self.table}"

    @property
    def not_null(self) -> frozenset[str]:
        """Names of the columns that accept no null."""
        return frozenset(c.name for c in self.columns if c.not_null)

    @property
    def defaults(self) -> dict[str, str]:
        """Default expressions by column."""
        return {c.name: c.default for c in self.columns if c.default is not None}

    @property
    def comments(self) -> dict[str, str]:
        """Comments by column."""
        return {c.name: c.comment for c in self.columns if c.comment is not None}


_TABLES = """
SELECT c.oid, n.nspname, c.relname, c.relkind = 'p', c.relreplident::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_t%%'
"""
_COLUMNS = """
SELECT a.attname, a.attnum, a.atttypid, a.atttypmod,
       a.attnotnull OR (t.typtype = 'd' AND t.typnotnull),
       CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END,
       a.attgenerated <> '', col_description(a.attrelid, a.attnum)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_KEY = """
SELECT i.indisprimary, (
  SELECT array_agg(a.attname::text ORDER BY k.place)
  FROM unnest(i.indkey::int2[]) WITH ORDINALITY k(number, place)
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
  WHERE k.place <= i.indnkeyatts)
FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND i.indexprs IS NULL
  AND i.indpred IS NULL
ORDER BY i.indisprimary DESC, x.relname LIMIT 1
"""
_LEAVES = """
WITH RECURSIVE tree(oid) AS (
  SELECT %(oid)s::oid UNION ALL
  SELECT i.inhrelid FROM pg_inherits i JOIN tree t ON i.inhparent = t.oid
  WHERE %(partitioned)s)
SELECT c.oid, n.nspname, c.relname, c.relpages,
       GREATEST(c.reltuples, 0)::bigint, pg_relation_size(c.oid) / 8192
FROM tree t JOIN pg_class c ON c.oid = t.oid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' ORDER BY n.nspname, c.relname
"""
_ESTIMATES = """
SELECT n.nspname || '.' || c.relname,
  CASE WHEN bool_or(l.reltuples <= 0 AND pg_relation_size(l.oid) > 0) THEN -1
       ELSE sum(greatest(l.reltuples, 0))::bigint END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN LATERAL (SELECT c.oid AS oid WHERE c.relkind = 'r' UNION ALL
  SELECT t.relid FROM pg_partition_tree(c.oid) t WHERE c.relkind = 'p' AND t.isleaf) f ON true
JOIN pg_class l ON l.oid = f.oid
WHERE c.relkind IN ('r', 'p') AND n.nspname || '.' || c.relname = ANY(%s)
GROUP BY 1
"""
_TYPE = """
SELECT t.oid, t.typname, n.nspname, t.typtype::text,
       CASE WHEN t.typelem <> 0 AND t.typlen = -1 AND t.typcategory = 'A' THEN t.typelem END,
       CASE WHEN t.typtype = 'd' THEN t.typbasetype END, t.typtypmod,
       ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = t.oid
             ORDER BY e.enumsortorder),
       t.typdelim::text
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = %s
"""


@dataclass
class Catalog:
    """The catalogue over one connection, opened when it is first asked."""

    config: PostgresConfig
    connection: psycopg.Connection | None = None
    _types: dict[int, TypeFacts] = field(default_factory=dict)

    def _rows(
        self, query: str, values: Sequence[object] | Mapping[str, object] | None = None
    ) -> list[tuple[Any, ...]]:
        for attempt in (1, 2):
            if self.connection is None or self.connection.closed:
                self.connection = connect(self.config, application="headrace catalogue")
            try:
                return self.connection.execute(query.encode(), values).fetchall()
            except psycopg.Error as error:
                dead = self.connection.closed or self.connection.broken
                if not dead or attempt == 2:
                    raise translate(error, self.config, "Reading the catalogue") from None
                self.connection = None
        raise AssertionError

    def close(self) -> None:
        """Close the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def tables(self) -> list[CatalogTable]:
        """Every table of the database (without columns; see `describe`), partitions included."""
        return [
            CatalogTable(oid, schema, table, partitioned, identity, (), ())
            for oid, schema, table, partitioned, identity in self._rows(_TABLES)
        ]

    def partition_roots(self) -> dict[int, int]:
        """Oid of each partition to that of its topmost parent."""
        found = self._rows(
            "SELECT i.inhrelid, i.inhparent FROM pg_inherits i JOIN pg_class p"
            " ON p.oid = i.inhparent WHERE p.relkind = 'p'"
        )
        parents: dict[int, int] = {int(c): int(p) for c, p in found}
        roots = {}
        for child in parents:
            top = child
            while top in parents:
                top = parents[top]
            roots[child] = top
        return roots

    def describe(self, oid: int) -> CatalogTable | None:
        """A table with columns, key and leaves; None when there is no such table."""
        found = self._rows(_TABLES + " AND c.oid = %s", (oid,))
        if not found:
            return None
        _, schema, table, partitioned, identity = found[0]
        columns = tuple(CatalogColumn(*row) for row in self._rows(_COLUMNS, (oid,)))
        keys = self._rows(_KEY, (oid,))
        key: tuple[str, ...] = tuple(keys[0][1] or ()) if keys else ()
        leaves = tuple(
            (leaf, leaf_schema, name, max(pages, real), _rows_now(rows, pages, real))
            for leaf, leaf_schema, name, pages, rows, real in self._rows(
                _LEAVES, {"oid": oid, "partitioned": partitioned}
            )
        )
        return CatalogTable(oid, schema, table, partitioned, identity, columns, key, leaves)

    def estimates(self, names: Sequence[str]) -> dict[str, int]:
        """Rows by `schema.table` as the statistics have them; -1: they do not know."""
        found = self._rows(_ESTIMATES, (list(names),))
        return {str(name): int(rows) for name, rows in found}

    def type_facts(self, oid: int) -> TypeFacts:
        """A type; enums are read each time, because they get labels while running."""
        if oid in self._types:
            return self._types[oid]
        found = self._rows(_TYPE, (oid,))
        if not found:
            return TypeFacts(oid, f"type {oid}", "", "p")
        _, name, schema, kind, element, base, typmod, labels, delimiter = found[0]
        facts = TypeFacts(
            oid,
            str(name),
            str(schema),
            str(kind),
            self.type_facts(int(element)) if element is not None else None,
            self.type_facts(int(base)) if base is not None else None,
            tuple(labels),
            int(typmod) if kind == "d" else NO_TYPMOD,
            str(delimiter),
        )
        if not _has_labels(facts):
            self._types[oid] = facts
        return facts

    def setting(self, name: str) -> str:
        """A server setting as text; empty when it does not exist."""
        found = self._rows("SELECT setting FROM pg_settings WHERE name = %s", (name,))
        return str(found[0][0]) if found else ""


def _has_labels(facts: TypeFacts) -> bool:
    inner = facts.element or facts.base
    return facts.kind == "e" or (inner is not None and _has_labels(inner))


def _rows_now(rows: int, pages: int, real: int) -> int:
    """The statistics' rows, carried over to the pages that the table has now."""
    return rows * max(real, pages) // pages if pages > 0 else 0
