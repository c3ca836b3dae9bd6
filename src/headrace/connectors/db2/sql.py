"""Every statement that is sent to Db2 for its change tables, in the dialects of LUW and z/OS.

Names are quoted always, places in the log are parameters of their bytes. Nothing here needs window
functions: pairs of rows are put together by the reader.
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
"""The first columns of every change table: of the commit, of the change, and what it did."""

CURRENT_TIME = "SELECT CURRENT TIMESTAMP, CURRENT TIMEZONE FROM SYSIBM.SYSDUMMY1"
"""One row: the server's local time, and its distance from UTC: hours, minutes and seconds as the
digits of a DECIMAL(6,0)."""
CURRENT_COMMIT = 'SELECT "VALUE" FROM SYSIBMADM.DBCFG WHERE "NAME" = \'cur_commit\''
"""A row for each member (LUW): ON, AVAILABLE (for whoever asks for it) or DISABLED."""

_MICROSECONDS = 6
_DECFLOAT_CHARACTERS = 42
"""The longest text of a DECFLOAT: sign, 34 digits, point, and an exponent of four digits."""
_FINE_TIMESTAMP = "YYYY-MM-DD HH24:MI:SS.FF12"


class ChangeTableName(Protocol):
    """Where a change table is."""

    @property
    def change_schema(self) -> str: ...
    @property
    def change_table(self) -> str: ...


def quoted(*names: str) -> str:
    """A name, of as many parts as are given."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def literal(value: object) -> str:
    """A text or a number as SQL writes it."""
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def control_table(config: Db2Config, table: str) -> str:
    """A control table."""
    return quoted(config.cdc_control_schema, table)


def newest_lsn(config: Db2Config) -> str:
    """Up to where Capture has written all changes: one row, null before it began. Also on z/OS it
    waits for a transaction of Capture that is not committed: if Capture rolled it back, and wrote
    the changes a second time, they would not be read again."""
    register = control_table(config, REGISTER)
    return (
        f"SELECT MAX(T.SYNCHPOINT) FROM (SELECT CD_NEW_SYNCHPOINT AS SYNCHPOINT FROM {register} "
        f"UNION ALL SELECT SYNCHPOINT AS SYNCHPOINT FROM {register}) T"
    )


def newest_lsn_and_clock(config: Db2Config) -> str:
    """As `newest_lsn`, and the distance of the server's clock from UTC as `CURRENT_TIME` has it."""
    register = control_table(config, REGISTER)
    distance = "CURRENT TIMEZONE AS DISTANCE"
    return (
        "SELECT MAX(T.SYNCHPOINT), MAX(T.DISTANCE) FROM (SELECT CD_NEW_SYNCHPOINT AS SYNCHPOINT, "
        f"{distance} FROM {register} UNION ALL SELECT SYNCHPOINT AS SYNCHPOINT, {distance} "
        f"FROM {register}) T"
    )


def registrations(config: Db2Config, *, begun: bool = False) -> str:
    """The registered tables; see `catalog.registrations`. A view's registration has its table's
    names in some set-ups, and a number of its own. `begun`: only those whose change tables begin at
    a place or after it."""
    condition = " AND CD_OLD_SYNCHPOINT >= ?" if begun else ""
    return _of_register(
        config,
        "SELECT SOURCE_OWNER, SOURCE_TABLE, CD_OWNER, CD_TABLE, CD_OLD_SYNCHPOINT, "
        "CD_NEW_SYNCHPOINT, SYNCHPOINT, STATE, CHG_UPD_TO_DEL_INS "
        f"FROM {control_table(config, REGISTER)} WHERE GLOBAL_RECORD <> 'Y' "
        f"AND SOURCE_VIEW_QUAL = 0 AND CD_TABLE IS NOT NULL{condition}",
    )


def held_tables(config: Db2Config) -> str:
    """Schemas and names of the tables whose changes a set of subscribers holds back from
    pruning, up to its SYNCHPOINT."""
    sets = ("TARGET_SERVER", "APPLY_QUAL", "SET_NAME")
    same = " AND ".join(f"M.{column} = S.{column}" for column in sets)
    return (
        f"SELECT DISTINCT M.SOURCE_OWNER, M.SOURCE_TABLE FROM {control_table(config, PRUNING)} M, "
        f"{control_table(config, PRUNE_SETS)} S WHERE {same} "
        "AND M.SOURCE_VIEW_QUAL = 0"
    )


def capture_progress(config: Db2Config) -> str:
    """SYNCHPOINT and SYNCHTIME of the global row, and what `CURRENT_TIME` has."""
    return _of_register(
        config,
        "SELECT SYNCHPOINT, SYNCHTIME, CURRENT TIMESTAMP, CURRENT TIMEZONE "
        f"FROM {control_table(config, REGISTER)} WHERE GLOBAL_RECORD = 'Y'",
    )


def changes(table: ChangeTableName, columns: Iterable[Column]) -> str:
    """Rows of a change table between two commits, both included, in the order in which they were
    made: `CHANGE_COLUMNS`, then the columns. Timestamps that the driver would cut, and those with
    zones, are texts."""
    shown = ", ".join((*CHANGE_COLUMNS, *map(readable, columns)))
    return (
        f"SELECT {shown} FROM {quoted(table.change_schema, table.change_table)} "
        "WHERE IBMSNAP_COMMITSEQ >= ? AND IBMSNAP_COMMITSEQ <= ? "
        "ORDER BY IBMSNAP_COMMITSEQ, IBMSNAP_INTENTSEQ"
    )


def readable(column: Column) -> str:
    """The expression of a column's value as the driver can give all of it, by its name."""
    name = quoted(column.name)
    expression = exact(name, column)
    return name if expression == name else f"{expression} AS {name}"


def exact(name: str, column: Column) -> str:
    """The expression of a column's value as the driver can give all of it.

    ibm_db has too little room for texts of DECFLOAT (its issue 1075: CLI0111E), and takes BOOLEAN,
    of which the CLI writes a byte for each row, for numbers of two bytes, so that only the first of
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
    """The first commit that a change table still has: one row, null where it is empty."""
    name = quoted(table.change_schema, table.change_table)
    return f"SELECT MIN(IBMSNAP_COMMITSEQ) FROM {name}"


def commit_times(config: Db2Config) -> str:
    """Places and times of the commits between two, both included, in order."""
    return (
        "SELECT IBMSNAP_COMMITSEQ, IBMSNAP_LOGMARKER "
        f"FROM {control_table(config, UNITS_OF_WORK)} "
        "WHERE IBMSNAP_COMMITSEQ >= ? AND IBMSNAP_COMMITSEQ <= ? ORDER BY IBMSNAP_COMMITSEQ"
    )


def first_commit_time(config: Db2Config) -> str:
    """The time of the first recorded commit between two places; no row if there is no commit."""
    units = control_table(config, UNITS_OF_WORK)
    return (
        f"SELECT IBMSNAP_LOGMARKER FROM {units} WHERE IBMSNAP_COMMITSEQ >= ? "
        "AND IBMSNAP_COMMITSEQ <= ? ORDER BY IBMSNAP_COMMITSEQ FETCH FIRST 1 ROWS ONLY"
    )


def last_commit_until(config: Db2Config) -> str:
    """The last commit between two places that was made at a time or before it: one row, null if
    there is no such commit."""
    units = control_table(config, UNITS_OF_WORK)
    return (
        f"SELECT MAX(IBMSNAP_COMMITSEQ) FROM {units} WHERE IBMSNAP_COMMITSEQ >= ? "
        "AND IBMSNAP_COMMITSEQ <= ? AND IBMSNAP_LOGMARKER <= ?"
    )


def lock(schema: str, table: str) -> str:
    """Debezium's lock of a snapshot: it is let go as soon as the query ends."""
    return f"SELECT * FROM {quoted(schema, table)} WHERE 0=1 WITH CS"


def insert_signal(schema: str, table: str) -> str:
    """A row of the signal table: id, type and data."""
    return f"INSERT INTO {quoted(schema, table)} VALUES (?, ?, ?)"


def delete_signal(schema: str, table: str, column: str) -> str:
    """The row of the signal table whose id, in its first column, is given."""
    return f"DELETE FROM {quoted(schema, table)} WHERE {quoted(column)} = ?"


def _of_register(config: Db2Config, query: str) -> str:
    """z/OS: Capture holds locks on its row for long."""
    on_zos = config.db2_platform == Db2Platform.ZOS
    return f"{query} FOR READ ONLY WITH UR" if on_zos else query
