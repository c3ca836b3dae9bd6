"""Rows of changes in memory, between Records and parts. Importing this loads no compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.part import UNAVAILABLE
from headrace.sinks.replicas.changes.schemas import TableShape


@dataclass(frozen=True)
class Changes:
    """The changes of one table, one schema of its rows, in a piece of a slice.

    `rows` has the columns of a part, in the order of the log; it may be empty. `source_ms` is as in
    `Part`, `truncates` are the sequences of all TRUNCATEs, each with the time of its commit
    (microseconds).
    """

    topic: str
    table: TableShape
    rows: pa.Table
    source_ms: int = 0
    truncates: tuple[tuple[str, int], ...] = ()

    @property
    def truncated(self) -> str:
        """The sequence of the last TRUNCATE; empty: no TRUNCATE."""
        return max((sequence for sequence, _ in self.truncates), default="")


@dataclass(frozen=True)
class Failure:
    """Records of a table from which no changes could be made."""

    topic: str
    records: int
    error: HeadraceError


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables of one table's changes. For rows of tables that lack these columns,
    columns UNAVAILABLE are false and OLD_KEY is null."""
    filled = [table for table in tables if len(table)] or list(tables[:1])
    if len(filled) == 1:
        return filled[0]
    whole = pa.concat_tables(filled, promote_options="default")
    for place, name in enumerate(whole.column_names):
        if name.startswith(UNAVAILABLE) and whole.column(place).null_count:
            whole = whole.set_column(place, name, pc.fill_null(whole.column(place), False))
    return whole
