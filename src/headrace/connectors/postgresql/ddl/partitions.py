"""Which partitions a table has, and since when: a snapshot reads those that it planned, by their
oids, and notices which others came. No query here waits for a lock on a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import psycopg

from headrace.snapshots.chunks import Cut
from headrace.snapshots.tables import Leaf, SnapshotTable

Partitions = Mapping[int, str]
"""Partitions with rows of a table: by oid, what tells an attachment from any other, also of the
same partition: the transactions that made it part of its parent, and its parent of theirs."""

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
    """The partitions that the connection's transaction sees, by oid of their table; tables without
    partitions are left out."""
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
    """The reverse of `to_text`; what is not of its form is not a partition."""
    pairs = (part.partition(":") for part in parts.split(","))
    return {int(oid): mark for oid, _, mark in pairs if oid.isdecimal()}


def unplanned(planned: Partitions, present: Partitions) -> dict[int, str]:
    """The partitions that were attached since a table was planned, or were so again."""
    return {oid: mark for oid, mark in present.items() if planned.get(oid) != mark}


def with_pages(connection: psycopg.Connection, oids: Collection[int]) -> set[int]:
    """The tables whose files have pages. A partition without pages has only rows that the log
    brings."""
    return {int(oid) for (oid,) in connection.execute(_WITH_PAGES, (list(oids),)).fetchall()}


def require_same_cuts(
    table: SnapshotTable, seen: Partitions, present: Sequence[Leaf], begun: int
) -> SnapshotTable:
    """The table with the partitions that its snapshot sees: those that were attached since it was
    planned, and have pages, come after the others, unless they will be read anyway. `present` are
    the partitions with their sizes, `begun` is how many leaves were begun. A partition that is
    gone keeps its place, and has no row. A statement of one's own reads all of them at once."""
    if table.parts is None:
        return table
    if table.kind is Cut.WHOLE:
        return table.cut(table.leaves, to_text(seen))
    added = unplanned(from_text(table.parts), seen)
    expected = {leaf.id for leaf in table.leaves[begun:]}
    more = (leaf for leaf in present if leaf.id in added and leaf.pages > 0)
    leaves = table.leaves + tuple(leaf for leaf in more if leaf.id not in expected)
    return table.cut(leaves, to_text(seen))
