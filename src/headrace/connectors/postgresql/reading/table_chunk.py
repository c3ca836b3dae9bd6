"""A chunk of a table as tasks get it: the statement, and what the table looked like when it was
planned."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import psycopg

from headrace.connectors.postgresql.catalog.catalog import CatalogTable
from headrace.connectors.postgresql.connection import settings_of_users
from headrace.connectors.postgresql.ddl.table_state import Structure, structure_of
from headrace.connectors.postgresql.reading.dialect import SQL, copied
from headrace.connectors.postgresql.reading.overrides import copy_override
from headrace.relational.events import RelationFacts
from headrace.relational.overrides import Overrides
from headrace.snapshots.chunks import Chunk, Cut
from headrace.snapshots.tables import Leaf


@dataclass(frozen=True)
class TableChunk:
    """`statement` is a COPY of rows of `leaf`, for as long as the columns are those of `table`
    (without leaves). `condition` is of the signal that asked for the rows."""

    statement: str
    table: CatalogTable
    leaf: Leaf
    condition: str | None

    @property
    def structure(self) -> Structure:
        """What it was planned for."""
        return structure_of(self.table)

    @property
    def key_types(self) -> tuple[str, ...]:
        """Types of the key's columns, whose order the chunk's bounds follow."""
        return tuple(str(column.type) for column in self.table.key_columns)

    @property
    def leaves(self) -> list[tuple[int, tuple[str, str]]]:
        """The partition that is read, unless it is the table itself: oid and path."""
        return [] if self.leaf.id == self.table.id else [(self.leaf.id, self.leaf.path)]


def table_chunk(
    chunk: Chunk,
    leaf: Leaf,
    condition: str | None,
    table: CatalogTable,
    facts: RelationFacts,
    overrides: Overrides,
    session: Callable[[], AbstractContextManager[psycopg.Connection]],
) -> TableChunk:
    """How a chunk is read of a table that looks like this. A statement of the user's own is looked
    at in a transaction of `session`; raises as `copy_override`."""
    names = [column.name for column in facts.columns]
    planned = TableChunk("", replace(table, leaves=()), leaf, condition)
    if chunk.kind is not Cut.WHOLE:
        select = SQL.chunk(leaf.path, names, table.key_columns, chunk, condition)
        return replace(planned, statement=copied(select))
    whole = f"SELECT * FROM {SQL.dialect.quoted(*leaf.path)}"
    statement = overrides.statements.get(table.name, whole)
    columns = {column.name: column for column in table.columns}
    with session() as connection, settings_of_users(connection):
        selected = [columns[n] for n in names]
        copy = copy_override(connection, table.name, statement, selected, overrides.hidden)
    return replace(planned, statement=copy)
