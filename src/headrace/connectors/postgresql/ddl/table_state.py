"""Whether a table is still what a query was planned for, asked in the transaction that will read
it: the question takes the lock that reading needs, and who has it knows that the answer holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.catalog.catalog import CatalogTable

Structure = tuple[tuple[str, int, int], ...]
"""Columns in their order: name, oid of the type (of a domain, that of what it is made of), and type
modifier (-1 for those of domains)."""
Path = tuple[str, str]

_GONE = ("42P01", "3F000")
# A SELECT from pg_class shows what the snapshot sees, its functions what holds now. A table that
# was rewritten, or truncated, has another file.
_REWRITTEN = """
SELECT c.oid FROM pg_catalog.pg_class c
WHERE c.oid = ANY (%s::oid[]) AND c.relfilenode <> 0
  AND c.relfilenode <> pg_catalog.pg_relation_filenode(c.oid)
"""
# An index that is younger than the snapshot serves it all the same.
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


@dataclass(frozen=True)
class TableState:
    """`columns`: as they are now. `rewritten`: the transaction's snapshot cannot show the table's
    rows, because the table was rewritten, or truncated, after it was taken."""

    columns: Structure
    rewritten: bool


def structure_of(table: CatalogTable) -> Structure:
    """The structure that the catalogue showed."""
    columns = []
    for column in table.columns:
        facts = column.type.facts
        modifier = -1 if facts.kind == "d" else column.type.typmod
        columns.append((column.name, facts.undomained()[0].oid, modifier))
    return tuple(columns)


def table_state(
    connection: psycopg.Connection,
    table: CatalogTable,
    leaves: Iterable[tuple[int, Path]],
) -> TableState | None:
    """The state of a table and of those of its `leaves` (oid, path) that will be read; None: one of
    them is gone, or has another name. Raises psycopg.Error."""
    parts = dict(leaves)
    ids = {table.id: table.path, **parts}
    sources = [
        f" LEFT JOIN {only(path)} t{number} ON false" for number, path in enumerate(ids.values())
    ]
    named = [
        f"pg_catalog.to_regclass({_literal(path)})::oid IS NOT DISTINCT FROM {int(oid)}::oid"
        for oid, path in ids.items()
    ]
    # The tables are looked at when they are locked: their functions are evaluated later.
    rewritten = _REWRITTEN.replace("%s", f"'{{{','.join(str(int(oid)) for oid in ids)}}}'")
    query = (
        f"SELECT {' AND '.join(named)}, EXISTS ({rewritten}), t0.*"
        f" FROM (SELECT) one{''.join(sources)}"
    )
    try:
        cursor = connection.execute(query.encode())
    except psycopg.Error as error:
        if error.sqlstate in _GONE:
            return None
        raise
    row, result = cursor.fetchone(), cursor.pgresult
    assert row is not None
    assert result is not None
    if not row[0]:
        return None
    columns = tuple(
        ((result.fname(at) or b"").decode(), result.ftype(at), result.fmod(at))
        for at in range(2, result.nfields)
    )
    domains = {c.name for c in table.columns if c.type.facts.kind == "d"}
    shown = tuple((name, oid, -1 if name in domains else mod) for name, oid, mod in columns)
    return TableState(shown, bool(row[1]))


def rewritten_tables(connection: psycopg.Connection, oids: Collection[int]) -> set[int]:
    """Those of the tables that were rewritten or truncated after the snapshot of the connection's
    transaction was taken. Waits for no lock."""
    rows = connection.execute(_REWRITTEN, (list(oids),)).fetchall()
    return {int(oid) for (oid,) in rows}


def locks_unseen_tables(connection: psycopg.Connection) -> bool:
    """Whether the connection's transaction has locked a table whose rows its snapshot cannot show:
    the table was made, rewritten or truncated after it was taken."""
    row = connection.execute(_LOCKED_UNSEEN).fetchone()
    return row is not None and bool(row[0])


def key_shapes(connection: psycopg.Connection, oids: Sequence[int]) -> dict[int, str | None]:
    """By oid, what tells a table's key from another one: numbers, types and collations of its
    columns; tables that are not there are left out. Waits for no lock."""
    present = connection.execute(_TABLES, (list(oids),)).fetchall()
    shapes: dict[int, str | None] = {int(oid): None for (oid,) in present}
    keys = connection.execute(_KEYS, (list(oids),)).fetchall()
    return shapes | {int(oid): None if shape is None else str(shape) for oid, shape in keys}


def only(path: Path) -> str:
    """A table in FROM, without those that inherit from it."""
    return f"ONLY {sql.Identifier(*path).as_string()}"


def _literal(path: Path) -> str:
    return "'" + sql.Identifier(*path).as_string().replace("'", "''") + "'"
