"""Checks that the role may read the captured tables, and that the log has enough of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import psycopg

from headrace.connectors.postgresql.catalog.catalog import CatalogTable
from headrace.connectors.postgresql.checks.state import Checked, Rights
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.reading.dialect import SQL
from headrace.connectors.postgresql.replica_identity_rules import rules_for
from headrace.errors import HeadraceError
from headrace.findings import counted
from headrace.relational.checks import named_tables

_READABLE = "has_schema_privilege(c.relnamespace, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')"
_RIGHTS = f"""
SELECT c.oid, {_READABLE},
  row_security_active(c.oid), pg_has_role(c.relowner, 'USAGE'),
  (SELECT array_agg(a.attname::text) FROM pg_index i
   JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
   WHERE i.indrelid = c.oid AND i.indisprimary),
  (SELECT array_agg(a.attname::text) FROM pg_index i
   JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
   WHERE i.indrelid = c.oid AND i.indisreplident)
FROM pg_class c WHERE c.oid = ANY (%s)
"""


def no_privilege(
    config: PostgresConfig, table: CatalogTable, *, goes_on: bool = False
) -> HeadraceError:
    """The error of a table that the role may not read; a stream that `goes_on` reads it only for a
    requested snapshot or a look-up."""
    quoted = SQL.dialect.quoted
    name, schema, role = quoted(*table.path), quoted(table.schema), quoted(config.database_user)
    if goes_on:
        return HeadraceError(
            "postgresql.no_privilege",
            f"The role {config.database_user} may not read {table.name}: no snapshot of it can be "
            "taken, and no rows of it can be looked up",
            f"GRANT USAGE ON SCHEMA {schema} TO {role}; GRANT SELECT ON {name} TO {role}; "
            f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO {role}; "
            "The last statement is for later tables: run it as the role that creates them.",
        )
    return HeadraceError(
        "postgresql.no_privilege",
        f"The role {config.database_user} may not read {table.name}",
        f"GRANT USAGE ON SCHEMA {schema} TO {role}; GRANT SELECT ON {name} TO {role};",
    )


def unreadable(
    connection: psycopg.Connection, tables: Sequence[CatalogTable]
) -> list[CatalogTable]:
    """The tables that the role may not read. Raises psycopg.Error."""
    query = f"SELECT c.oid FROM pg_class c WHERE c.oid = ANY (%s::oid[]) AND NOT ({_READABLE})"
    rows = connection.execute(query.encode(), ([table.id for table in tables],)).fetchall()
    hidden = {row[0] for row in rows}
    return [table for table in tables if table.id in hidden]


def check_rights(checked: Checked, *, goes_on: bool) -> None:
    """Check whether the role may read all rows of the captured tables; `goes_on`: see
    `no_privilege`. Sets `rights`, and removes tables that no longer exist."""
    rows = checked.rows(_RIGHTS, ([t.id for t in checked.tables],))
    checked.rights = {
        row[0]: Rights(row[1], row[2], row[3], tuple(row[4] or ()), tuple(row[5] or ()))
        for row in rows
    }
    # A table may have been dropped in the meantime; it is left out from here on.
    checked.tables = [t for t in checked.tables if t.id in checked.rights]
    hidden = [t for t in checked.tables if not checked.rights[t.id].readable]
    for table in hidden:
        error = no_privilege(checked.config, table, goes_on=goes_on)
        checked.findings.add_error(error, "warning" if goes_on else "error")
    if checked.tables and not hidden:
        checked.ok("select", "Every captured table may be read")
    for table in checked.tables:
        if checked.rights[table.id].row_security:
            checked.warn(
                "row_security",
                f"Row security of {table.name} applies to the role: the snapshot reads some "
                "rows, the log holds all",
                f"ALTER ROLE {checked.role} BYPASSRLS;",
            )


def check_identities(checked: Checked) -> None:
    """Check whether updates and deletes of the captured tables carry the columns of the events'
    key."""
    unidentified, partial, full = [], [], []
    for table in [_with_identity_set(checked, table) for table in checked.tables]:
        rights = checked.rights[table.id]
        if table.identity == "f":
            full.append(table)
            continue
        identity = {"d": rights.primary, "i": rights.identity_index}.get(table.identity, ())
        if not identity:
            unidentified.append(table)
            continue
        names = [c.name for c in table.columns]
        if set(checked.capture.keys.key_columns(table.name, names, table.key)) - set(identity):
            partial.append(table)
    if unidentified:
        checked.warn(
            "no_replica_identity",
            "PostgreSQL refuses UPDATE and DELETE, once they are published, on tables without "
            f"primary key or other replica identity: {named_tables(unidentified)}",
            _make_full(checked, unidentified[0]),
        )
    if partial:
        checked.warn(
            "key_not_in_identity",
            "The replica identity lacks columns of the events' key, so deletes have no full "
            f"key: {named_tables(partial)}",
            _make_full(checked, partial[0]),
        )
    if full:
        checked.ok(
            "replica_identity_full",
            f"`before` is complete, and WAL is larger, for {named_tables(full)}",
        )
    others = len(checked.tables) - len(unidentified) - len(partial) - len(full)
    if others:
        checked.ok(
            "replica_identity",
            f"{counted(others, 'table')} without REPLICA IDENTITY FULL: `before` in events has "
            "only the columns of the key. A large value that an UPDATE does not change is not "
            "in the log: events have unavailable.value.placeholder for it, and replicas keep what "
            "they have",
        )


def _with_identity_set(checked: Checked, table: CatalogTable) -> CatalogTable:
    """The table with the identity that replica.identity.autoset.values will give it."""
    rules = rules_for(checked.config.replica_identity_autoset_values, table.name)
    if len(rules) != 1 or rules[0].letter == table.identity:
        return table
    if rules[0].index is None and checked.rights[table.id].owned:
        return replace(table, identity=rules[0].letter)
    if not checked.rights[table.id].owned:
        name = checked.quoted(table.schema, table.table)
        checked.warn(
            "identity_not_owned",
            f"The role {checked.config.database_user} does not own {table.name}, so "
            f"replica.identity.autoset.values cannot set its replica identity to {rules[0]}",
            f"As its owner: ALTER TABLE {name} REPLICA IDENTITY {rules[0].statement};",
        )
    return table


def _make_full(checked: Checked, table: CatalogTable) -> str:
    name = checked.quoted(table.schema, table.table)
    key = "" if checked.rights[table.id].primary else "Add a primary key, or "
    return f"{key}ALTER TABLE {name} REPLICA IDENTITY FULL;"
