"""Checks, in the transaction that will read a table, whether it is still as it was when a query was
planned: the check takes the lock that reading needs, so its answer holds until the transaction
ends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.catalog.catalog import CatalogTable
from headrace.connectors.postgresql.types.type_facts import TypeFacts


class ColumnShape(NamedTuple):
    """A column: the oid of its type (a domain's base type), the type modifier (-1 for domains), and
    the labels of an enum (also of an array's elements)."""

    name: str
    type: int
    modifier: int
    labels: tuple[str, ...] = ()


Structure = tuple[ColumnShape, ...]
"""The columns of a table in their order."""
Path = tuple[str, str]

# SQLSTATEs after a table, schema or column was renamed or dropped, or a column is no longer of an
# enum type (42883: no enum_range of it).
_OTHER_NAMES = ("42P01", "3F000", "42703", "42883")
# pg_class shows the file as of the snapshot, pg_relation_filenode() the present one. A table that
# was rewritten or truncated has another file.
_REWRITTEN = """
SELECT c.oid FROM pg_catalog.pg_class c
WHERE c.oid = ANY (%s::oid[]) AND c.relfilenode <> 0
  AND c.relfilenode <> pg_catalog.pg_relation_filenode(c.oid)
"""
# An index that is younger than the snapshot does not count as unseen.
_LOCKED_UNSEEN = """
SELECT EXISTS (SELECT FROM pg_catalog.pg_locks l
LEFT JOIN pg_catalog.pg_class c ON c.oid = l.relation
WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation'
  AND CASE WHEN c.oid IS NULL THEN pg_catalog.pg_get_indexdef(l.relation) IS NULL
    ELSE c.relkind IN ('r', 'm') AND c.relfilenode <> 0
      AND c.relfilenode <> pg_catalog.pg_relation_filenode(c.oid) END)
"""
_KEYS = """
SELECT DISTINCT ON (i.indrelid) i.indrelid, (
  SELECT string_agg(concat_ws(':', a.attnum, a.atttypid, a.attcollation), ',' ORDER BY k.place)
  FROM unnest(i.indkey::int2[]) WITH ORDINALITY k(number, place)
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
  WHERE k.place <= i.indnkeyatts)
FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
WHERE i.indrelid = ANY (%s::oid[]) AND i.indisunique AND i.indisvalid AND i.indexprs IS NULL
  AND i.indpred IS NULL
ORDER BY i.indrelid, i.indisprimary DESC, x.relname
"""
_TABLES = "SELECT oid FROM pg_class WHERE oid = ANY (%s::oid[])"
_PATHS = """
SELECT c.oid, n.nspname::text, c.relname::text FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY (%s::oid[])
"""
# The columns as the snapshot sees them, like its rows. Negative numbers: nullable columns.
_COLUMNS = """
SELECT array_agg(CASE WHEN a.attnotnull OR t.typtype = 'd' AND t.typnotnull THEN 1 ELSE -1 END
  * a.attnum::int) FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s::oid AND a.attnum > 0
"""


@dataclass(frozen=True)
class TableState:
    """The present state of a table. `columns`: as they are now. `rewritten`: the transaction's
    snapshot cannot show the table's rows, because the table was rewritten, or truncated, after it
    was taken. `nullable`: names of columns that are NOT NULL in the table's description, but may be
    null in rows of the snapshot, because they were not NOT NULL when it was taken."""

    columns: Structure
    rewritten: bool
    nullable: frozenset[str] = frozenset()


def structure_of(table: CatalogTable) -> Structure:
    """The structure according to the catalogue."""
    columns = []
    for column in table.columns:
        facts = column.type.facts
        modifier = -1 if facts.kind == "d" else column.type.typmod
        labels = _enum_in("", facts)[1]
        columns.append(ColumnShape(column.name, facts.base_type()[0].oid, modifier, labels))
    return tuple(columns)


def table_state(
    connection: psycopg.Connection,
    table: CatalogTable,
    leaves: Iterable[tuple[int, Path]],
) -> TableState | None:
    """The state of a table and of its partitions (oid, path) that will be read; None if the table
    has to be described again, because one of them was dropped, was detached from the table, or has
    another name. Raises psycopg.Error."""
    parts = dict(leaves)
    ids = {table.id: table.path, **parts}
    sources = [
        f" LEFT JOIN {only(path)} t{number} ON false" for number, path in enumerate(ids.values())
    ]
    conditions = [
        f"pg_catalog.to_regclass({_literal(path)})::oid IS NOT DISTINCT FROM {int(oid)}::oid"
        for oid, path in ids.items()
    ]
    conditions += [
        f"EXISTS (SELECT FROM pg_catalog.pg_partition_ancestors({int(oid)}::oid) a"
        f" WHERE a.relid = {int(table.id)}::oid)"
        for oid in parts
        if oid != table.id  # a table without partitions is its own leaf
    ]
    # The file is compared after the locks are taken: pg_relation_filenode() is evaluated late.
    rewritten = _REWRITTEN.replace("%s", f"'{{{','.join(str(int(oid)) for oid in ids)}}}'")
    enums = {}
    for column in table.columns:
        value, labels = _enum_in(f"t0.{sql.Identifier(column.name).as_string()}", column.type.facts)
        if labels:
            enums[column.name] = f"pg_catalog.enum_range({value})::text[]"
    answers = [
        " AND ".join(conditions),
        f"EXISTS ({rewritten})",
        f"({_COLUMNS.replace('%s', str(int(table.id)))})",
        *enums.values(),
    ]
    query = f"SELECT {', '.join(answers)}, t0.* FROM (SELECT) one{''.join(sources)}"
    try:
        cursor = connection.execute(query.encode())
    except psycopg.Error as error:
        if error.sqlstate in _OTHER_NAMES:
            return None
        raise
    row, result = cursor.fetchone(), cursor.pgresult
    assert row is not None
    assert result is not None
    if not row[0]:
        return None
    labels_now = {name: tuple(row[3 + at] or ()) for at, name in enumerate(enums)}
    domains = {c.name for c in table.columns if c.type.facts.kind == "d"}
    fills = {c.name for c in table.columns if c.fills}
    visible_columns = {abs(number): number > 0 for number in row[2] or ()}
    columns, nullable = [], []
    for at in range(len(answers), result.nfields):
        name = (result.fname(at) or b"").decode()
        modifier = -1 if name in domains else result.fmod(at)
        columns.append(ColumnShape(name, result.ftype(at), modifier, labels_now.get(name, ())))
        # A column that the snapshot does not see is null in its rows, unless ADD COLUMN filled it.
        if not visible_columns.get(result.ftablecol(at), name in fills):
            nullable.append(name)
    return TableState(tuple(columns), bool(row[1]), table.not_null.intersection(nullable))


def _enum_in(value: str, facts: TypeFacts) -> tuple[str, tuple[str, ...]]:
    """Return the SQL of the enum value in a column, given the SQL of the column's value: the value
    itself, or an element of its array, also under domains. And the enum's labels, empty if there is
    no enum."""
    while True:
        if facts.kind == "d":
            facts, value = facts.base_type()[0], f"COALESCE({value}, NULL)"
        elif facts.element is not None:
            facts, value = facts.element, f"({value})[1]"
        else:
            return value, facts.labels


def rewritten_tables(connection: psycopg.Connection, oids: Collection[int]) -> set[int]:
    """The tables that were rewritten or truncated after the snapshot of the connection's
    transaction was taken. Waits for no lock."""
    rows = connection.execute(_REWRITTEN, (list(oids),)).fetchall()
    return {int(oid) for (oid,) in rows}


def present_paths(connection: psycopg.Connection, oids: Collection[int]) -> dict[int, Path]:
    """Schema and name of tables, by oid; tables that do not exist are left out. Waits for no
    lock."""
    rows = connection.execute(_PATHS, (list(oids),)).fetchall()
    return {int(oid): (str(schema), str(name)) for oid, schema, name in rows}


def locks_unseen_tables(connection: psycopg.Connection) -> bool:
    """Whether the connection's transaction has locked a table whose rows its snapshot cannot show:
    the table was created, rewritten or truncated after it was taken."""
    row = connection.execute(_LOCKED_UNSEEN).fetchone()
    return row is not None and bool(row[0])


def key_shapes(connection: psycopg.Connection, oids: Sequence[int]) -> dict[int, str | None]:
    """The shape of tables' keys, by oid: numbers, types and collations of their columns, None
    without a key; tables that do not exist are left out. Waits for no lock."""
    present = connection.execute(_TABLES, (list(oids),)).fetchall()
    shapes: dict[int, str | None] = {int(oid): None for (oid,) in present}
    keys = connection.execute(_KEYS, (list(oids),)).fetchall()
    return shapes | {int(oid): None if shape is None else str(shape) for oid, shape in keys}


def only(path: Path) -> str:
    """A table in FROM with ONLY, which excludes the tables that inherit from it."""
    return f"ONLY {sql.Identifier(*path).as_string()}"


def _literal(path: Path) -> str:
    return "'" + sql.Identifier(*path).as_string().replace("'", "''") + "'"
