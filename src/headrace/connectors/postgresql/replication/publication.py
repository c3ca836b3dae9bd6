"""The publication: finds or creates it as publication.autocreate.mode says."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import psycopg
from psycopg import sql

from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogTable
from headrace.connectors.postgresql.catalog.managed import OWNER, SUPERUSER, find_service
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.connection import answer_text, translate
from headrace.connectors.postgresql.replication.slot import is_standby
from headrace.errors import HeadraceError
from headrace.relational.checks import named_tables

log = logging.getLogger(__name__)

PRIVILEGE = "postgresql.publication_privilege"
OPERATIONS = {"c": "insert", "u": "update", "d": "delete", "t": "truncate"}
"""PostgreSQL's words for the operations of skipped.operations."""


@dataclass(frozen=True)
class Publication:
    """A row of pg_publication. `owned`: the role may change it; `operations` are the published
    operations, in PostgreSQL's words."""

    for_all: bool
    via_root: bool
    owned: bool
    operations: tuple[str, ...]


def find_publication(connection: psycopg.Connection, name: str) -> Publication | None:
    """The publication; None if it does not exist."""
    row = connection.execute(
        "SELECT puballtables, coalesce((to_jsonb(p)->>'pubviaroot')::boolean, false),"
        " pg_has_role(pubowner, 'USAGE'), pubinsert, pubupdate, pubdelete, pubtruncate"
        " FROM pg_publication p WHERE pubname = %s",
        (name,),
    ).fetchone()
    if row is None:
        return None
    words = zip(OPERATIONS.values(), row[3:], strict=True)
    operations = tuple(word for word, published in words if published)
    return Publication(row[0], row[1], row[2], operations)


def not_to_narrow(name: str) -> HeadraceError:
    """The error of a publication FOR ALL TABLES that should have the captured tables only."""
    return HeadraceError(
        "postgresql.publication_unsuitable",
        f"The publication {name} is FOR ALL TABLES, which "
        "publication.autocreate.mode=filtered cannot narrow",
        "Drop it, choose another publication.name, or use all_tables.",
    )


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

    def statement() -> str:
        managed = find_service(connection, config.database_hostname)
        return f"{SUPERUSER if managed is None else OWNER}: {create_statement(config, tables)}"

    try:
        publication = find_publication(connection, name)
        if publication is None:
            if is_standby(connection):
                remedy = f"Make it on the primary. {statement()}"
                raise _missing(config, "a standby cannot make it", remedy)
            if mode == "disabled":
                why = "publication.autocreate.mode is disabled"
                choice = "Choose another publication.autocreate.mode, or make it."
                raise _missing(config, why, f"{choice} {statement()}")
            connection.execute(_creation(config, mode, tables).encode())
            return True
        if mode == "filtered":
            _update(connection, config, tables, publication)
        return False
    except psycopg.Error as error:
        if error.sqlstate == "42501":
            raise HeadraceError(
                PRIVILEGE,
                f"The role {config.database_user} may not create or change the publication "
                f"{name}: {answer_text(error, config, '')}",
                f"{statement()} Then set publication.autocreate.mode=disabled.",
            ) from None
        raise translate(error, config, f"Preparing the publication {name}") from None


def _missing(config: PostgresConfig, why: str, remedy: str) -> HeadraceError:
    return HeadraceError(
        "postgresql.publication_missing",
        f"The publication {config.publication_name} does not exist, and {why}",
        remedy,
    )


def create_statement(config: PostgresConfig, tables: Sequence[tuple[str, str]]) -> str:
    """SQL that creates the publication for `tables`; for all tables if `tables` is empty."""
    return f"{_creation(config, 'filtered' if tables else 'all_tables', tables)};"


def _creation(config: PostgresConfig, mode: str, tables: Sequence[tuple[str, str]]) -> str:
    statement = f"CREATE PUBLICATION {_quoted(config.publication_name)}"
    if mode == "all_tables":
        statement += " FOR ALL TABLES"
    elif mode == "filtered":
        statement += f" FOR TABLE {_table_list(tables)}"
    options = ["publish_via_partition_root = true"] if config.publish_via_partition_root else []
    if config.is_set("skipped.operations"):
        options.append(f"publish = '{_published(config)}'")
    return statement + (f" WITH ({', '.join(options)})" if options else "")


def _published(config: PostgresConfig) -> str:
    """The publication's option `publish`, as skipped.operations says."""
    skipped = config.skipped_operations
    return ", ".join(word for letter, word in OPERATIONS.items() if letter not in skipped)


def nothing_to_publish() -> HeadraceError:
    """The error of a publication of the captured tables when no table is captured."""
    return HeadraceError(
        "postgresql.no_tables",
        "publication.autocreate.mode=filtered, but no table is captured",
        "Check table.include.list and schema.include.list.",
    )


def _table_list(tables: Sequence[tuple[str, str]]) -> str:
    if not tables:
        raise nothing_to_publish()
    return ", ".join(_quoted(*path) for path in tables)


def _update(
    connection: psycopg.Connection,
    config: PostgresConfig,
    tables: Sequence[tuple[str, str]],
    publication: Publication,
) -> None:
    name = config.publication_name
    if publication.for_all:
        raise not_to_narrow(name)
    other = _named_tables(connection, name) ^ set(tables)
    if other and is_standby(connection):
        tables_listed = ", ".join(sorted(".".join(pair) for pair in other))
        raise HeadraceError(
            "postgresql.publication_unsuitable",
            f"The publication {name} and the captured tables differ in {tables_listed}, and a "
            "standby cannot change it",
            "Change it on the primary, or set publication.autocreate.mode=disabled.",
        )
    change = f"ALTER PUBLICATION {_quoted(name)} SET"
    if other:
        connection.execute(f"{change} TABLE {_table_list(tables)}".encode())
    published = _published(config)
    if config.is_set("skipped.operations") and published != ", ".join(publication.operations):
        connection.execute(f"{change} (publish = '{published}')".encode())


def _quoted(*names: str) -> str:
    return sql.Identifier(*names).as_string()


def published_oids(connection: psycopg.Connection, name: str) -> set[int]:
    """The oids of the publication's tables: partitions, or their roots if it has
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
    """The `tables` (with leaves) whose changes the publication lacks. It has a partitioned table if
    it has all its partitions, and a partition if it has its root (`roots`)."""
    absent = []
    for table in tables:
        leaves = {leaf.id for leaf in table.leaves}
        inside = table.partitioned and leaves <= published
        if not inside and not {table.id, roots.get(table.id)} & published:
            absent.append(table)
    return absent


def silent_tables(
    connection: psycopg.Connection,
    config: PostgresConfig,
    catalog: Catalog,
    takes: Callable[[str], bool],
) -> list[CatalogTable]:
    """The tables (without columns) with names that `takes` accepts and the publication lacks now;
    empty without a publication. Raises HeadraceError, and psycopg.Error of the `connection`."""
    publication = find_publication(connection, config.publication_name)
    if publication is None or publication.for_all:
        return []
    tables = [table for table in catalog.tables() if takes(table.name)]
    leaves = catalog.leaves([table.id for table in tables if table.partitioned])
    known = [replace(table, leaves=leaves.get(table.id, ())) for table in tables]
    published = published_oids(connection, config.publication_name)
    return unpublished(known, published, catalog.partition_roots())


def misnamed(
    tables: Sequence[CatalogTable],
    published: set[int] | None,
    roots: Mapping[int, int],
    *,
    via_root: bool,
) -> list[CatalogTable]:
    """The `tables` whose changes carry a name that is not captured: a partition's changes the name
    of its root (`via_root`), or a partitioned table's the names of its partitions. `published`
    None: everything is published."""
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


def not_captured(
    name: str, tables: Sequence[CatalogTable], *, via_root: bool, is_made: bool = True
) -> HeadraceError:
    """The error of `misnamed` tables, for a publication that exists (`is_made`) or will be
    created."""
    root_or_partition = "root"
    remedy = "Capture the partitioned table instead of its partitions."
    if not via_root:
        root_or_partition = "partition"
        remedy = (
            f"ALTER PUBLICATION {_quoted(name)} SET (publish_via_partition_root = true); or "
            if is_made
            else "Set publish.via.partition.root=true, or "
        ) + "capture the partitions."
    return HeadraceError(
        "postgresql.partitions_not_captured",
        f"The publication {name} names changes by their {root_or_partition}, which is not "
        f"captured: {named_tables(tables)}",
        remedy,
    )


def check_published(
    connection: psycopg.Connection,
    config: PostgresConfig,
    tables: Sequence[CatalogTable],
    roots: Mapping[int, int],
    *,
    begins: bool,
) -> list[CatalogTable]:
    """Return the captured tables that the publication lacks: their changes do not arrive until they
    are added to it. `begins`: the start reads the tables' rows, or has no position before their
    changes.

    Raises HeadraceError("postgresql.not_published") for such a start, see `is_refused`.
    """
    name = config.publication_name
    publication = find_publication(connection, name)
    if publication is None:
        return []
    for_all, via_root = publication.for_all, publication.via_root
    published = published_oids(connection, name)
    absent = unpublished(tables, published, roots)
    lost = misnamed(tables, published, roots, via_root=via_root)
    if lost:
        log.warning("%s", not_captured(name, lost, via_root=via_root))
    if absent and for_all:
        log.warning("%s (unlogged tables)", not_published(config, absent).message)
        return []
    if absent and begins and is_refused(config, publication):
        raise not_published(config, absent)
    return absent


def is_refused(config: PostgresConfig, publication: Publication) -> bool:
    """Whether a start that begins is refused if the publication lacks a captured table, which
    table.include.list requested."""
    left_out = publication.for_all or config.publication_autocreate_mode == "no_tables"
    return bool(config.table_include_list) and not left_out


def not_published(config: PostgresConfig, absent: Sequence[CatalogTable]) -> HeadraceError:
    """The error, or the warning, about captured tables that the publication lacks."""
    name = config.publication_name
    return HeadraceError(
        "postgresql.not_published",
        f"The publication {name} lacks {named_tables(absent)}: their changes do not arrive until "
        "they are added",
        add_tables(name, absent),
    )


def add_tables(name: str, tables: Sequence[CatalogTable]) -> str:
    """The remedy that adds `tables` to the publication."""
    listed = _table_list([table.path for table in tables])
    return f"As their owner: ALTER PUBLICATION {_quoted(name)} ADD TABLE {listed};"


def _named_tables(connection: psycopg.Connection, name: str) -> set[tuple[str, str]]:
    """The tables that the publication was created for: a partitioned table itself, not its
    partitions."""
    rows = connection.execute(
        "SELECT n.nspname, c.relname FROM pg_publication p"
        " JOIN pg_publication_rel r ON r.prpubid = p.oid JOIN pg_class c ON c.oid = r.prrelid"
        " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE p.pubname = %s",
        (name,),
    ).fetchall()
    return {(str(schema), str(table)) for schema, table in rows}


def drop_publication(connection: psycopg.Connection, name: str) -> None:
    """Drop a publication that was just created."""
    connection.execute(drop_statement(name).encode())


def drop_statement(name: str) -> str:
    """SQL that drops a publication, if it exists."""
    return f"DROP PUBLICATION IF EXISTS {_quoted(name)}"
