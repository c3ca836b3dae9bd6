"""Checks that the redo is kept and has the data that the connector needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.catalog.open_transactions import open_before
from headrace.connectors.oracle.catalog.redo_state import (
    DatabaseState,
    container_error,
    destinations,
    failing_destination,
    log_mode_error,
    nologging,
    nologging_lobs,
    supplemental_error,
    unlogged,
    unlogged_tables,
)
from headrace.connectors.oracle.checks.state import Checked
from headrace.connectors.oracle.clock import current_scn, time_of_scn
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.streaming.windows.redo import Redo

_UNKNOWN_TABLE = 942
_HOUR_US = 3_600_000_000
_LONG_US = _HOUR_US
_KEEP = (
    "Keep archived logs longer than the connector may be stopped, and longer than the longest "
    "transaction (RMAN: CONFIGURE ARCHIVELOG DELETION POLICY, and a larger "
    "DB_RECOVERY_FILE_DEST_SIZE)."
)


def check_redo(checked: Checked) -> None:
    """Check archive mode, supplemental logging of the database, and the destination of archived
    logs. Raises DriverError and HeadraceError."""
    connection = checked.in_root()
    state = DatabaseState.read(connection)
    for code, error, fine in (
        (
            "archive_log_mode",
            log_mode_error(state, checked.config.root),
            "Redo is archived (ARCHIVELOG)",
        ),
        (
            "supplemental",
            supplemental_error(state, checked.config.root),
            "The database has supplemental logging",
        ),
    ):
        if error is None:
            checked.ok(code, fine)
        else:
            checked.findings.add_error(error)
    error = container_error(state, checked.config.container)
    if error is not None:
        checked.findings.add_foreseen(error)
    if state.log_mode == "ARCHIVELOG":
        error = failing_destination(connection, checked.config)
        if error is not None:
            checked.findings.add_error(error, "warning")
        _check_retention(checked, connection, destinations(connection, checked.config)[0])


def check_tables_logging(checked: Checked) -> None:
    """Check that the redo of every captured table has all rows and columns. Raises DriverError."""
    state = DatabaseState.read(checked.in_root())
    if state.force_logging != "YES":
        where = checked.in_database(), checked.tables, checked.config.container
        lobs = nologging_lobs(*where) if checked.config.lob_enabled else None
        for error in filter(None, (nologging(*where), lobs)):
            checked.findings.add_error(error, "warning")
    if state.supplemental_all == "YES":
        checked.ok("table_logging", "The redo of all tables has all columns")
        return
    tables = unlogged_tables(checked.in_database(), checked.tables)
    if tables:
        checked.findings.add_foreseen(unlogged(tables, checked.config.container))
    elif checked.tables:
        checked.ok("table_logging", "The redo of every captured table has all columns")


def _check_retention(checked: Checked, connection: Connection, destination: str) -> None:
    """Check that logs reach back beyond the oldest open transaction."""
    binds = {"destination": destination, "hours": checked.config.archive_log_hours}
    oldest = Redo(checked.config).oldest(connection)
    ((since, now),) = connection.rows(sql.OLDEST_LOG_TIME(), binds)
    older = _older(connection, oldest or 0)
    if older:
        names = _transactions(xid for xid, _ in older)
        checked.foresee(
            "log_retention",
            f"The transactions {names} are older than the oldest redo log, which begins at the SCN "
            f"{oldest}: a query that starts again while they are open cannot continue",
            _KEEP,
        )
        return
    _check_open_transactions(checked, connection)
    last = _last_flushed(checked)
    if last is not None and oldest is not None and last < oldest:
        checked.warn(
            "log_retention",
            f"The connector wrote {checked.config.log_mining_flush_table_name} last at the SCN "
            f"{last}, and the oldest redo log begins at the SCN {oldest}: a query cannot continue "
            "from a checkpoint of that time",
            f"{_KEEP} Start with snapshot.mode=when_needed, or with a new checkpoint.",
        )
        return
    if checked.config.log_mining_archive_log_only_mode:
        if since is None:
            checked.warn(
                "log_retention",
                "There is no archived log, and log.mining.archive.log.only.mode reads no other "
                "logs: "
                "no change comes before a log is archived",
                "Let the server archive logs at intervals: "
                + sql.remedy_in(checked.config.root, "ALTER SYSTEM SET ARCHIVE_LAG_TARGET = 900;"),
            )
            return
        checked.ok("log_retention", f"Archived redo since {since} (it is {now}) can be read")
        return
    retained = f"since {since} (it is {now})" if since else "of the online logs only"
    checked.ok("log_retention", f"Redo {retained} can be read, from the SCN {oldest} on")


def _check_open_transactions(checked: Checked, connection: Connection) -> None:
    """Check that no transaction is open for so long that LogMiner reads much redo for each
    window."""
    if checked.config.log_mining_window_max_ms:
        return
    scn = current_scn(connection)
    first = min((start for _, start in _older(connection, scn)), default=scn)
    began, now = time_of_scn(connection, first), time_of_scn(connection, scn)
    if began is not None and now is not None and now - began > _LONG_US:
        checked.warn(
            "long_transaction",
            f"A transaction is open since SCN {first}, for {(now - began) // _HOUR_US} h: LogMiner "
            "reads all redo from there on for each window, which takes longer and longer",
            "End the transaction, or set log.mining.window.max.ms=3600000: windows then no longer "
            "begin at transactions that are open for longer.",
        )


def _older(connection: Connection, scn: int) -> Sequence[tuple[bytes, int]]:
    """Return the transactions that have been open since before an SCN; empty if the user may not
    see them, which another finding reports."""
    try:
        return open_before(connection, scn)
    except DriverError as error:
        if error.code != _UNKNOWN_TABLE:
            raise
        return ()


def _last_flushed(checked: Checked) -> int | None:
    """Return the SCN at which the connector last made the database write its redo; None: the flush
    table does not exist, or is empty."""
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
