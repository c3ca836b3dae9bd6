"""Sets the replica identity of captured tables at start, as the configuration's rules say."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.catalog.catalog import CatalogTable
from headrace.connectors.postgresql.replica_identity_rules import IdentityRule, rules_for

log = logging.getLogger(__name__)

LOCK_SECONDS = 5
"""Seconds to wait for a table's lock: sessions that queue after this one wait as well."""


def set_identities(
    connection: psycopg.Connection,
    rules: Sequence[IdentityRule],
    tables: Iterable[CatalogTable],
) -> None:
    """Alter the tables whose identity differs from the rules. An identity that cannot be set is a
    warning: the connector works without it, and `headrace check` names the remedy."""
    for table in tables:
        named = rules_for(rules, table.name)
        if len(named) > 1:
            log.warning(
                "replica.identity.autoset.values names %s more than once (%s): its replica "
                "identity is not changed",
                table.name,
                ", ".join(map(str, named)),
            )
        elif named and not _has(connection, table, named[0]):
            _set(connection, table, named[0])


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


def _set(connection: psycopg.Connection, table: CatalogTable, rule: IdentityRule) -> None:
    name = sql.Identifier(*table.path).as_string(connection)
    command = f"ALTER TABLE {name} REPLICA IDENTITY {rule.statement}"
    try:
        with connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'".encode())
            connection.execute(command.encode())
    except psycopg.Error as error:
        log.warning(
            "The replica identity of %s could not be set to %s (%s). As its owner: %s;",
            table.name,
            rule,
            str(error).strip().split("\n", 1)[0],
            command,
        )
