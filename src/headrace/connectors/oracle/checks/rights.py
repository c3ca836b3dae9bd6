"""Checks the privileges of the user."""

from __future__ import annotations

from collections.abc import Collection

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.catalog.open_transactions import CLUSTER, transactions_view
from headrace.connectors.oracle.checks.state import Checked, granted, granted_there, user_name
from headrace.connectors.oracle.clock import current_scn
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.errors import DriverError
from headrace.connectors.oracle.properties.modes import MiningStrategy
from headrace.errors import HeadraceError

_UNKNOWN, _REFUSED, _NO_SESSION = 942, 1031, 1306
"""ORA codes: the user may not see an object; may not do something; a view needs a session of
LogMiner."""
VIEWS = (
    "V$DATABASE", "V$LOG", "V$LOGFILE", "V$ARCHIVED_LOG", "V$ARCHIVE_DEST_STATUS", "V$THREAD",
    "V$LOGMNR_LOGS", "V$LOGMNR_CONTENTS", "V$TRANSACTION",
)  # fmt: skip
"""Views that streaming reads."""
MEASURED = ("V$STATNAME", "V$MYSTAT")
"""Views that metrics read."""
PACKAGES = ("DBMS_LOGMNR", "DBMS_LOGMNR_D")
"""The second package writes the dictionary (log.mining.strategy=redo_log_catalog)."""
_RECYCLED = "DBA_RECYCLEBIN"
"""The view of dropped tables (log.mining.strategy=hybrid)."""


def refused_views(connection: Connection) -> list[str]:
    """Return the views that the user may not read. Raises DriverError."""
    refused = [view for view in VIEWS if not _may_read(connection, view)]
    if "V$THREAD" not in refused and transactions_view(connection) == CLUSTER:
        refused += [] if _may_read(connection, CLUSTER) else [CLUSTER]
    return refused


def _grant(view: str) -> str:
    return f"SELECT ON {view.replace('V$', 'V_$')}"


def _may_read(connection: Connection, view: str) -> bool:
    try:
        connection.rows(sql.PROBE(view=view))
    except DriverError as error:
        if error.code not in (_UNKNOWN, _REFUSED, _NO_SESSION):
            raise
        return error.code == _NO_SESSION
    return True


def check_mining_rights(checked: Checked) -> None:
    """Check that the user may mine the redo. Raises DriverError."""
    connection = checked.in_root()
    config = checked.config
    refused = refused_views(connection)
    views = list(map(_grant, refused))
    listed = {name for (name,) in connection.rows(sql.PACKAGES())}
    writes_dictionary = config.log_mining_strategy is MiningStrategy.REDO_LOG_CATALOG
    used = PACKAGES if writes_dictionary else PACKAGES[:1]
    packages = [f"EXECUTE ON {name}" for name in used if name not in listed]
    privileges = {name for (name,) in connection.rows(sql.PRIVILEGES())}
    needed = ["LOGMINING", "SELECT ANY TRANSACTION"]
    if config.database_pdb_name:
        needed.append("SET CONTAINER")
    missing = [right for right in needed if right not in privileges]
    lacking = [*missing, *views, *packages]
    if config.log_mining_strategy == MiningStrategy.HYBRID and not _may_read(
        checked.in_database(), _RECYCLED
    ):
        lacking.append(f"SELECT ON {_RECYCLED}")
        refused.append(_RECYCLED)
    if lacking:
        error = HeadraceError(
            "oracle.no_privilege",
            f"The user {config.database_user} lacks privileges for mining the redo: "
            f"{', '.join(lacking)}",
            granted(config, *lacking),
        )
        _add(checked, error, is_certain=bool(refused))
    else:
        checked.ok("mining_rights", "The user may mine the redo")
    unmeasured = [_grant(view) for view in MEASURED if not _may_read(connection, view)]
    if unmeasured:
        checked.warn(
            "no_memory_metrics",
            f"The user {config.database_user} may not see the memory of LogMiner's session, so "
            f"that headrace.metrics does not show it",
            granted(config, *unmeasured),
        )


def _add(checked: Checked, error: HeadraceError, *, is_certain: bool) -> None:
    """Add the error of a missing right. It is certain if a statement was refused. A privilege may
    be granted under another name than in SESSION_PRIVS, or be included in another one: then a start
    tries."""
    if is_certain:
        checked.findings.add_error(error)
    else:
        checked.findings.add_foreseen(error)


def check_table_rights(checked: Checked) -> None:
    """Check that the user may read the captured tables, as of an SCN and under a lock. Raises
    DriverError."""
    connection, config = checked.in_database(), checked.config
    privileges = {name for (name,) in connection.rows(sql.PRIVILEGES())}
    lacking, tables = [], []
    if "SELECT ANY TABLE" not in privileges:
        tables = [
            f"SELECT ON {sql.quoted(*table.path)}"
            for table in checked.tables
            if not _reads(connection, *table.path)
        ]
    if checked.rule.ever_reads and "FLASHBACK ANY TABLE" not in privileges:
        scn = sql.as_of(current_scn(connection))
        if not all(_reads(connection, *table.path, as_of=scn) for table in checked.tables):
            lacking.append("FLASHBACK ANY TABLE")
    locks = str(config.snapshot_locking_mode) == "shared"
    if (
        checked.rule.ever_reads
        and locks
        and "LOCK ANY TABLE" not in privileges
        and not all(_locks(connection, *table.path) for table in checked.tables)
    ):
        lacking.append("LOCK ANY TABLE")
    if lacking or tables:
        remedies = [granted(config, *lacking)] if lacking else []
        remedies += [granted_there(config, *tables)] if tables else []
        error = HeadraceError(
            "oracle.no_privilege",
            f"The user {config.database_user} lacks privileges for reading tables: "
            f"{', '.join([*tables, *lacking])}",
            " ".join(remedies),
        )
        if checked.goes_on:  # a stream reads no table until a snapshot is requested
            checked.findings.add_error(error, "warning")
        else:
            checked.findings.add_error(error)
    elif checked.tables:
        checked.ok("table_rights", "Every table that is read may be read")


def check_flush_table(checked: Checked) -> None:
    """Check that the flush table exists, or that the user may create it. Raises DriverError."""
    config = checked.config
    if not config.writes_flush_table:
        why = (
            "log.mining.archive.log.only.mode"
            if config.log_mining_archive_log_only_mode
            else "log.mining.read.only"
        )
        checked.ok("flush_table", f"Nothing is written ({why})")
        return
    connection = checked.in_database()
    name = config.log_mining_flush_table_name.upper()
    ((count,),) = connection.rows(sql.FLUSH_TABLE_COUNT(), {"name": name})
    privileges = {privilege for (privilege,) in connection.rows(sql.PRIVILEGES())}
    space = "" if count else _space_without_quota(connection, privileges)
    if space:
        quota = f"ALTER USER {user_name(config)} QUOTA UNLIMITED ON {sql.quoted(space)};"
        checked.refuse(
            "no_quota",
            f"The user {config.database_user} may not write into the tablespace {space}, where "
            f"the table {name} (log.mining.flush.table.name) would be",
            f"{sql.remedy_in(config.container, quota)} Or set log.mining.read.only=true.",
        )
    if count or not privileges.isdisjoint(("CREATE TABLE", "CREATE ANY TABLE")):
        state = "is there" if count else "will be made"
        checked.ok("flush_table", f"The table {name}, with which redo is flushed, {state}")
        return
    checked.refuse(
        "no_flush_table",
        f"The table {name} (log.mining.flush.table.name) does not exist, and the user "
        f"{config.database_user} may not create it",
        f"{granted(config, 'CREATE TABLE')} Or set log.mining.read.only=true.",
    )


def _space_without_quota(connection: Connection, privileges: Collection[str]) -> str:
    """Return the user's tablespace, if the user may not write into it; empty: the user may."""
    if "UNLIMITED TABLESPACE" in privileges:
        return ""
    ((space, quota),) = connection.rows(sql.QUOTA())
    return "" if quota else str(space)


def _reads(connection: Connection, schema: str, table: str, as_of: str = "") -> bool:
    """Whether a table may be read, also as of an SCN; other obstacles are left to the start."""
    statement = sql.READABLE(table=sql.quoted(schema, table), as_of=as_of)
    try:
        connection.rows(statement)
    except DriverError as error:
        if error.code in (_UNKNOWN, _REFUSED):
            return False
        if not as_of:
            raise
    return True


def _locks(connection: Connection, schema: str, table: str) -> bool:
    """Whether a table may be locked, now or when others have released it."""
    try:
        connection.execute(sql.LOCKABLE(table=sql.quoted(schema, table)))
    except DriverError as error:
        return error.code not in (_UNKNOWN, _REFUSED)
    finally:
        connection.rollback()
    return True
