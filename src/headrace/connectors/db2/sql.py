"""All statements that are sent to Db2 for its change tables, in the dialects of LUW and z/OS.

Names are always quoted; places in the log are parameters with their bytes. No statement needs
window functions: the reader pairs the rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.properties.modes import Db2Platform
from headrace.connectors.db2.types.declarations import ZONED_TIMESTAMPS
from headrace.relational.table import Column

REGISTER, UNITS_OF_WORK = "IBMSNAP_REGISTER", "IBMSNAP_UOW"
PRUNING, PRUNE_SETS = "IBMSNAP_PRUNCNTL", "IBMSNAP_PRUNE_SET"
SUBSCRIBED_COLUMNS, SUBSCRIBED_TABLES = "IBMSNAP_SUBS_COLS", "IBMSNAP_SUBS_MEMBR"
COLUMN_VERSIONS, TABLE_VERSIONS = "IBMQREP_COLVERSION", "IBMQREP_TABVERSION"
CHANGE_COLUMNS = ("IBMSNAP_COMMITSEQ", "IBMSNAP_INTENTSEQ", "IBMSNAP_OPERATION")
"""The first columns of every change table: the numbers of the commit and the change, and the
operation."""

CURRENT_TIME = "SELECT CURRENT TIMESTAMP, CURRENT TIMEZONE FROM SYSIBM.SYSDUMMY1"
"""The query of the server's local time and its distance from UTC, one row: the distance has hours,
minutes and seconds as the digits of a DECIMAL(6,0)."""
CURRENT_COMMIT = 'SELECT "VALUE" FROM SYSIBMADM.DBCFG WHERE "NAME" = \'cur_commit\''
"""The query of cur_commit, a row for each member (LUW): ON, AVAILABLE (on request) or DISABLED."""

_MICROSECONDS = 6
_DECFLOAT_CHARACTERS = 42
"""The longest text of a DECFLOAT: sign, 34 digits, point, and an exponent of four digits."""
_FINE_TIMESTAMP = "YYYY-MM-DD HH24:MI:SS.FF12"


class ChangeTableName(Protocol):
    """The name of a change table."""

    @property
    def change_schema(self) -> str: ...
    @property
    def change_table(self) -> str: ...


def quoted(*names: str) -> str:
    """Return a quoted name of one or more parts."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def literal(value: object) -> str:
    """Return a text or a number as an SQL literal."""
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def control_table(config: Db2Config, table: str) -> str:
    """Return the quoted name of a control table."""
    return quoted(config.cdc_control_schema, table)


def newest_lsn(config: Db2Config) -> str:
    """Return the query of the place up to which Capture has written all changes: one row, null
    before it began. Also on z/OS the query waits for an uncommitted transaction of Capture: if
    Capture rolled it back, and wrote the changes a second time, they would not be read again."""
    register = control_table(config, REGISTER)
    return (
        f"SELECT MAX(T.SYNCHPOINT) FROM (SELECT CD_NEW_SYNCHPOINT AS SYNCHPOINT FROM {register} "
        f"UNION ALL SELECT SYNCHPOINT AS SYNCHPOINT FROM {register}) T"
    )


def newest_lsn_and_clock(config: Db2Config) -> str:
    """Return the query of `newest_lsn` and of the server's distance from UTC as in
    `CURRENT_TIME`."""
    register = control_table(config, REGISTER)
    distance = "CURRENT TIMEZONE AS DISTANCE"
    return (
        "SELECT MAX(T.SYNCHPOINT), MAX(T.DISTANCE) FROM (SELECT CD_NEW_SYNCHPOINT AS SYNCHPOINT, "
        f"{distance} FROM {register} UNION ALL SELECT SYNCHPOINT AS SYNCHPOINT, {distance} "
        f"FROM {register}) T"
    )


def registrations(config: Db2Config, *, begun: bool = False) -> str:
    """Return the query of the registered tables; see `catalog.registrations`. In some set-ups a
    view's registration has its table's names, and a number of its own. `begun`: only those whose
    change tables begin at a place or after it."""
    condition = " AND CD_OLD_SYNCHPOINT >= ?" if begun else ""
    return _of_register(
        config,
        "SELECT SOURCE_OWNER, SOURCE_TABLE, CD_OWNER, CD_TABLE, CD_OLD_SYNCHPOINT, "
        "CD_NEW_SYNCHPOINT, SYNCHPOINT, STATE, CHG_UPD_TO_DEL_INS "
        f"FROM {control_table(config, REGISTER)} WHERE GLOBAL_RECORD <> 'Y' "
        f"AND SOURCE_VIEW_QUAL = 0 AND CD_TABLE IS NOT NULL{condition}",
    )


def held_tables(config: Db2Config) -> str:
    """Return the query of the schemas and names of the tables whose changes a set of subscribers
    holds back from pruning, up to its SYNCHPOINT."""
    sets = ("TARGET_SERVER", "APPLY_QUAL", "SET_NAME")
    same = " AND ".join(f"M.{column} = S.{column}" for column in sets)
    return (
        f"SELECT DISTINCT M.SOURCE_OWNER, M.SOURCE_TABLE FROM {control_table(config, PRUNING)} M, "
        f"{control_table(config, PRUNE_SETS)} S WHERE {same} "
        "AND M.SOURCE_VIEW_QUAL = 0"
    )


def capture_progress(config: Db2Config) -> str:
    """Return the query of SYNCHPOINT and SYNCHTIME of the global row, and the columns of
    `CURRENT_TIME`."""
    return _of_register(
        config,
        "SELECT SYNCHPOINT, SYNCHTIME, CURRENT TIMESTAMP, CURRENT TIMEZONE "
        f"FROM {control_table(config, REGISTER)} WHERE GLOBAL_RECORD = 'Y'",
    )


def changes(table: ChangeTableName, columns: Iterable[Column]) -> str:
    """Return the query of the rows of a change table between two commits, both included, in the
    order of the changes: `CHANGE_COLUMNS`, then the columns. Timestamps that the driver would
    truncate, and those with zones, are texts."""
    select_list = ", ".join((*CHANGE_COLUMNS, *map(readable, columns)))
    return (
        f"SELECT {select_list} FROM {quoted(table.change_schema, table.change_table)} "
        "WHERE IBMSNAP_COMMITSEQ >= ? AND IBMSNAP_COMMITSEQ <= ? "
        "ORDER BY IBMSNAP_COMMITSEQ, IBMSNAP_INTENTSEQ"
    )


def readable(column: Column) -> str:
    """Return the expression of a column's value that the driver can return completely, with its
    name."""
    name = quoted(column.name)
    expression = exact(name, column)
    return name if expression == name else f"{expression} AS {name}"


def exact(name: str, column: Column) -> str:
    """Return the expression of a column's value that the driver can return completely.

    ibm_db has too little room for texts of DECFLOAT (its issue 1075: CLI0111E). It reads BOOLEAN,
    for which the CLI writes one byte per row, as numbers of two bytes, so that only the first of
    several rows is right.
    """
    declared = str(column.type)
    _, scale = column.type.length_and_scale()
    if declared in ZONED_TIMESTAMPS:
        return f"CAST({name} AS VARCHAR(48))"
    if declared == "TIMESTAMP" and (scale or 0) > _MICROSECONDS:
        return f"VARCHAR_FORMAT({name}, '{_FINE_TIMESTAMP}')"
    if declared == "DECFLOAT":
        return f"CAST({name} AS VARCHAR({_DECFLOAT_CHARACTERS}))"
    if declared == "BOOLEAN":
        return f"CASE WHEN {name} THEN 1 WHEN NOT {name} THEN 0 END"
    return name


def oldest_change(table: ChangeTableName) -> str:
    """Return the query of the first commit that a change table still has: one row, null if it is
    empty."""
    name = quoted(table.change_schema, table.change_table)
    return f"SELECT MIN(IBMSNAP_COMMITSEQ) FROM {name}"


def commit_times(config: Db2Config) -> str:
    """Return the query of places and times of the commits between two, both included, in order."""
    return (
        "SELECT IBMSNAP_COMMITSEQ, IBMSNAP_LOGMARKER "
        f"FROM {control_table(config, UNITS_OF_WORK)} "
        "WHERE IBMSNAP_COMMITSEQ >= ? AND IBMSNAP_COMMITSEQ <= ? ORDER BY IBMSNAP_COMMITSEQ"
    )


def first_commit_time(config: Db2Config) -> str:
    """Return the query of the time of the first recorded commit between two places; no row if there
    is no commit."""
    units = control_table(config, UNITS_OF_WORK)
    return (
        f"SELECT IBMSNAP_LOGMARKER FROM {units} WHERE IBMSNAP_COMMITSEQ >= ? "
        "AND IBMSNAP_COMMITSEQ <= ? ORDER BY IBMSNAP_COMMITSEQ FETCH FIRST 1 ROWS ONLY"
    )


def last_commit_until(config: Db2Config) -> str:
    """Return the query of the last commit between two places that was made at a time or before it:
    one row, null if there is no such commit."""
    units = control_table(config, UNITS_OF_WORK)
    return (
        f"SELECT MAX(IBMSNAP_COMMITSEQ) FROM {units} WHERE IBMSNAP_COMMITSEQ >= ? "
        "AND IBMSNAP_COMMITSEQ <= ? AND IBMSNAP_LOGMARKER <= ?"
    )


def lock(schema: str, table: str) -> str:
    """Return Debezium's lock statement of a snapshot: the lock is released as soon as the query
    ends."""
    return f"SELECT * FROM {quoted(schema, table)} WHERE 0=1 WITH CS"


def insert_signal(schema: str, table: str) -> str:
    """Return the statement that inserts a row of the signal table: id, type and data."""
    return f"INSERT INTO {quoted(schema, table)} VALUES (?, ?, ?)"


def delete_signal(schema: str, table: str, column: str) -> str:
    """Return the statement that deletes a row of the signal table by its id, the first column."""
    return f"DELETE FROM {quoted(schema, table)} WHERE {quoted(column)} = ?"


def _of_register(config: Db2Config, query: str) -> str:
    """Return a query that on z/OS reads uncommitted rows: Capture holds locks on its row for
    long."""
    on_zos = config.db2_platform == Db2Platform.ZOS
    return f"{query} FOR READ ONLY WITH UR" if on_zos else query
