"""Tables as the log describes them, joined with their description in the catalogue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.connect.records import UNCERTAIN_ID
from headrace.connectors.postgresql.catalog.catalog import (
    Catalog,
    CatalogReading,
    CatalogTable,
)
from headrace.connectors.postgresql.replication.column_numbers import column_numbers
from headrace.connectors.postgresql.replication.pgoutput_messages import RelationMessage
from headrace.connectors.postgresql.source import CONNECTOR
from headrace.connectors.postgresql.types.resolve import PostgresType
from headrace.relational.known_tables import KnownTables
from headrace.relational.table import Column, Filler, Table

_BY_KEY = ("d", "i")
"""Replica identities whose columns are NOT NULL and identify one row."""


class LoggedTables(KnownTables[CatalogReading]):
    """Readings of the catalogue by the oid of a relation message; see KnownTables. With
    `proves_nulls` they also say which new columns are null in older rows, which may have to be
    searched in the rows."""

    def __init__(
        self,
        catalog: Catalog,
        first: CatalogReading | None = None,
        *,
        proves_nulls: bool = False,
    ) -> None:
        super().__init__(catalog, first, CONNECTOR)
        self._tables, self._proves_nulls = catalog, proves_nulls

    def known(self, message: RelationMessage, xid: int) -> CatalogReading | None:
        """The catalogue's description of the table and its types for `xid`, a transaction of the
        log; None if it has to be read first."""
        reading = self.reading_for(message.oid, xid)
        if reading is None or any(c.type_oid not in reading.types for c in message.columns):
            return None
        table = reading.describe(message.oid)
        is_unproven = self._proves_nulls and table is not None and bool(table.unproven)
        return None if is_unproven and reading.older_than != xid else reading

    def ask(self, messages: Iterable[RelationMessage], xid: int) -> None:
        """Begin to read the tables and types of `messages`, for this transaction and later ones."""
        relations = list(messages)
        oids = [message.oid for message in relations]
        names = [(message.schema, message.table) for message in relations]
        types = [column.type_oid for message in relations for column in message.columns]
        older_than = xid if self._proves_nulls else None
        self.begin_reading(
            oids,
            lambda: self._tables.read(oids, names=names, types=types, older_than=older_than),
            xid,
        )


def logged_table(message: RelationMessage, catalog: CatalogReading, xid: int) -> Table:
    """The table that a relation message of the transaction `xid` describes. The catalogue may be
    newer: a column that it no longer has is as the message says, and ids and fillers are those of
    the columns that the message is certain to describe."""
    present = catalog.describe(message.oid)
    columns = []
    numbers: list[int | None] = [None] * len(message.columns)
    if present is not None:
        numbers = column_numbers(message, present, catalog, xid)
    for column, number in zip(message.columns, numbers, strict=True):
        now = None if present is None else present.by_name.get(column.name)
        kind = PostgresType(catalog.type_facts(column.type_oid), column.type_modifier)
        if now is None:
            not_null = column.in_identity and message.identity in _BY_KEY
            logged = Column(column.name, kind, not_null, None, None)
        else:
            logged = Column(column.name, kind, now.not_null, now.default, now.comment)
        if present is not None:
            unique = UNCERTAIN_ID if number is None else str(number)
            logged = replace(logged, id=unique)
        columns.append(replace(logged, filler=_filler(number, present, xid)))
    key = key_of(message, present, catalog)
    identity = frozenset(column.name for column in message.columns if column.in_identity)
    return Table(
        message.schema,
        message.table,
        tuple(columns),
        key,
        own_id=str(message.oid),
        # PostgreSQL refuses deletes of tables without an identity.
        identity_columns=identity if message.identity in _BY_KEY and identity else None,
    )


def _filler(number: int | None, present: CatalogTable | None, xid: int) -> Filler:
    """The value in the column of this number of rows before the transaction `xid`. A column that
    no longer exists may have had a default."""
    if present is not None and number is not None:
        for column in present.columns:
            if column.number == number and column.filler is not None:
                is_first = xid == present.history.created_by and not column.fills
                return Filler() if is_first and column.default is None else column.filler
    return Filler(is_known=False)


def key_of(
    message: RelationMessage, present: Table | None, catalog: CatalogReading
) -> tuple[str, ...]:
    """The key of the rows after `message`, in the order of the key.

    The catalogue may be newer, and the table may be dropped (`present` None). By default the
    replica identity is the primary key, so the log has its columns; their order, and a key that is
    not the identity, are only in the catalogue: for a dropped table, in the table that has its name
    now.
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
