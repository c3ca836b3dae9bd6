"""A table as the log shows it, joined with what the catalogue says of it."""

from __future__ import annotations

from typing import Protocol

from headrace.connectors.postgresql.replication.pgoutput_messages import RelationMessage
from headrace.connectors.postgresql.types.resolve import PostgresType
from headrace.connectors.postgresql.types.type_facts import TypeFacts
from headrace.relational.table import Column, Table

_BY_KEY = ("d", "i")
"""Replica identities whose columns are NOT NULL and name one row."""


class TableCatalog(Protocol):
    """The part of the catalogue that a table of the log needs."""

    def describe(self, oid: int) -> Table | None:
        """A table as it is now; None when it was dropped."""
        ...

    def named(self, schema: str, table: str) -> Table | None:
        """The table that has a name now."""
        ...

    def type_facts(self, oid: int) -> TypeFacts:
        """A type as it is now."""
        ...


def logged_table(message: RelationMessage, catalog: TableCatalog) -> Table:
    """The table that a relation message describes. The catalogue's moment may be later: what it no
    longer knows is as the message says."""
    present = catalog.describe(message.oid)
    present_columns = {} if present is None else present.by_name
    columns = []
    for column in message.columns:
        now = present_columns.get(column.name)
        if now is None:
            not_null = column.in_identity and message.identity in _BY_KEY
        else:
            not_null = now.not_null
        columns.append(
            Column(
                column.name,
                PostgresType(catalog.type_facts(column.type_oid), column.type_modifier),
                not_null,
                None if now is None else now.default,
                None if now is None else now.comment,
            )
        )
    key = key_of(message, present, catalog)
    return Table(message.schema, message.table, tuple(columns), key)


def key_of(
    message: RelationMessage, present: Table | None, catalog: TableCatalog
) -> tuple[str, ...]:
    """The key of the rows behind `message`, in its order.

    The catalogue may be newer, and the table may be gone (`present` None). By default the replica
    identity is the primary key, so the log tells which columns it had; their order, and keys that
    are no identity, only the catalogue does: for a table that is gone, by the one that bears its
    name now.
    """
    names = {column.name for column in message.columns}
    if present is None:
        present = catalog.named(message.schema, message.table)
        now = () if present is None else present.key
        now = now if names.issuperset(now) else ()
        trusts_log = message.identity in _BY_KEY
    else:
        now = present.key
        trusts_log = message.identity == "d" or not names.issuperset(now)
    then = tuple(column.name for column in message.columns if column.in_identity)
    if trusts_log and message.identity in _BY_KEY and then and set(then) != set(now):
        return then
    return tuple(name for name in now if name in names)
