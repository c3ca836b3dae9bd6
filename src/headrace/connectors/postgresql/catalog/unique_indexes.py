"""The unique indexes of PostgreSQL's tables whose columns are the keys of events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.relational.table import Column

UNIQUE_INDEXES = """
SELECT DISTINCT ON (i.indrelid) i.indrelid, (
  SELECT array_agg(a.attname::text ORDER BY k.place)
  FROM unnest(i.indkey::int2[]) WITH ORDINALITY k(number, place)
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
  WHERE k.place <= i.indnkeyatts), x.relname::text, i.indimmediate,
  COALESCE((to_jsonb(i)->>'indnullsnotdistinct')::boolean, false)
FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
WHERE i.indrelid = ANY (%s::oid[]) AND i.indisunique AND i.indisvalid AND i.indexprs IS NULL
  AND i.indpred IS NULL
ORDER BY i.indrelid, i.indisprimary DESC, x.relname
"""
"""The parameters are the oids of the tables."""


@dataclass(frozen=True)
class UniqueIndex:
    """The unique index whose columns are the key of a table's events; without columns: none."""

    columns: tuple[str, ...] = ()
    name: str = ""
    is_immediate: bool = True
    nulls_are_equal: bool = False

    def doubt(self, columns: Iterable[Column]) -> str:
        """Return why its columns do not identify a row of a table with these `columns`; empty:
        they do."""
        if not self.is_immediate:
            return f"the constraint {self.name} is DEFERRABLE, so rows can exchange their keys"
        accept_null = {column.name for column in columns if not column.not_null}
        nullable = [name for name in self.columns if name in accept_null]
        if not nullable or self.nulls_are_equal:
            return ""
        return (
            f"the unique index {self.name} accepts several rows with NULL in {', '.join(nullable)}"
        )
