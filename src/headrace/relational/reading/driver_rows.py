"""Look-ups of streamed rows by their keys over a driver's connection."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic

from headrace.connect.images import cells
from headrace.relational.events import RelationFacts
from headrace.relational.reading.chunk_sql import ChunkSql
from headrace.relational.reading.kept_connection import C, KeptConnection
from headrace.relational.reselection import Lookup
from headrace.relational.row_lookup import Cell
from headrace.relational.table import Column
from headrace.snapshots.image_block import ImageBlock

_KEYS_PER_QUERY = 100
"""Most keys of a statement: conditions of longer statements are nested too deep for some
servers."""


class DriverRowQueries(ABC, Generic[C]):
    """See `headrace.relational.row_lookup.RowQueries`; over one connection."""

    sql: ChunkSql
    """The SQL for the tables in their current state."""

    def __init__(self, session: KeptConnection[C]) -> None:
        self._kept = session

    @abstractmethod
    def _shown(self, columns: Sequence[Column], /) -> list[str]:
        """The expressions that read columns."""

    @abstractmethod
    def _block(
        self, connection: C, table: str, columns: Sequence[Column], statement: str, /
    ) -> ImageBlock | None:
        """The images of a query's rows, which have `columns`; None: no rows. Raises an error of the
        driver, and HeadraceError."""

    def rows(
        self, facts: RelationFacts, lookup: Lookup, keys: Sequence[Sequence[str]]
    ) -> dict[int, list[Cell]]:
        """See the protocol. Keys are compared by the texts that they have in events."""
        columns = [_column(facts, place) for place in (*lookup.key, *lookup.columns)]
        numbers: dict[tuple[str, ...], list[int]] = {}
        for number, key in enumerate(keys):
            numbers.setdefault(tuple(key), []).append(number)
        distinct_keys = list(numbers)
        present: dict[int, list[Cell]] = {}
        width = len(lookup.key)
        for start in range(0, len(distinct_keys), _KEYS_PER_QUERY):
            statement = self._query(
                facts, columns, width, distinct_keys[start : start + _KEYS_PER_QUERY]
            )
            with self._kept.transaction("Reading rows again") as connection:
                block = self._block(connection, facts.name, columns, statement)
            for row in range(0 if block is None else len(block.offsets) - 1):
                assert block is not None
                ends = block.offsets[row : row + 2]
                values = cells(block.images[slice(*ends)].tobytes())
                key = tuple("" if cell is None else cell.decode() for cell in values[:width])
                for number in numbers.get(key, ()):
                    present[number] = list(values[width:])
        return present

    def _query(
        self,
        facts: RelationFacts,
        columns: Sequence[Column],
        width: int,
        keys: Sequence[tuple[str, ...]],
    ) -> str:
        """The query that selects `columns`, of which the first `width` are the key, of the rows
        with these keys."""
        key_columns = columns[:width]
        names, literal = (
            self.sql.columns(key_column.name for key_column in key_columns),
            self.sql.dialect.literal,
        )
        conditions = (
            " AND ".join(
                f"{name} = {literal(text, column)}"
                for name, column, text in zip(names, key_columns, key, strict=True)
            )
            for key in keys
        )
        source = self.sql.source((facts.schema, facts.table))
        return (
            f"SELECT {', '.join(self._shown(columns))} FROM {source} "
            f"WHERE ({') OR ('.join(conditions)})"
        )

    def close(self) -> None:
        """Close the connection; never raises."""
        self._kept.close()


def _column(facts: RelationFacts, place: int) -> Column:
    column = facts.columns[place]
    return Column(column.name, column.type, not column.nullable)
