"""The database's redo: whether and where it is archived, and which columns of rows it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.errors import DriverError
from headrace.errors import HeadraceError
from headrace.relational.checks import named_tables
from headrace.relational.table import Table

_ALL_COLUMNS = "ALL COLUMN LOGGING"
_LOGGED = ("YES", "IMPLICIT")
_UNKNOWN_VIEW = 942
_VALID, _UNSET = "VALID", "INACTIVE"
"""Values of STATUS in V$ARCHIVE_DEST_STATUS."""


@dataclass(frozen=True)
class DatabaseState:
    """A row of V$DATABASE."""

    name: str
    log_mode: str
    supplemental_min: str
    supplemental_all: str
    force_logging: str
    cdb: str
    scn: int
    resetlogs_scn: int

    @classmethod
    def read(cls, connection: Connection) -> DatabaseState:
        """Return the database's current state. Raises DriverError."""
        (row,) = connection.rows(sql.DATABASE())
        name, mode, minimal, everything, force, cdb, scn, resetlogs = row
        return cls(name, mode, minimal, everything, force, cdb, int(scn), int(resetlogs))


def log_mode_error(state: DatabaseState, root: str | None) -> HeadraceError | None:
    """Return the error of a database that does not archive its redo; None: it does. `root` is the
    container of the remedy; None: there are no containers."""
    if state.log_mode == "ARCHIVELOG":
        return None
    return HeadraceError(
        "oracle.no_archive_log_mode",
        f"The database {state.name} is in the mode {state.log_mode}: redo is lost as soon as its "
        "log is used again",
        "As SYSDBA, in SQL*Plus, while nobody uses the database: "
        + sql.remedy_in(root, _archived(root)),
    )


def _archived(root: str | None) -> str:
    opened = "" if root is None else " ALTER PLUGGABLE DATABASE ALL OPEN;"
    return (
        "SHUTDOWN IMMEDIATE; STARTUP MOUNT; ALTER DATABASE ARCHIVELOG; ALTER DATABASE OPEN;"
        + opened
    )


def supplemental_error(state: DatabaseState, root: str | None) -> HeadraceError | None:
    """Return the error of a database without minimal supplemental logging; None: it has that.
    `root` is as in `log_mode_error`."""
    if state.supplemental_min in _LOGGED or state.supplemental_all == "YES":
        return None
    return HeadraceError(
        "oracle.no_supplemental_logging",
        f"The database {state.name} has no supplemental logging (SUPPLEMENTAL_LOG_DATA_MIN of "
        "V$DATABASE): LogMiner cannot identify the changed rows",
        sql.remedy_in(root, "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;"),
    )


def container_error(state: DatabaseState, container: str | None) -> HeadraceError | None:
    """Return the error of a container database without a configured pluggable database
    (`container`)."""
    if state.cdb != "YES" or container is not None:
        return None
    return HeadraceError(
        "oracle.no_pluggable_database",
        f"{state.name} is a container database (CDB of V$DATABASE), and database.pdb.name is "
        "not set: headrace looks for the tables in its root",
        "Set database.pdb.name to the pluggable database whose tables are captured (SHOW PDBS), "
        "and database.dbname to the service of the container database.",
    )


def unlogged_tables(connection: Connection, tables: Sequence[Table]) -> list[Table]:
    """Return the tables whose redo does not have all columns. `connection` is where the tables are.
    Raises DriverError."""
    logged = {
        (owner, name)
        for owner, name, kind in connection.rows(sql.LOG_GROUPS())
        if kind == _ALL_COLUMNS
    }
    lacking = [table for table in tables if table.path not in logged]
    schemas = _logged_schemas(connection) if lacking else set()
    return [table for table in lacking if table.path[0] not in schemas]


def _logged_schemas(connection: Connection) -> set[str]:
    """Return the schemas all of whose tables have such redo (DBMS_CAPTURE_ADM)."""
    try:
        return {str(schema) for (schema,) in connection.rows(sql.LOGGED_SCHEMAS())}
    except DriverError as error:
        if error.code != _UNKNOWN_VIEW:
            raise
        return set()


def nologging(
    connection: Connection, tables: Sequence[Table], container: str | None
) -> HeadraceError | None:
    """Return the error of tables whose direct path loads are not in the redo, unless the database
    forces that; None: there are no such tables. `connection` and `container` are where the tables
    are. Raises DriverError."""
    unlogged_paths = set(map(tuple, connection.rows(sql.UNLOGGED_TABLES())))
    unlogged = [table for table in tables if table.path in unlogged_paths]
    if not unlogged:
        return None
    remedies = (f"ALTER TABLE {sql.quoted(*table.path)} LOGGING;" for table in unlogged)
    return HeadraceError(
        "oracle.nologging",
        f"Direct path loads (INSERT /*+ APPEND */, SQL*Loader) into {named_tables(unlogged)} "
        "are not in the redo, and in no event: NOLOGGING is set, and the database does not force "
        "logging (FORCE_LOGGING of V$DATABASE)",
        f"{sql.remedy_in(container, ' '.join(remedies))} Or, for the whole database, as SYSDBA: "
        "ALTER DATABASE FORCE LOGGING. Nothing, where the tablespace or the pluggable database "
        "has FORCE LOGGING.",
    )


def nologging_lobs(
    connection: Connection, tables: Sequence[Table], container: str | None
) -> HeadraceError | None:
    """Return the error of columns with large values that are not in the redo, whoever writes them;
    like `nologging`."""
    paths = {table.path for table in tables}
    rows = (tuple(map(str, row)) for row in connection.rows(sql.UNLOGGED_LOBS()))
    unlogged = sorted(row for row in rows if row[:2] in paths)
    if not unlogged:
        return None
    remedies = (
        f"ALTER TABLE {sql.quoted(schema, table)} MODIFY LOB ({sql.quoted(column)}) "
        "(NOCACHE LOGGING);"
        for schema, table, column in unlogged
    )
    columns = ", ".join(map(".".join, unlogged))
    return HeadraceError(
        "oracle.nologging",
        f"Values of {columns} that lie outside of their rows are not in "
        "the redo: NOLOGGING is set, and the database does not force logging (FORCE_LOGGING of "
        "V$DATABASE)",
        f"{sql.remedy_in(container, ' '.join(remedies))} Partitions have a setting of their own "
        "(MODIFY PARTITION … LOB). Or, for the whole database, as SYSDBA: ALTER DATABASE FORCE "
        "LOGGING. Nothing, where the tablespace or the pluggable database has FORCE LOGGING.",
    )


def unlogged(tables: Sequence[Table], container: str | None) -> HeadraceError:
    """Return the error of tables of a pluggable database (None: not a pluggable one) whose redo
    does not have all columns."""
    remedies = (
        f"ALTER TABLE {sql.quoted(*table.path)} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;"
        for table in tables
    )
    return HeadraceError(
        "oracle.no_table_logging",
        f"The redo of {named_tables(tables)} does not have all columns (ALL_LOG_GROUPS): events of "
        "updates have the columns that were changed, and not even the key",
        sql.remedy_in(container, " ".join(remedies)),
    )


def destinations(connection: Connection, config: OracleConfig) -> list[str]:
    """Return the destinations from which archived logs are read: those of archive.destination.name
    in their order, or else the first local one. A valid destination comes before one that takes no
    logs at present, whose logs are still read. Raises DriverError, and
    HeadraceError("oracle.no_archive_destination") if there is no destination."""
    states = _local_destinations(connection)
    asked = [name.strip().upper() for name in config.archive_destination_name or ()]
    usable = sorted(states, key=lambda name: states[name] != _VALID)
    local_configured = sorted(
        (name for name in asked if name in states), key=lambda name: states[name] != _VALID
    )
    chosen = local_configured if asked else usable[:1]
    if chosen:
        return chosen
    subject = (
        f"None of {', '.join(asked)} (archive.destination.name)" if asked else "No destination"
    )
    raise HeadraceError(
        "oracle.no_archive_destination",
        f"{subject} is local (V$ARCHIVE_DEST_STATUS): archived logs cannot be read",
        f"Set archive.destination.name to one of {', '.join(usable)}."
        if usable
        else "Archive to the recovery area, for example: "
        + sql.remedy_in(
            config.root,
            "ALTER SYSTEM SET LOG_ARCHIVE_DEST_1 = 'LOCATION=USE_DB_RECOVERY_FILE_DEST';",
        ),
    )


def failing_destination(connection: Connection, config: OracleConfig) -> HeadraceError | None:
    """Return the error of the destinations of archived logs if none of them takes logs at present,
    for example because the recovery area is full. Raises like `destinations`."""
    states = _local_destinations(connection)
    chosen = destinations(connection, config)
    if any(states[name] == _VALID for name in chosen):
        return None
    statuses = ", ".join(f"{name} has the status {states[name]}" for name in chosen)
    return HeadraceError(
        "oracle.archive_destination_fails",
        f"Logs are not archived (V$ARCHIVE_DEST_STATUS: {statuses}), and the database stops when "
        "all online logs are written",
        "Make room where archived logs are (RMAN: DELETE ARCHIVELOG …, or a larger "
        "DB_RECOVERY_FILE_DEST_SIZE), and look at the server's alert log; a destination that is "
        "deferred is enabled by ALTER SYSTEM SET LOG_ARCHIVE_DEST_STATE_n = ENABLE.",
        retriable=True,
    )


def _local_destinations(connection: Connection) -> dict[str, str]:
    """Return the status of each local destination that is set."""
    rows = connection.rows(sql.DESTINATIONS())
    return {name: status for _, name, status, kind in rows if kind == "LOCAL" and status != _UNSET}
