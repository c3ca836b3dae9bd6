"""The publication: found or created as publication.autocreate.mode says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.catalog.catalog import CatalogTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import translate
from headrace.connectors.postgresql.replication.slot import is_standby
from headrace.errors import HeadraceError
from headrace.relational.checks import named

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
        if row is None and is_standby(connection):
            raise HeadraceError(
                "postgresql.publication_missing",
                f"The publication {name} does not exist, and a standby cannot make it",
                f"On the primary: CREATE PUBLICATION {name} FOR TABLE …;",
            )
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
    if not config.is_set("skipped.operations"):
        return None
    skipped = set(config.skipped_operations)
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
    other = _named_tables(connection, name) ^ set(tables)
    if other and is_standby(connection):
        listed = ", ".join(sorted(".".join(pair) for pair in other))
        raise HeadraceError(
            "postgresql.publication_unsuitable",
            f"The publication {name} and the captured tables differ in {listed}, and a standby "
            "cannot change it",
            "Change it on the primary, or set publication.autocreate.mode=disabled.",
        )
    publication = sql.Identifier(name)
    if other:
        connection.execute(
            sql.SQL("ALTER PUBLICATION {} SET TABLE {}").format(publication, _table_list(tables))
        )
    published = _published(config)
    if published is not None and published != _operations(connection, name):
        connection.execute(
            sql.SQL("ALTER PUBLICATION {} SET (publish = {})").format(
                publication, sql.Literal(published)
            )
        )


def _operations(connection: psycopg.Connection, name: str) -> str:
    """What the publication publishes, as `_published` writes it."""
    row = connection.execute(
        "SELECT pubinsert, pubupdate, pubdelete, pubtruncate FROM pg_publication"
        " WHERE pubname = %s",
        (name,),
    ).fetchone()
    words = zip(_OPERATIONS.values(), row or (), strict=False)
    return ", ".join(word for word, there in words if there)


def published_oids(connection: psycopg.Connection, name: str) -> set[int]:
    """Oids of what the publication names: partitions, or their roots when it is
    publish_via_partition_root."""
    rows = connection.execute(
        "SELECT c.oid FROM pg_publication_tables t JOIN pg_namespace n"
        " ON n.nspname = t.schemaname JOIN pg_class c ON c.relnamespace = n.oid"
        " AND c.relname = t.tablename WHERE t.pubname = %s",
        (name,),
    ).fetchall()
    return {int(row[0]) for row in rows}


def unpublished(
    tables: Iterable[CatalogTable], published: set[int], roots: Mapping[int, int]
) -> list[CatalogTable]:
    """The `tables` (with leaves) whose changes are not in the publication. A partitioned table is
    in it when its partitions are, and a partition when its root is (`roots`)."""
    found = []
    for table in tables:
        leaves = {leaf.id for leaf in table.leaves}
        inside = table.partitioned and leaves <= published
        if not inside and not {table.id, roots.get(table.id)} & published:
            found.append(table)
    return found


def misnamed(
    tables: Sequence[CatalogTable],
    published: set[int] | None,
    roots: Mapping[int, int],
    *,
    via_root: bool,
) -> list[CatalogTable]:
    """The `tables` whose changes carry a name that is not captured: a partition's its root's
    (`via_root`), or a partitioned table's those of its partitions. `published` None: everything.
    """
    captured = {table.id for table in tables}
    if via_root:
        return [
            t
            for t in tables
            if t.id in roots
            and roots[t.id] not in captured
            and (published is None or roots[t.id] in published)
        ]
    return [
        t for t in tables if t.partitioned and any(leaf.id not in captured for leaf in t.leaves)
    ]


def check_published(
    connection: psycopg.Connection,
    config: PostgresConfig,
    tables: Sequence[CatalogTable],
    roots: Mapping[int, int],
    warn: Callable[[str], None],
    *,
    first: bool,
) -> None:
    """No captured table's changes get lost in silence: warns of those that the publication lacks.

    At the `first` start, of tables asked for by table.include.list, raises
    HeadraceError("postgresql.not_published") instead.
    """
    name = config.publication_name
    row = connection.execute(
        "SELECT puballtables, coalesce((to_jsonb(p)->>'pubviaroot')::boolean, false)"
        " FROM pg_publication p WHERE pubname = %s",
        (name,),
    ).fetchone()
    if row is None:
        return
    for_all, via_root = row
    published = published_oids(connection, name)
    absent = unpublished(tables, published, roots)
    lost = misnamed(tables, published, roots, via_root=via_root)
    if absent:
        message = f"The publication {name} lacks {named(absent)}: their changes never arrive"
        remedy = add_tables(connection, name, absent)
        asked = bool(config.table_include_list)
        if (
            first
            and asked
            and not for_all
            and str(config.publication_autocreate_mode) != "no_tables"
        ):
            raise HeadraceError("postgresql.not_published", message, remedy)
        warn(f"{message}. {remedy}" if not for_all else f"{message} (unlogged tables)")
    if lost:
        said = "root" if via_root else "partitions"
        warn(
            f"The publication {name} names the changes of {named(lost)} by their {said}, which "
            "are not captured: they never arrive. `headrace check` has the remedy."
        )


def add_tables(connection: psycopg.Connection, name: str, tables: Sequence[CatalogTable]) -> str:
    """What makes the publication have `tables`."""
    listed = ", ".join(sql.Identifier(t.schema, t.table).as_string(connection) for t in tables)
    publication = sql.Identifier(name).as_string(connection)
    return f"As their owner: ALTER PUBLICATION {publication} ADD TABLE {listed};"


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
