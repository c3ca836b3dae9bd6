"""Finds rows by their keys, for look-ups of streamed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.connect.images import cells
from headrace.connectors.db2 import sql
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.reading.dialect import SQL, bound
from headrace.connectors.db2.reading.kept_connection import kept_connection
from headrace.connectors.db2.rows.images import images_at
from headrace.relational.events import RelationFacts
from headrace.relational.reading.kept_connection import KeptConnection
from headrace.relational.reselection import Lookup
from headrace.relational.row_lookup import Cell, RowLookup
from headrace.relational.table import Column

_KEYS_PER_QUERY = 100
"""Conditions of longer statements are nested too deep for some servers."""


def row_lookup(config: Db2Config) -> RowLookup:
    """Look-ups in the database of a configuration."""
    return RowLookup(Db2Rows(config))


@dataclass(frozen=True)
class Db2Rows:
    """The database of a configuration: a RowDatabase."""

    config: Db2Config

    def open(self, *, patient: bool) -> Db2RowQueries:  # noqa: ARG002
        """See the protocol: database.query.timeout.ms limits every query."""
        kept = kept_connection(self.config)
        kept.get()
        return Db2RowQueries(kept)


class Db2RowQueries:
    """RowQueries over one connection."""

    def __init__(self, kept: KeptConnection[Connection]) -> None:
        self._kept = kept

    def rows(
        self, facts: RelationFacts, lookup: Lookup, keys: Sequence[Sequence[str]]
    ) -> dict[int, list[Cell]]:
        """See the protocol. Keys are compared by the texts that events have of them."""
        columns = [_column(facts, place) for place in (*lookup.key, *lookup.columns)]
        numbers: dict[tuple[str, ...], list[int]] = {}
        for number, key in enumerate(keys):
            numbers.setdefault(tuple(key), []).append(number)
        asked = list(numbers)
        present: dict[int, list[Cell]] = {}
        images = images_at(facts.name, columns)
        width = len(lookup.key)
        for start in range(0, len(asked), _KEYS_PER_QUERY):
            statement = _query(facts, columns, width, asked[start : start + _KEYS_PER_QUERY])
            with self._kept.transaction("Reading rows again") as connection:
                rows = connection.rows(*bound(statement))
            block = images.block(rows) if rows else None
            for row in range(len(rows)):
                assert block is not None
                ends = block.offsets[row : row + 2]
                values = cells(block.images[slice(*ends)].tobytes())
                key = tuple("" if cell is None else cell.decode() for cell in values[:width])
                for number in numbers.get(key, ()):
                    present[number] = list(values[width:])
        return present

    def close(self) -> None:
        """Close the connection; never raises."""
        self._kept.close()


def _column(facts: RelationFacts, place: int) -> Column:
    column = facts.columns[place]
    return Column(column.name, column.type, not column.nullable)


def _query(
    facts: RelationFacts, columns: Sequence[Column], width: int, keys: Sequence[tuple[str, ...]]
) -> str:
    """Selects `columns`, of which the first `width` are the key, of the rows with these keys."""
    conditions = (
        " AND ".join(
            f"{sql.quoted(column.name)} = {SQL.dialect.literal(text, column)}"
            for column, text in zip(columns[:width], key, strict=True)
        )
        for key in keys
    )
    return (
        f"SELECT {', '.join(map(sql.readable, columns))} "
        f"FROM {sql.quoted(facts.schema, facts.table)} WHERE ({') OR ('.join(conditions)})"
    )
