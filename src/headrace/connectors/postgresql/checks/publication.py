"""Whether the publication has every captured table, or can be made."""

from __future__ import annotations

import psycopg

from headrace.connectors.postgresql.checks.state import Checked
from headrace.connectors.postgresql.connection import CHECK_LIMIT, translate
from headrace.connectors.postgresql.replication.publication import (
    OPERATIONS,
    add_tables,
    create_statement,
    find_publication,
    misnamed,
    not_published,
    not_to_narrow,
    published_oids,
    unpublished,
)
from headrace.relational.checks import named_tables


def check_publication(checked: Checked, *, continues: bool) -> None:
    """Whether the publication has every captured table, partition and operation, or can be made.
    A stream that `continues` from its checkpoint goes on without a table that is not published.
    Raises HeadraceError when the server does not answer."""
    name = checked.config.publication_name
    mode = str(checked.config.publication_autocreate_mode)
    try:
        publication = find_publication(checked.connection, name)
    except psycopg.Error as error:
        raise translate(error, checked.config, "Checking the database", CHECK_LIMIT) from None
    if publication is None:
        _check_creation(checked, name, mode)
        return
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
            checked.refuse(
                "publication_privilege",
                f"The role {checked.config.database_user} may not add "
                f"{named_tables(foreign or absent)} to the publication {name}",
                add_tables(name, absent),
            )
        else:
            checked.ok(
                "publication", f"{named_tables(absent)} will be added to the publication {name}"
            )
    elif absent:
        goes_on = continues and not checked.rule.at_every
        unpublished_error = not_published(checked.config, absent)
        checked.findings.add_error(unpublished_error, "warning" if goes_on else "error")
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


def _check_partitions(
    checked: Checked, name: str, published: set[int] | None, *, via_root: bool
) -> None:
    """A partition's changes carry its own name, or its root's: one that is not captured
    loses them. `published` None: everything."""
    roots = checked.catalog.partition_roots()
    lost = misnamed(checked.tables, published, roots, via_root=via_root)
    if via_root:
        root_or_partition = "root"
        remedy = "Capture the partitioned table instead of its partitions."
    else:
        root_or_partition = "partition"
        remedy = (
            f"ALTER PUBLICATION {checked.quoted(name)} SET (publish_via_partition_root = true); "
            "or capture the partitions."
        )
        if published is None:
            remedy = "Set publish.via.partition.root=true, or capture the partitions."
    if lost:
        checked.refuse(
            "partitions_not_captured",
            f"The publication {name} names changes by their {root_or_partition}, which is not "
            f"captured: {named_tables(lost)}",
            remedy,
        )


def _check_creation(checked: Checked, name: str, mode: str) -> None:
    paths = [table.path for table in checked.tables]
    make = f"As a superuser: {create_statement(checked.config, paths)}"
    reason, remedy = "", make
    if mode == "disabled":
        reason = "publication.autocreate.mode is disabled"
    elif checked.is_standby():
        reason, remedy = "a standby cannot make it", "Make it on the primary."
    if reason:
        what = f"The publication {name} does not exist, and {reason}"
        checked.refuse("publication_missing", what, remedy)
        return
    creates, superuser = checked.rows(
        "SELECT has_database_privilege(current_database(), 'CREATE'), EXISTS (SELECT FROM"
        " pg_roles r WHERE (r.rolsuper OR r.rolname = 'rds_superuser')"
        " AND pg_has_role(r.oid, 'MEMBER'))"
    )[0]
    foreign = [t for t in checked.tables if not checked.rights[t.id].owned]
    allowed = creates and (superuser or mode == "no_tables" or (mode == "filtered" and not foreign))
    if not allowed:
        checked.refuse(
            "publication_privilege",
            f"The role {checked.config.database_user} may not make the publication {name} "
            f"(publication.autocreate.mode={mode})",
            f"{make} Then set publication.autocreate.mode=disabled.",
        )
    elif mode == "no_tables":
        checked.refuse(
            "not_published",
            f"The publication {name} will be made without tables: no change arrives until "
            "somebody adds them",
            f"{make} Or choose another publication.autocreate.mode.",
        )
    else:
        checked.ok("publication", f"The publication {name} will be made at the start")
        _check_partitions(checked, name, None, via_root=checked.config.publish_via_partition_root)
