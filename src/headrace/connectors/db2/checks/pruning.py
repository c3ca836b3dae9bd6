"""Checks that changes are kept until they are read."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.connectors.db2 import sql
from headrace.connectors.db2.catalog.registrations import Registration
from headrace.connectors.db2.checks.rights import REFUSED
from headrace.connectors.db2.checks.state import Checked
from headrace.connectors.db2.errors import DriverError, translate
from headrace.relational.checks import named_tables


def check_pruning(checked: Checked, registered: Iterable[Registration]) -> None:
    """Checks that a set of subscribers holds back the changes of every registered table. Adds no
    finding if the user may not read the sets, or they do not exist. Raises DriverError."""
    config = checked.config
    try:
        rows = checked.connection.rows(sql.held_tables(config))
    except DriverError as error:
        known = translate(error, config)
        if known is not None and known.code in (REFUSED, "db2.table_gone"):
            return
        raise
    protected = {(schema.rstrip(), table.rstrip()) for schema, table in rows}
    unprotected = {
        (registration.source_schema, registration.source_table) for registration in registered
    } - protected
    free = [table for table in checked.tables if table.path in unprotected]
    if not free:
        return
    parameters = sql.quoted(config.cdc_control_schema, "IBMSNAP_CAPPARMS")
    sets = sql.control_table(config, sql.PRUNE_SETS)
    checked.warn(
        "prune_set",
        f"No set in IBMSNAP_PRUNE_SET holds back the changes of {named_tables(free)}: Capture may "
        "delete them when others have read them, and does when RETENTION_LIMIT is over, whether "
        "this connector has read them or not",
        f"Let RETENTION_LIMIT (minutes, in {parameters}) be longer than the connector may be "
        f"stopped. If Apply programs read the same change tables, add the set that "
        f"IBMSNAP_PRUNCNTL names for these tables to {sets} with a SYNCHPOINT of zeros, and move "
        "that to what was read.",
    )
