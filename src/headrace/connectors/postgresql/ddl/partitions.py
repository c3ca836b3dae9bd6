"""The attached partitions of tables: a snapshot reads the planned ones, by oid, and detects those
that were attached later. No query here waits for a lock on a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import psycopg

from headrace.snapshots.chunks import ChunkKind
from headrace.snapshots.tables import Leaf, SnapshotTable

Partitions = Mapping[int, str]
"""A table's partitions that have rows: a mark of the attachment by oid. The mark differs between
two attachments of the same partition: it consists of the transactions that attached the partition
to its parent, and that parent to its own."""

_ATTACHED = """
WITH RECURSIVE tree(root, oid, attached) AS (
  SELECT r.oid, r.oid, '' FROM unnest(%s::oid[]) r(oid) UNION ALL
  SELECT t.root, i.inhrelid, t.attached || '.' || i.xmin::text
  FROM tree t JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
  JOIN pg_catalog.pg_class p ON p.oid = t.oid AND p.relkind = 'p'
  WHERE to_jsonb(i)->>'inhdetachpending' IS DISTINCT FROM 'true')
SELECT t.root, array_agg(t.oid), array_agg(substr(t.attached, 2))
FROM tree t JOIN pg_catalog.pg_class c ON c.oid = t.oid
WHERE c.relkind = 'r' AND t.oid <> t.root GROUP BY t.root
"""
_WITH_PAGES = (
    "SELECT c.oid FROM pg_catalog.pg_class c WHERE c.oid = ANY (%s::oid[])"
    " AND pg_catalog.pg_relation_size(c.oid) > 0"
)


def attached_partitions(
    connection: psycopg.Connection, oids: Collection[int]
) -> dict[int, Partitions]:
    """The partitions that the connection's transaction sees, by the oid of their table; tables
    without partitions are left out."""
    if not oids:
        return {}
    rows = connection.execute(_ATTACHED, (list(oids),)).fetchall()
    return {
        int(root): dict(zip(map(int, leaves), map(str, marks), strict=True))
        for root, leaves, marks in rows
    }


def to_text(partitions: Partitions | None) -> str | None:
    """The text for `SnapshotTable.parts`."""
    if partitions is None:
        return None
    return ",".join(f"{oid}:{mark}" for oid, mark in sorted(partitions.items()))


def from_text(parts: str) -> Partitions:
    """The reverse of `to_text`; ignores parts of another form."""
    pairs = (part.partition(":") for part in parts.split(","))
    return {int(oid): mark for oid, _, mark in pairs if oid.isdecimal()}


def unplanned(planned: Partitions, present: Partitions) -> dict[int, str]:
    """The partitions that were attached, or attached again, since a table was planned."""
    return {oid: mark for oid, mark in present.items() if planned.get(oid) != mark}


def with_pages(connection: psycopg.Connection, oids: Collection[int]) -> set[int]:
    """The tables whose files have pages. A partition without pages has only rows that the log
    delivers."""
    return {int(oid) for (oid,) in connection.execute(_WITH_PAGES, (list(oids),)).fetchall()}


def require_same_cuts(
    table: SnapshotTable, snapshot_partitions: Partitions, present: Sequence[Leaf], begun: int
) -> SnapshotTable:
    """Return the table with the partitions that its snapshot sees: those that were attached since
    it was planned, and have pages, are appended unless they will be read anyway. `present` are the
    partitions with their sizes, `begun` is the number of leaves that were begun. A detached
    partition keeps its place, and has no rows. A statement of the user reads all partitions at
    once."""
    if table.parts is None:
        return table
    if table.kind is ChunkKind.WHOLE:
        return table.cut(table.leaves, to_text(snapshot_partitions))
    added = unplanned(from_text(table.parts), snapshot_partitions)
    expected = {leaf.id for leaf in table.leaves[begun:]}
    more = (leaf for leaf in present if leaf.id in added and leaf.pages > 0)
    leaves = table.leaves + tuple(leaf for leaf in more if leaf.id not in expected)
    return table.cut(leaves, to_text(snapshot_partitions))
