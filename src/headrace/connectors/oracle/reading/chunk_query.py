"""The query by which a task reads a chunk of a snapshot: as of the snapshot's SCN. If undo no
longer has the rows as of that SCN, and streaming follows, the remaining rows are read as of a later
SCN."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connectors.oracle.reading.dialect import shown, sql_at
from headrace.connectors.oracle.rows.images import key_texts
from headrace.connectors.oracle.rows.invalid_texts import has_mark
from headrace.relational.reading.chunk_sql import Path
from headrace.relational.table import Column
from headrace.snapshots.chunks import Chunk

ROWS_GONE_FROM_UNDO = frozenset({1555, 22924})
"""ORA codes: undo no longer has the former versions of rows."""
SCN_NOT_READABLE = ROWS_GONE_FROM_UNDO | {1466, 8180, 8181}
"""ORA codes: rows can no longer be read as of an SCN, for this or another reason."""


@dataclass(frozen=True)
class RowsQuery:
    """The query of `columns` of a table or its partition (`leaf`), in the order of its `key`, or of
    a statement of the user (`override`), to which neither key nor condition is added.
    `may_read_later`: rows may be read as of a later SCN than `scn`; only for chunks of a key whose
    columns are all read. Picklable."""

    leaf: Path
    columns: tuple[Column, ...]
    key: tuple[Column, ...]
    chunk: Chunk
    scn: int
    condition: str | None = None
    override: str | None = None
    may_read_later: bool = False

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
        """Return the key, as texts, of a row that the driver returned. None: the key has bytes that
        are not text, so no statement can contain the key."""
        indexes = {column.name: index for index, column in enumerate(self.columns)}
        values = tuple(row[indexes[column.name]] for column in self.key)
        if has_mark(values):
            return None
        (texts,) = key_texts([values], self.key)
        return tuple(map(str, texts))
