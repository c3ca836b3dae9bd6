"""Whether the redo is kept, and has what the connector needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.catalog.open_transactions import open_before
from headrace.connectors.oracle.checks.state import Checked
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.errors import DriverError
from headrace.errors import HeadraceError
from headrace.relational.checks import named_tables
from headrace.relational.table import Table

ALL_COLUMNS = "ALL COLUMN LOGGING"
_UNKNOWN_TABLE = 942
_KEEP = (
    "Keep archived logs longer than the connector may be away, and longer than the longest "
    "transaction (RMAN: CONFIGURE ARCHIVELOG DELETION POLICY, and a larger "
    "DB_RECOVERY_FILE_DEST_SIZE)."
)
_LOGGED = ("YES", "IMPLICIT")


@dataclass(frozen=True)
class DatabaseState:
    """A row of V$DATABASE."""

    name: str
    log_mode: str
    supplemental_min: str
    supplemental_all: str
    scn: int
    resetlogs_scn: int

    @classmethod
    def read(cls, connection: Connection) -> DatabaseState:
        """As the database is now. Raises DriverError."""
        ((name, mode, minimal, everything, scn, resetlogs),) = connection.rows(sql.DATABASE())
        return cls(name, mode, minimal, everything, int(scn), int(resetlogs))


def log_mode_error(state: DatabaseState) -> HeadraceError | None:
    """What is wrong with a database that does not archive its redo."""
    if state.log_mode == "ARCHIVELOG":
        return None
    return HeadraceError(
        "oracle.no_archive_log_mode",
        f"The database {state.name} is in the mode {state.log_mode}: redo is lost as soon as its "
        "log is used again",
        "As SYSDBA: SHUTDOWN IMMEDIATE, STARTUP MOUNT, then ALTER DATABASE ARCHIVELOG; "
        "ALTER DATABASE OPEN;",
    )


def supplemental_error(state: DatabaseState) -> HeadraceError | None:
    """What is wrong with a database without minimal supplemental logging."""
    if state.supplemental_min in _LOGGED or state.supplemental_all == "YES":
        return None
    return HeadraceError(
        "oracle.no_supplemental_logging",
        f"The database {state.name} has no supplemental logging (SUPPLEMENTAL_LOG_DATA_MIN of "
        "V$DATABASE): LogMiner cannot tell which rows were changed",
        "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;",
    )


def unlogged_tables(connection: Connection, tables: Sequence[Table]) -> list[Table]:
    """The tables whose redo has not all columns. `connection` is where the tables are. Raises
    DriverError."""
    logged = {
        (owner, name)
        for owner, name, kind in connection.rows(sql.LOG_GROUPS())
        if kind == ALL_COLUMNS
    }
    return [table for table in tables if table.path not in logged]


def unlogged(tables: Sequence[Table]) -> HeadraceError:
    """What is wrong with tables whose redo has not all columns."""
    remedies = (
        f"ALTER TABLE {sql.quoted(*table.path)} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;"
        for table in tables
    )
    return HeadraceError(
        "oracle.no_table_logging",
        f"The redo of {named_tables(tables)} has not all columns (ALL_LOG_GROUPS): events of "
        "updates and deletes lack values",
        " ".join(remedies),
    )


def destinations(connection: Connection, config: OracleConfig) -> list[str]:
    """Where archived logs are read from: those of archive.destination.name in their order, else the
    first valid local one. Raises DriverError, and HeadraceError("oracle.no_archive_destination")
    where there is none."""
    rows = connection.rows(sql.DESTINATIONS())
    usable = [name for _, name, status, kind in rows if (status, kind) == ("VALID", "LOCAL")]
    asked = [name.strip().upper() for name in config.archive_destination_name or ()]
    chosen = [name for name in asked if name in usable] if asked else usable[:1]
    if chosen:
        return chosen
    what = f"None of {', '.join(asked)} (archive.destination.name)" if asked else "No destination"
    raise HeadraceError(
        "oracle.no_archive_destination",
        f"{what} is valid and local (V$ARCHIVE_DEST_STATUS): archived logs cannot be read",
        f"Set archive.destination.name to one of {', '.join(usable)}."
        if usable
        else "Archive to the recovery area, for example: ALTER SYSTEM SET LOG_ARCHIVE_DEST_1 = "
        "'LOCATION=USE_DB_RECOVERY_FILE_DEST';",
    )


def check_redo(checked: Checked) -> None:
    """Archive mode, supplemental logging of the database, and where archived logs are. Raises
    DriverError and HeadraceError."""
    connection = checked.in_root()
    state = DatabaseState.read(connection)
    for code, error, fine in (
        ("archive_log_mode", log_mode_error(state), "Redo is archived (ARCHIVELOG)"),
        ("supplemental", supplemental_error(state), "The database has supplemental logging"),
    ):
        if error is None:
            checked.ok(code, fine)
        else:
            checked.findings.add_error(error)
    if state.log_mode == "ARCHIVELOG":
        _check_retention(checked, connection, destinations(connection, checked.config)[0])


def check_tables_logging(checked: Checked) -> None:
    """Whether the redo of every captured table has all columns. Raises DriverError."""
    if DatabaseState.read(checked.in_root()).supplemental_all == "YES":
        checked.ok("table_logging", "The redo of all tables has all columns")
        return
    tables = unlogged_tables(checked.in_database(), checked.tables)
    if tables:
        checked.findings.add_error(unlogged(tables))
    elif checked.tables:
        checked.ok("table_logging", "The redo of every captured table has all columns")


def _check_retention(checked: Checked, connection: Connection, destination: str) -> None:
    """Whether logs reach back behind the oldest transaction that is open."""
    binds = {"destination": destination, "hours": checked.config.archive_log_hours}
    ((oldest,),) = connection.rows(sql.OLDEST_SCN(), binds)
    ((since, now),) = connection.rows(sql.OLDEST_LOG_TIME(), binds)
    older = _older(connection, oldest or 0)
    if older:
        names = _transactions(xid for xid, _ in older)
        checked.refuse(
            "log_retention",
            f"The transactions {names} are older than the oldest redo log, which begins at the SCN "
            f"{oldest}: a query that starts again while they are open cannot go on",
            _KEEP,
        )
        return
    last = _last_flushed(checked)
    if last is not None and oldest is not None and last < oldest:
        checked.warn(
            "log_retention",
            f"The connector wrote {checked.config.log_mining_flush_table_name} last at the SCN "
            f"{last}, and the oldest redo log begins at the SCN {oldest}: a query that goes on "
            "from a checkpoint of then cannot",
            f"{_KEEP} Start anew with snapshot.mode=when_needed, or with a new checkpoint.",
        )
        return
    kept = f"since {since} (it is {now})" if since else "of the online logs only"
    checked.ok("log_retention", f"Redo {kept} can be read, from the SCN {oldest} on")


def _older(connection: Connection, scn: int) -> Sequence[tuple[bytes, int]]:
    """The transactions that are open since before an SCN; none where the user may not see them,
    which is told otherwise."""
    try:
        return open_before(connection, scn)
    except DriverError as error:
        if error.code != _UNKNOWN_TABLE:
            raise
        return ()


def _last_flushed(checked: Checked) -> int | None:
    """The SCN at which the connector made the database write its redo last; None: there is no such
    table, or nothing in it."""
    try:
        flush_table = sql.quoted(checked.config.log_mining_flush_table_name.upper())
        rows = checked.in_database().rows(sql.FLUSH_TABLE_SCN(flush_table=flush_table))
    except DriverError as error:
        if error.code != _UNKNOWN_TABLE:
            raise
        return None
    return int(rows[0][0]) or None if rows else None


def _transactions(numbers: Iterable[bytes]) -> str:
    return ", ".join(number.hex() for number in numbers)
