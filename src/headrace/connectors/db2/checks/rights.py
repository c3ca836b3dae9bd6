"""Checks the privileges of the user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.connectors.db2 import sql
from headrace.connectors.db2.catalog.registrations import Registration
from headrace.connectors.db2.checks.state import Checked
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.errors import DriverError, grantee, translate
from headrace.connectors.db2.sql import quoted
from headrace.errors import HeadraceError

REFUSED = "db2.no_privilege"
Name = tuple[str, str]


def no_privilege(
    config: Db2Config, schema: str, table: str, *, goes_on: bool = False
) -> HeadraceError:
    """Return the error of a table that the user may not read; a stream that `goes_on` does not need
    to read a captured table until a snapshot of it is requested."""
    unread = ": its changes arrive, and no snapshot of it can be taken" if goes_on else ""
    return HeadraceError(
        REFUSED,
        f"The user {config.database_user} may not read {schema}.{table}{unread}",
        f"GRANT SELECT ON {quoted(schema, table)} TO {grantee(config)};",
    )


def refused(connection: Connection, config: Db2Config, names: Iterable[Name]) -> list[Name]:
    """Return the tables that the user may not read; tables that do not exist are left out. Raises
    DriverError."""
    closed = []
    for schema, table in names:
        try:
            connection.rows(f"SELECT 1 FROM {quoted(schema, table)} WHERE 0 = 1")
        except DriverError as error:
            known = translate(error, config)
            if known is None or known.code not in (REFUSED, "db2.table_gone"):
                raise
            if known.code == REFUSED:
                closed.append((schema, table))
    return closed


def check_rights(checked: Checked, registered: Sequence[Registration]) -> None:
    """Check that the user may read captured tables, their change tables, and control tables. Raises
    DriverError."""
    config, captured = checked.config, {table.path for table in checked.tables}
    names = sorted(captured)
    if checked.rule.streams:
        read = [
            registration
            for registration in registered
            if (registration.source_schema, registration.source_table) in captured
        ]
        names += [(registration.change_schema, registration.change_table) for registration in read]
        names += [(config.cdc_control_schema, name) for name in (sql.REGISTER, sql.UNITS_OF_WORK)]
    closed = refused(checked.connection, config, names)
    for name in closed:
        is_unread = checked.goes_on and name in captured
        error = no_privilege(config, *name, goes_on=is_unread)
        checked.findings.add_error(error, "warning" if is_unread else "error")
    if not closed:
        checked.ok("select", "Every table that is read may be read")
