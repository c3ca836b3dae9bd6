"""The query by which a task reads a chunk of a snapshot: as of the snapshot's SCN. If that is gone
from undo and the stream brings rows up to date, the rest is read as of a later SCN."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connectors.oracle.reading.dialect import shown, sql_at
from headrace.connectors.oracle.rows.images import key_texts
from headrace.connectors.oracle.rows.invalid_texts import has_mark
from headrace.relational.reading.chunk_sql import Path
from headrace.relational.table import Column
from headrace.snapshots.chunks import Chunk

UNDO_GONE = frozenset({1555, 22924})
"""ORA codes of rows whose former versions are gone from undo."""
GONE = UNDO_GONE | {1466, 8180, 8181}
"""ORA codes of rows that can no longer be read as of an SCN."""


@dataclass(frozen=True)
class RowsQuery:
    """The query of `columns` of a table, in the order of its `key`, or of a statement of the user
    (`override`). `later`: its rows, which are ordered by a key that is among the columns, may be
    read as of a later SCN than `scn`. Picklable."""

    leaf: Path
    columns: tuple[Column, ...]
    key: tuple[Column, ...]
    chunk: Chunk
    scn: int
    condition: str | None = None
    override: str | None = None
    later: bool = False

    def statement(self, scn: int, after: tuple[str, ...] | None = None) -> str:
        """Return the query of the rows as of an SCN, after a key if one is given."""
        statements = sql_at(scn)
        selected = shown(statements, self.columns)
        if self.override is not None:
            alias = statements.dialect.quoted("t")
            return f"SELECT {', '.join(selected)} FROM ({self.override}) {alias}"
        condition = self.condition
        if after is not None:
            beyond = statements.compared(self.key, ">", after)
            condition = beyond if condition is None else f"({condition}) AND {beyond}"
        return statements.chunk(self.leaf, (), self.key, self.chunk, condition, selected)

    def key_of(self, row: tuple[object, ...]) -> tuple[str, ...] | None:
        """Return the key, as texts, of a row that the driver returned; None: no statement can
        contain it, because its bytes are not text."""
        places = {column.name: place for place, column in enumerate(self.columns)}
        values = tuple(row[places[column.name]] for column in self.key)
        if has_mark(values):
            return None
        (texts,) = key_texts([values], self.key)
        return tuple(map(str, texts))
