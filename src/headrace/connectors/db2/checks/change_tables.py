"""Checks that change tables have the form that the connector reads."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.connectors.db2.catalog.catalog import Catalog
from headrace.connectors.db2.catalog.registrations import Registration
from headrace.connectors.db2.checks.state import Checked
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.properties.modes import Db2Platform
from headrace.connectors.db2.registering.statements import reinitialize
from headrace.connectors.db2.sql import CHANGE_COLUMNS
from headrace.connectors.db2.types.declarations import LARGE
from headrace.connectors.db2.types.source_type import holds
from headrace.errors import HeadraceError
from headrace.findings import named
from headrace.relational.table import Table


def change_table_name(registration: Registration) -> str:
    """Return the name of a change table: schema.table."""
    return f"{registration.change_schema}.{registration.change_table}"


def layout_error(registration: Registration, columns: Sequence[str]) -> HeadraceError | None:
    """Return the error of a change table with these columns (empty: it does not exist); None: it
    has the columns that are required to read it."""
    name, source = (
        change_table_name(registration),
        f"{registration.source_schema}.{registration.source_table}",
    )
    remedy = "Remove the registration and add it again (`headrace db2 remove-table`, `add-table`)."
    if not columns:
        return HeadraceError(
            "db2.no_change_table",
            f"The change table {name} of {source} does not exist, or may not be seen",
            remedy,
        )
    absent = [column for column in CHANGE_COLUMNS if column not in columns]
    if absent:
        return HeadraceError(
            "db2.change_table_altered",
            f"The change table {name} of {source} lacks {', '.join(absent)}: it is not a "
            "change table of SQL replication",
            remedy,
        )
    return None


def check_change_tables(checked: Checked, registered: Sequence[Registration]) -> None:
    """Check that the change table of every captured table has its columns. Raises DriverError."""
    catalog = Catalog(checked.connection)
    tables = {table.path: table for table in checked.tables}
    before = len(checked.findings)
    for registration in registered:
        table = tables.get((registration.source_schema, registration.source_table))
        if table is None:
            continue
        columns = catalog.columns(registration.change_schema, registration.change_table)
        error = layout_error(registration, [column.name for column in columns])
        if error is not None:
            checked.require_of_tables(error)
            continue
        change_table = Table(registration.change_schema, registration.change_table, columns)
        _check_columns(checked, registration, table, change_table)
        updates = updates_error(checked.config, registration)
        if updates is not None:
            checked.findings.add_error(updates, "warning")
        if not catalog.is_indexed(
            registration.change_schema, registration.change_table, CHANGE_COLUMNS[0]
        ):
            checked.warn(
                "change_table_index",
                f"The change table {change_table_name(registration)} has no index that begins with "
                f"{CHANGE_COLUMNS[0]}: every poll reads all of it",
                f"CREATE UNIQUE INDEX on {', '.join(CHANGE_COLUMNS[:2])} of it.",
            )
    if len(checked.findings) == before and registered:
        checked.ok("change_tables", "Every change table has the columns of its table")


def _check_columns(
    checked: Checked, registration: Registration, table: Table, changes: Table
) -> None:
    by_name = changes.by_name
    takes = checked.capture.takes_column
    captured = [
        registration for registration in table.columns if takes(f"{table.name}.{registration.name}")
    ]
    absent = [column.name for column in captured if column.name not in by_name]
    large = [
        column.name
        for column in captured
        if column.name in by_name
        and not {str(column.type), str(by_name[column.name].type)}.isdisjoint(LARGE)
    ]
    absent += large
    other = [
        column.name
        for column in captured
        if column.name in by_name
        and column.name not in large
        and not holds(column.type, by_name[column.name].type)
    ]
    try:
        key: Sequence[str] = checked.capture.relation(table, table).key
    except HeadraceError:  # reported by a finding of its own
        key = table.key
    keys_absent = [name for name in absent if name in key]
    absent = [name for name in absent if name not in key]
    remedy = f"Alter both alike, then {reinitialize(checked.config)} Or add the registration again."
    if keys_absent:
        checked.require_of_tables(
            HeadraceError(
                "db2.change_table_altered",
                f"The change table {change_table_name(registration)} lacks {named(keys_absent)} of "
                f"the key of {table.name}",
                f"{remedy} Or name columns that it has in message.key.columns.",
            )
        )
    if absent:
        checked.warn(
            "change_table_altered",
            f"The change table {change_table_name(registration)} lacks {named(absent)} of "
            f"{table.name}: values of these columns are null in events of changes",
            f"Large objects and XML are never in change tables. {remedy}",
        )
    if other:
        checked.warn(
            "change_table_altered",
            f"The change table {change_table_name(registration)} has other types for "
            f"{named(other)} of {table.name}: events of changes have its types, "
            "those of snapshots the table's",
            remedy,
        )


def updates_error(config: Db2Config, registration: Registration) -> HeadraceError | None:
    """Return the error of updates without `before`; None: they have it, or the platform never has
    it."""
    if registration.has_pairs or config.db2_platform != Db2Platform.LUW:
        return None
    return HeadraceError(
        "db2.updates_without_before",
        f"{change_table_name(registration)} has one row for an update (CHG_UPD_TO_DEL_INS = 'N'): "
        "events of updates have no `before`, and a changed key is not noticed",
        "Register the table with CHG_UPD_TO_DEL_INS = 'Y'.",
    )
