"""Checks that SQL replication is set up and runs: control tables, Capture, registrations."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Iterable, Sequence

from headrace.connectors.db2 import sql
from headrace.connectors.db2.capture import Capture
from headrace.connectors.db2.catalog.registrations import ACTIVE, Registration
from headrace.connectors.db2.checks.rights import REFUSED, no_privilege
from headrace.connectors.db2.clock import clock_of, distant
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection, Row
from headrace.connectors.db2.errors import DriverError, translate
from headrace.connectors.db2.properties.modes import Db2Platform
from headrace.connectors.db2.registering.statements import reinitialize as reinitialize
from headrace.connectors.db2.sql import literal, quoted
from headrace.errors import HeadraceError
from headrace.relational.checks import named_tables
from headrace.relational.table import Table

log = logging.getLogger(__name__)

STALE_SECONDS = 180
"""Seconds after which an unchanged synchpoint means that Capture does not run: it moves the time of
its synchpoint at every commit interval, 30 s by default."""
_GONE = "db2.table_gone"


def _starting(config: Db2Config) -> str:
    """Return the command that starts Capture."""
    if config.db2_platform == Db2Platform.ZOS:
        return "START capture (its JCL procedure)."
    function_call = f"{quoted(config.cdc_control_schema)}.ASNCDCSERVICES('start','asncdc')"
    return f"asncap, or VALUES {function_call};"


def registering(config: Db2Config, paths: Iterable[tuple[str, str]]) -> str:
    """Return the remedy that registers tables, given as schema and name: calls of the procedure of
    the usual set-up, which z/OS does not have."""
    if config.db2_platform == Db2Platform.ZOS:
        return f"Register it with ASNCLP or the Replication Center, then {reinitialize(config)}"
    control = quoted(config.cdc_control_schema)
    calls = [
        f"CALL {control}.ADDTABLE({literal(schema)}, {literal(table)});" for schema, table in paths
    ]
    return " ".join((*calls, reinitialize(config)))


def missing_control_tables(config: Db2Config, error: HeadraceError) -> HeadraceError:
    """Return the error of a schema without SQL replication."""
    return HeadraceError(
        "db2.no_control_tables",
        f"The control tables of SQL replication are not in the schema {config.cdc_control_schema} "
        f"(cdc.control.schema): {error.message}",
        "Set SQL replication up (asnclp, or the script asncdctables.sql), or name the schema in "
        "which it is.",
    )


def unregistered(config: Db2Config, tables: Sequence[Table]) -> HeadraceError:
    """Return the error of tables whose changes Capture does not write down."""
    has_verb = config.db2_platform == Db2Platform.LUW
    ways = f"Or {'`headrace db2 add-table`, or ' if has_verb else ''}narrow table.include.list."
    return HeadraceError(
        "db2.not_registered",
        f"SQL replication does not capture {named_tables(tables)}: their changes will not arrive",
        f"{registering(config, [table.path for table in tables])} {ways}",
    )


def inactive(config: Db2Config, tables: Sequence[Table]) -> HeadraceError:
    """Return the error of tables whose registrations are all inactive or stopped."""
    return HeadraceError(
        "db2.registration_inactive",
        f"The registration of {named_tables(tables)} is not active (STATE of IBMSNAP_REGISTER): "
        "changes do not arrive",
        f"Look for the reason in IBMSNAP_CAPTRACE, set STATE = 'A', then {reinitialize(config)}",
    )


def never_ran(config: Db2Config) -> HeadraceError:
    """Return the error of a Capture that has not begun."""
    return HeadraceError(
        "db2.capture_never_ran",
        f"Capture has not run yet: IBMSNAP_REGISTER of the schema {config.cdc_control_schema} has "
        "no SYNCHPOINT",
        f"Start it: {_starting(config)}",
    )


def stopped(config: Db2Config, moved: dt.datetime, age_s: int) -> HeadraceError:
    """Return the error of a synchpoint that does not move."""
    return HeadraceError(
        "db2.capture_stopped",
        f"Capture does not run: its synchpoint has not moved since {moved:%Y-%m-%d %H:%M:%S}, for "
        f"{age_s} s (SYNCHTIME of IBMSNAP_REGISTER); no change arrives",
        f"Look at IBMSNAP_CAPTRACE and start it: {_starting(config)} If it runs, with the clock of "
        "another time zone than the server, set headrace.capture.time.zone to that zone.",
        retriable=True,
    )


def ahead(moved: dt.datetime, by_s: int) -> HeadraceError:
    """Return the error of a synchpoint whose time is in the future, so that it is not known whether
    it moves."""
    return HeadraceError(
        "db2.capture_clock",
        f"The time of Capture's synchpoint, {moved:%Y-%m-%d %H:%M:%S} (SYNCHTIME of "
        f"IBMSNAP_REGISTER), is {by_s} s ahead of the server's clock: Capture has the clock of "
        "another time zone, and source.ts_ms is off by the same time",
        "Set headrace.capture.time.zone to the time zone of Capture.",
        retriable=True,
    )


def capture_error(connection: Connection, config: Db2Config) -> HeadraceError | None:
    """Return the error of Capture; None: its synchpoint moves. Raises DriverError, and
    HeadraceError("db2.no_control_tables")."""
    rows = read_control(connection, config, sql.capture_progress(config))
    if not rows or rows[0][0] is None:
        return never_ran(config)
    _, moved, now, distance = rows[0]
    if moved is None:
        return None
    # The server says how far its own clock is from UTC; Capture's may show another zone.
    present = int(distant(distance).microseconds([now])[0])
    age_s = (present - int(clock_of(config, distance).microseconds([moved])[0])) // 1_000_000
    if age_s < -STALE_SECONDS:
        return ahead(moved, -age_s)
    return stopped(config, moved, age_s) if age_s > STALE_SECONDS else None


def warn_of(error: HeadraceError) -> None:
    """Log the warning of an error that does not end a query."""
    log.warning("%s", error)


def read_control(connection: Connection, config: Db2Config, query: str) -> list[Row]:
    """Return rows of IBMSNAP_REGISTER. Raises DriverError, and HeadraceError:
    `db2.no_control_tables` if it does not exist, `db2.no_privilege` if it may not be read."""
    try:
        return connection.rows(query)
    except DriverError as error:
        known = translate(error, config)
        if known is not None and known.code == _GONE:
            raise missing_control_tables(config, known) from None
        if known is not None and known.code == REFUSED:
            raise no_privilege(config, config.cdc_control_schema, sql.REGISTER) from None
        raise


def captured_of(capture: Capture, registered: Iterable[Registration]) -> list[Registration]:
    """Return the registrations of captured tables. A start without any is refused: no change would
    arrive."""
    return [
        registration
        for registration in registered
        if capture.takes(f"{registration.source_schema}.{registration.source_table}")
    ]


def registration_errors(
    config: Db2Config, tables: Iterable[Table], registered: Iterable[Registration]
) -> list[HeadraceError]:
    """Return the errors in the registrations of captured tables."""
    states: dict[tuple[str, str], set[str]] = {}
    for registration in registered:
        states.setdefault((registration.source_schema, registration.source_table), set()).add(
            registration.state
        )
    tables = list(tables)
    absent = [table for table in tables if table.path not in states]
    idle = [table for table in tables if ACTIVE not in states.get(table.path, {ACTIVE})]
    errors = [unregistered(config, absent)] if absent else []
    return errors + ([inactive(config, idle)] if idle else [])


def not_begun(
    config: Db2Config, tables: Iterable[Table], registered: Iterable[Registration]
) -> HeadraceError | None:
    """Return the error of active registrations that Capture does not know yet (ADDTABLE itself
    writes STATE = 'A'); None: it knows all. Changes that are made until Capture begins with them
    are in no change table, and in no snapshot that was taken before."""
    begun: dict[tuple[str, str], bool] = {}
    for registration in registered:
        path = (registration.source_schema, registration.source_table)
        has_begun = (
            registration.old_synchpoint is not None or registration.new_synchpoint is not None
        )
        begun[path] = begun.get(path, False) or has_begun or registration.state != ACTIVE
    waiting = [table for table in tables if not begun.get(table.path, True)]
    if not waiting:
        return None
    return HeadraceError(
        "db2.registration_not_begun",
        f"Capture has not begun with {named_tables(waiting)} (CD_OLD_SYNCHPOINT of "
        "IBMSNAP_REGISTER is null): changes until it does are in no event, unless a snapshot is "
        "taken after that",
        f"Let it read its registrations: {reinitialize(config)} Then start with a new checkpoint, "
        "or read the tables again by an execute-snapshot signal.",
    )
