"""The publication: found or created as publication.autocreate.mode says."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import translate
from headrace.errors import HeadraceError

_OPERATIONS = {"c": "insert", "u": "update", "d": "delete", "t": "truncate"}


def ensure_publication(
    connection: psycopg.Connection,
    config: PostgresConfig,
    tables: Sequence[tuple[str, str]],
) -> bool:
    """Make the publication serve `tables` (schema, name); returns whether it was created.

    Raises HeadraceError: `postgresql.publication_missing`, `postgresql.publication_unsuitable`,
    `postgresql.publication_privilege`.
    """
    name = config.publication_name
    mode = str(config.publication_autocreate_mode)
    try:
        row = connection.execute(
            "SELECT puballtables FROM pg_publication WHERE pubname = %s", (name,)
        ).fetchone()
        if row is None:
            if mode == "disabled":
                raise HeadraceError(
                    "postgresql.publication_missing",
                    f"The publication {name} does not exist, and publication.autocreate.mode is "
                    "disabled",
                    f"As the tables' owner: CREATE PUBLICATION {name} FOR TABLE …; or choose "
                    "another publication.autocreate.mode.",
                )
            connection.execute(_create(config, mode, tables))
            return True
        if mode == "filtered":
            _update(connection, config, tables, for_all=bool(row[0]))
        return False
    except psycopg.Error as error:
        if error.sqlstate == "42501":
            raise HeadraceError(
                "postgresql.publication_privilege",
                f"The role {config.database_user} may not create or change the publication "
                f"{name}: {error.diag.message_primary}",
                f"As a superuser: CREATE PUBLICATION {name} FOR ALL TABLES (or FOR TABLE …), and "
                "set publication.autocreate.mode=disabled.",
            ) from None
        raise translate(error, config, f"Preparing the publication {name}") from None


def _create(config: PostgresConfig, mode: str, tables: Sequence[tuple[str, str]]) -> sql.Composed:
    parts: list[sql.Composable] = [
        sql.SQL("CREATE PUBLICATION {}").format(sql.Identifier(config.publication_name))
    ]
    if mode == "all_tables":
        parts.append(sql.SQL("FOR ALL TABLES"))
    elif mode == "filtered":
        parts += [sql.SQL("FOR TABLE"), _table_list(tables)]
    options: list[sql.Composable] = []
    if config.publish_via_partition_root:
        options.append(sql.SQL("publish_via_partition_root = true"))
    published = _published(config)
    if published is not None:
        options.append(sql.SQL("publish = {}").format(sql.Literal(published)))
    if options:
        parts.append(sql.SQL("WITH ({})").format(sql.SQL(", ").join(options)))
    return sql.SQL(" ").join(parts)


def _published(config: PostgresConfig) -> str | None:
    """`publish` of the publication, when skipped.operations is set explicitly."""
    skipped = set(config.skipped_operations)
    if skipped in (set(), {"t"}):
        return None
    return ", ".join(word for letter, word in _OPERATIONS.items() if letter not in skipped)


def _table_list(tables: Sequence[tuple[str, str]]) -> sql.Composed:
    if not tables:
        raise HeadraceError(
            "postgresql.no_tables",
            "publication.autocreate.mode=filtered, but no table is captured",
            "Check table.include.list and schema.include.list.",
        )
    return sql.SQL(", ").join(sql.Identifier(schema, table) for schema, table in tables)


def _update(
    connection: psycopg.Connection,
    config: PostgresConfig,
    tables: Sequence[tuple[str, str]],
    *,
    for_all: bool,
) -> None:
    name = config.publication_name
    if for_all:
        raise HeadraceError(
            "postgresql.publication_unsuitable",
            f"The publication {name} is FOR ALL TABLES, which "
            "publication.autocreate.mode=filtered cannot narrow",
            "Drop it, choose another publication.name, or use all_tables.",
        )
    if _named_tables(connection, name) != set(tables):
        connection.execute(
            sql.SQL("ALTER PUBLICATION {} SET TABLE {}").format(
                sql.Identifier(name), _table_list(tables)
            )
        )


def published_tables(connection: psycopg.Connection, name: str) -> set[tuple[str, str]]:
    """(schema, table) of everything the publication publishes."""
    rows = connection.execute(
        "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", (name,)
    ).fetchall()
    return {(str(schema), str(table)) for schema, table in rows}


def _named_tables(connection: psycopg.Connection, name: str) -> set[tuple[str, str]]:
    """What the publication was made for: a partitioned table itself, not its partitions."""
    rows = connection.execute(
        "SELECT n.nspname, c.relname FROM pg_publication p"
        " JOIN pg_publication_rel r ON r.prpubid = p.oid JOIN pg_class c ON c.oid = r.prrelid"
        " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE p.pubname = %s",
        (name,),
    ).fetchall()
    return {(str(schema), str(table)) for schema, table in rows}


def drop_publication(connection: psycopg.Connection, name: str) -> None:
    """Drop what was created a moment ago."""
    connection.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(sql.Identifier(name)))
