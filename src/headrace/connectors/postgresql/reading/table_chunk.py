"""A chunk of a table as tasks get it: the statement, and the table's description when it was
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
from headrace.snapshots.chunks import Chunk, ChunkKind
from headrace.snapshots.tables import Leaf


@dataclass(frozen=True)
class TableChunk:
    """A planned chunk. `statement` is a COPY of rows of `leaf`, valid while the columns are those
    of `table` (without leaves). `condition` is the filter of the signal that requested the rows."""

    statement: str
    table: CatalogTable
    leaf: Leaf
    condition: str | None

    @property
    def structure(self) -> Structure:
        """The structure for which the statement was planned."""
        return structure_of(self.table)

    @property
    def key_types(self) -> tuple[str, ...]:
        """Types of the key's columns, which define the order of the chunk's bounds."""
        return tuple(str(column.type) for column in self.table.key_columns)

    @property
    def leaves(self) -> list[tuple[int, tuple[str, str]]]:
        """The partition that is read, as oid and path; empty if it is the table itself."""
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
    """Plan the statement that reads a chunk of this table. An override statement is examined in a
    transaction of `session`; raises the errors of `copy_override`."""
    names = [column.name for column in facts.columns]
    planned = TableChunk("", replace(table, leaves=()), leaf, condition)
    if chunk.kind is not ChunkKind.WHOLE:
        select = SQL.chunk(leaf.path, names, table.key_columns, chunk, condition)
        return replace(planned, statement=copied(select))
    whole = f"SELECT * FROM {SQL.dialect.quoted(*leaf.path)}"
    statement = overrides.statements.get(table.name, whole)
    columns = {column.name: column for column in table.columns}
    with session() as connection, settings_of_users(connection):
        selected = [columns[n] for n in names]
        copy = copy_override(connection, table.name, statement, selected, overrides.hidden)
    return replace(planned, statement=copy)
