"""Sets the replica identity of captured tables at start, as the configuration's rules say."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.catalog.catalog import CatalogTable
from headrace.connectors.postgresql.replica_identity_rules import IdentityRule, rules_for

LOCK_SECONDS = 5
"""How long a table's lock is waited for: whoever queues behind us waits as well."""


def set_identities(
    connection: psycopg.Connection,
    rules: Iterable[IdentityRule],
    tables: Iterable[CatalogTable],
    warn: Callable[[str], None],
) -> None:
    """Alters the tables whose identity is another one. What cannot be set is a warning: the
    connector works without, and `headrace check` names the remedy."""
    rules = tuple(rules)
    if not rules:
        return
    for table in tables:
        named = rules_for(rules, table.name)
        if len(named) > 1:
            warn(
                f"replica.identity.autoset.values names {table.name} more than once "
                f"({', '.join(map(str, named))}): its replica identity stays as it is"
            )
        elif named and not _has(connection, table, named[0]):
            _set(connection, table, named[0], warn)


def _has(connection: psycopg.Connection, table: CatalogTable, rule: IdentityRule) -> bool:
    if table.identity != rule.letter:
        return False
    if rule.index is None:
        return True
    row = connection.execute(
        "SELECT x.relname FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid"
        " WHERE i.indrelid = %s AND i.indisreplident",
        (table.id,),
    ).fetchone()
    return row is not None and row[0] == rule.index


def _set(
    connection: psycopg.Connection,
    table: CatalogTable,
    rule: IdentityRule,
    warn: Callable[[str], None],
) -> None:
    identity: sql.Composable = sql.SQL(rule.identity)
    if rule.index is not None:
        identity = sql.SQL("USING INDEX {}").format(sql.Identifier(rule.index))
    command = sql.SQL("ALTER TABLE {} REPLICA IDENTITY {}").format(
        sql.Identifier(table.schema, table.table), identity
    )
    try:
        with connection.transaction():
            connection.execute(sql.SQL("SET LOCAL lock_timeout = '{}s'").format(LOCK_SECONDS))
            connection.execute(command)
    except psycopg.Error as error:
        first = str(error).strip().split("\n", 1)[0]
        warn(
            f"The replica identity of {table.name} could not be set to {rule} ({first}). "
            f"As its owner: {command.as_string(connection)};"
        )
