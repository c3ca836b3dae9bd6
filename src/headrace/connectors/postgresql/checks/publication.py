"""Checks that the publication has every captured table, or can be created."""

from __future__ import annotations

import psycopg

from headrace.connectors.postgresql.catalog.managed import OWNER, SUPERUSER
from headrace.connectors.postgresql.checks.state import Checked
from headrace.connectors.postgresql.connection import CHECK_LIMIT, translate
from headrace.connectors.postgresql.replication.publication import (
    OPERATIONS,
    PRIVILEGE,
    add_tables,
    create_statement,
    find_publication,
    is_refused,
    misnamed,
    not_captured,
    not_published,
    not_to_narrow,
    nothing_to_publish,
    published_oids,
    unpublished,
)
from headrace.errors import HeadraceError
from headrace.findings import Level
from headrace.relational.checks import named_tables


def check_publication(checked: Checked, *, goes_on: bool) -> None:
    """Check whether the publication has every captured table, partition and operation, or can be
    created. A stream that `goes_on` continues without tables that are not published. Raises
    HeadraceError when the server does not answer."""
    name = checked.config.publication_name
    mode = str(checked.config.publication_autocreate_mode)
    try:
        publication = find_publication(checked.connection, name)
    except psycopg.Error as error:
        raise translate(error, checked.config, "Checking the database", CHECK_LIMIT) from None
    if mode == "filtered" and not checked.tables:
        checked.findings.add_error(nothing_to_publish())
        return
    if publication is None:
        _check_creation(checked, name, mode)
        return
    level: Level = "warning" if goes_on else "error"
    for_all = publication.for_all
    if mode == "filtered" and for_all:
        checked.findings.add_error(not_to_narrow(name))
        return
    published = published_oids(checked.connection, name)
    absent = (
        [] if for_all else unpublished(checked.tables, published, checked.catalog.partition_roots())
    )
    if absent and mode == "filtered":
        foreign = [t for t in absent if not checked.rights[t.id].owned]
        if not publication.owned or foreign:
            _foresee(
                checked,
                HeadraceError(
                    PRIVILEGE,
                    f"The role {checked.config.database_user} may not add "
                    f"{named_tables(foreign or absent)} to the publication {name}",
                    add_tables(name, absent),
                ),
                level,
            )
        else:
            checked.ok(
                "publication", f"{named_tables(absent)} will be added to the publication {name}"
            )
    elif absent:
        silent_tables = not_published(checked.config, absent)
        if is_refused(checked.config, publication):
            checked.findings.add_error(silent_tables, level)
        else:
            _foresee(checked, silent_tables, level)
    else:
        checked.ok("publication", f"The publication {name} has every table")
    _check_partitions(checked, name, published, via_root=publication.via_root)
    skipped = checked.config.skipped_operations
    operations = [word for letter, word in OPERATIONS.items() if letter not in skipped]
    silent = [word for word in operations if word not in publication.operations]
    if silent:
        checked.warn(
            "operations_not_published",
            f"The publication {name} leaves out {', '.join(silent)}",
            f"ALTER PUBLICATION {checked.quoted(name)} SET (publish = 'insert, update, delete, "
            "truncate');",
        )


def _foresee(checked: Checked, error: HeadraceError, level: Level) -> None:
    """Add the error of a start as foreseen, or as a warning for a stream that continues."""
    if level == "error":
        checked.findings.add_foreseen(error)
    else:
        checked.findings.add_error(error, level)


def _check_partitions(
    checked: Checked, name: str, published: set[int] | None, *, via_root: bool
) -> None:
    """Check for partitions whose changes are lost, because the name that the changes carry, their
    own or their root's, is not captured, and for partitions that are captured together with their
    root. `published` None: everything is published."""
    roots = checked.catalog.partition_roots()
    lost = misnamed(checked.tables, published, roots, via_root=via_root)
    captured = {table.id for table in checked.tables}
    if twice := [table for table in checked.tables if roots.get(table.id) in captured]:
        name_of = "partitioned table" if via_root else "partition"
        checked.warn(
            "partitions_captured_twice",
            f"Partitions and their partitioned tables are captured: {named_tables(twice)}. A "
            f"snapshot reads their rows twice, and their changes have only the name of the "
            f"{name_of}",
            "Leave out the partitions by table.exclude.list, with publish_via_partition_root of "
            "the publication (publish.via.partition.root=true when it is created), or leave out "
            "the partitioned tables.",
        )
    if lost:
        is_made = published is not None
        checked.findings.add_foreseen(not_captured(name, lost, via_root=via_root, is_made=is_made))


def _check_creation(checked: Checked, name: str, mode: str) -> None:
    paths = [table.path for table in checked.tables]

    statement = create_statement(checked.config, paths)
    if mode == "disabled" or checked.is_standby():
        reason, remedy = "a standby cannot make it", "Make it on the primary."
        if mode == "disabled":
            reason = "publication.autocreate.mode is disabled"
            remedy = f"{SUPERUSER if checked.managed is None else OWNER}: {statement}"
        message = f"The publication {name} does not exist, and {reason}"
        checked.refuse("publication_missing", message, remedy)
        return
    creates, superuser = checked.rows(
        "SELECT has_database_privilege(current_database(), 'CREATE'), EXISTS (SELECT FROM"
        " pg_roles r WHERE (r.rolsuper OR r.rolname = 'rds_superuser')"
        " AND pg_has_role(r.oid, 'MEMBER'))"
    )[0]
    who = SUPERUSER if checked.is_start or checked.managed is None else OWNER
    make = f"{who}: {statement}"
    foreign = [t for t in checked.tables if not checked.rights[t.id].owned]
    allowed = creates and (superuser or mode == "no_tables" or (mode == "filtered" and not foreign))
    if not allowed:
        checked.foresee(
            "publication_privilege",
            f"The role {checked.config.database_user} may not make the publication {name} "
            f"(publication.autocreate.mode={mode})",
            f"{make} Then set publication.autocreate.mode=disabled.",
        )
    elif mode == "no_tables":
        checked.foresee(
            "not_published",
            f"The publication {name} will be made without tables: no change arrives until tables "
            f"are added",
            f"{make} Or choose another publication.autocreate.mode.",
        )
    else:
        checked.ok("publication", f"The publication {name} will be made at the start")
        _check_partitions(checked, name, None, via_root=checked.config.publish_via_partition_root)
