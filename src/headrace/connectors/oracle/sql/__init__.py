"""Every statement that is sent to Oracle; `STATEMENTS` has them all. `grammar` has the contents of
their slots, `redo_conditions` makes the conditions on V$LOGMNR_CONTENTS.

Each names the manual that documents the views and packages in it: `Reference` is Database
Reference, `PL/SQL` PL/SQL Packages and Types Reference, `SQL` SQL Language Reference,
`Globalization` Globalization Support Guide, `Utilities` the chapter on LogMiner of Database
Utilities. Values are binds (`:owner`), or literals where LogMiner prunes by them."""

from __future__ import annotations

from headrace.connectors.oracle.sql.grammar import text as text
from headrace.connectors.oracle.sql.redo_logs import (
    ADD_LOGFILE as ADD_LOGFILE,
)
from headrace.connectors.oracle.sql.redo_logs import (
    ARCHIVED_LOGS as ARCHIVED_LOGS,
)
from headrace.connectors.oracle.sql.redo_logs import (
    ARCHIVED_UNTIL as ARCHIVED_UNTIL,
)
from headrace.connectors.oracle.sql.redo_logs import (
    BUILD_DICTIONARY as BUILD_DICTIONARY,
)
from headrace.connectors.oracle.sql.redo_logs import (
    COMMITTED_CONTENTS as COMMITTED_CONTENTS,
)
from headrace.connectors.oracle.sql.redo_logs import (
    CONTENTS as CONTENTS,
)
from headrace.connectors.oracle.sql.redo_logs import (
    DELETED_LOGS as DELETED_LOGS,
)
from headrace.connectors.oracle.sql.redo_logs import (
    DESTINATIONS as DESTINATIONS,
)
from headrace.connectors.oracle.sql.redo_logs import (
    END_LOGMNR as END_LOGMNR,
)
from headrace.connectors.oracle.sql.redo_logs import (
    LARGEST_LOG as LARGEST_LOG,
)
from headrace.connectors.oracle.sql.redo_logs import (
    LOG_END as LOG_END,
)
from headrace.connectors.oracle.sql.redo_logs import (
    LOGS as LOGS,
)
from headrace.connectors.oracle.sql.redo_logs import (
    OLDEST_LOG_TIME as OLDEST_LOG_TIME,
)
from headrace.connectors.oracle.sql.redo_logs import (
    ONLINE_LOGS as ONLINE_LOGS,
)
from headrace.connectors.oracle.sql.redo_logs import (
    REMOVE_LOGFILE as REMOVE_LOGFILE,
)
from headrace.connectors.oracle.sql.redo_logs import (
    SESSION_LOGS as SESSION_LOGS,
)
from headrace.connectors.oracle.sql.redo_logs import (
    START_LOGMNR as START_LOGMNR,
)
from headrace.connectors.oracle.sql.redo_logs import (
    THREADS as THREADS,
)
from headrace.connectors.oracle.sql.redo_logs import (
    UNARCHIVED as UNARCHIVED,
)
from headrace.connectors.oracle.sql.redo_logs import (
    contents as contents,
)
from headrace.connectors.oracle.sql.redo_logs import (
    start_logmnr as start_logmnr,
)
from headrace.connectors.oracle.sql.statement import STATEMENTS as STATEMENTS
from headrace.connectors.oracle.sql.statement import Statement, declared
from headrace.connectors.oracle.sql.workload import KIT as KIT
from headrace.connectors.oracle.sql.workload import KIT_COLUMN as KIT_COLUMN
from headrace.connectors.oracle.sql.workload import KIT_DELETE as KIT_DELETE
from headrace.connectors.oracle.sql.workload import KIT_DROP as KIT_DROP
from headrace.connectors.oracle.sql.workload import KIT_DROP_TYPE as KIT_DROP_TYPE
from headrace.connectors.oracle.sql.workload import KIT_INDEX as KIT_INDEX
from headrace.connectors.oracle.sql.workload import KIT_INSERT as KIT_INSERT
from headrace.connectors.oracle.sql.workload import KIT_LOB as KIT_LOB
from headrace.connectors.oracle.sql.workload import KIT_LOGGING as KIT_LOGGING
from headrace.connectors.oracle.sql.workload import KIT_SAVEPOINT as KIT_SAVEPOINT
from headrace.connectors.oracle.sql.workload import KIT_TABLE as KIT_TABLE
from headrace.connectors.oracle.sql.workload import KIT_TABLES as KIT_TABLES
from headrace.connectors.oracle.sql.workload import KIT_TYPE as KIT_TYPE
from headrace.connectors.oracle.sql.workload import KIT_UNDO as KIT_UNDO
from headrace.connectors.oracle.sql.workload import KIT_UPDATE as KIT_UPDATE

ROOT = "CDB$ROOT"


def quoted(*names: str) -> str:
    """Return a quoted name of one or more parts."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


# -- the session ----------------------------------------------------------------------------------

SET_CONTAINER = declared(
    "set_container",
    "SQL, ALTER SESSION, SET CONTAINER",
    "ALTER SESSION SET CONTAINER = {container}",
)
SESSION_FORMATS = declared(
    "session_formats",
    "Globalization, NLS_DATE_FORMAT, NLS_TIMESTAMP_FORMAT, NLS_TIMESTAMP_TZ_FORMAT, "
    "NLS_NUMERIC_CHARACTERS, NLS_SORT, NLS_COMP",
    "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS' "
    "NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF9' "
    "NLS_TIMESTAMP_TZ_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM' "
    "NLS_NUMERIC_CHARACTERS = '.,' NLS_SORT = BINARY NLS_COMP = BINARY",
)
"""The formats of the session, which are those of the literals in SQL_REDO. Texts are sorted as they
are compared."""
SESSION_TIME_ZONE = declared(
    "session_time_zone", "SQL, ALTER SESSION, TIME_ZONE", "ALTER SESSION SET TIME_ZONE = '00:00'"
)


def set_container(container: str) -> str:
    """Return the statement that switches to `CDB$ROOT`, or to a pluggable database."""
    return SET_CONTAINER(container=ROOT if container.upper() == ROOT else quoted(container))


def remedy_in(container: str | None, statements: str) -> str:
    """Return statements that an administrator runs in a container; None: there are no
    containers."""
    return statements if container is None else f"{set_container(container)}; {statements}"


# -- the database ---------------------------------------------------------------------------------

DATABASE = declared(
    "database",
    "Reference, V$DATABASE",
    "SELECT NAME, LOG_MODE, SUPPLEMENTAL_LOG_DATA_MIN, SUPPLEMENTAL_LOG_DATA_ALL, FORCE_LOGGING, "
    "CDB, CURRENT_SCN, RESETLOGS_CHANGE# FROM V$DATABASE",
)
CURRENT_SCN = declared("current_scn", "Reference, V$DATABASE", "SELECT CURRENT_SCN FROM V$DATABASE")
NOW = declared(
    "now",
    "Reference, V$DATABASE; SQL, SYSTIMESTAMP",
    "SELECT CURRENT_SCN, TO_CHAR(SYSTIMESTAMP) FROM V$DATABASE",
)
"""The query before each window: the SCN, and the clock as in `CLOCK`."""
CLOCK = declared("clock", "SQL, SYSTIMESTAMP", "SELECT TO_CHAR(SYSTIMESTAMP) FROM DUAL")
"""The clock as a text in NLS_TIMESTAMP_TZ_FORMAT: the driver's own values have no zone."""
CHARACTER_SETS = declared(
    "character_sets",
    "Reference, NLS_DATABASE_PARAMETERS",
    "SELECT PARAMETER, VALUE FROM NLS_DATABASE_PARAMETERS "
    "WHERE PARAMETER IN ('NLS_CHARACTERSET', 'NLS_NCHAR_CHARACTERSET')",
)
TIME_OF_SCN = declared(
    "time_of_scn", "SQL, SCN_TO_TIMESTAMP", "SELECT TO_CHAR(SCN_TO_TIMESTAMP(:scn)) FROM DUAL"
)
SCN_OF_TIME = declared(
    "scn_of_time",
    "SQL, TIMESTAMP_TO_SCN",
    "SELECT TIMESTAMP_TO_SCN(TO_TIMESTAMP(:time)) FROM DUAL",
)
MEMORY = declared(
    "memory",
    "Reference, V$STATNAME and V$MYSTAT",
    "SELECT N.NAME, M.VALUE FROM V$STATNAME N JOIN V$MYSTAT M ON M.STATISTIC# = N.STATISTIC# "
    "WHERE N.NAME IN ('session uga memory', 'session uga memory max', 'session pga memory', "
    "'session pga memory max')",
)

# -- the table that flushes redo ------------------------------------------------------------------

FLUSH_TABLE_COUNT = declared(
    "flush_table_count",
    "Reference, USER_TABLES",
    "SELECT COUNT(*) FROM USER_TABLES WHERE TABLE_NAME = :name",
)
FLUSH_TABLE_CREATE = declared(
    "flush_table_create", "SQL, CREATE TABLE", "CREATE TABLE {flush_table} (LAST_SCN NUMBER(19,0))"
)
FLUSH_TABLE_ROWS = declared(
    "flush_table_rows", "SQL, SELECT", "SELECT COUNT(*) FROM {flush_table} F"
)
FLUSH_TABLE_SCN = declared(
    "flush_table_scn", "SQL, SELECT", "SELECT F.LAST_SCN FROM {flush_table} F"
)
FLUSH_TABLE_DELETE = declared("flush_table_delete", "SQL, DELETE", "DELETE FROM {flush_table} F")
FLUSH_TABLE_INSERT = declared(
    "flush_table_insert", "SQL, INSERT", "INSERT INTO {flush_table} (LAST_SCN) VALUES (:scn)"
)
FLUSH_TABLE_UPDATE = declared(
    "flush_table_update", "SQL, UPDATE", "UPDATE {flush_table} SET LAST_SCN = :scn"
)

# -- tables ---------------------------------------------------------------------------------------

_NO_PARTS = (
    "T.NESTED = 'NO' AND T.IOT_NAME IS NULL AND T.SECONDARY = 'N' AND T.TEMPORARY = 'N' AND NOT "
    "EXISTS (SELECT 1 FROM ALL_NESTED_TABLES N WHERE N.OWNER = T.OWNER "
    "AND N.PARENT_TABLE_NAME = T.TABLE_NAME){inside}"
)
TABLES = declared(
    "tables",
    "Reference, ALL_TABLES, ALL_OBJECTS and ALL_NESTED_TABLES",
    "SELECT T.OWNER, T.TABLE_NAME, O.OBJECT_ID FROM ALL_TABLES T JOIN ALL_OBJECTS O "
    "ON O.OWNER = T.OWNER AND O.OBJECT_NAME = T.TABLE_NAME AND O.OBJECT_TYPE = 'TABLE' "
    f"WHERE {_NO_PARTS} ORDER BY T.OWNER, T.TABLE_NAME",
)
TABLE_SIZE = declared(
    "table_size",
    "Reference, ALL_TABLES",
    "SELECT NUM_ROWS, BLOCKS FROM ALL_TABLES WHERE OWNER = :owner AND TABLE_NAME = :name",
)
OBJECT = declared(
    "object",
    "Reference, ALL_OBJECTS",
    "SELECT O.OBJECT_NAME, O.OBJECT_ID, O.DATA_OBJECT_ID FROM ALL_OBJECTS O "
    "WHERE O.OWNER = :owner AND O.OBJECT_TYPE = 'TABLE'{one}",
)
COLUMNS = declared(
    "columns",
    "Reference, ALL_TAB_COLS and ALL_COL_COMMENTS",
    "SELECT C.TABLE_NAME, C.COLUMN_NAME, C.DATA_TYPE, C.DATA_LENGTH, C.CHAR_LENGTH, "
    "C.DATA_PRECISION, C.DATA_SCALE, C.NULLABLE, C.DATA_DEFAULT, C.VIRTUAL_COLUMN, M.COMMENTS "
    "FROM ALL_TAB_COLS C LEFT JOIN ALL_COL_COMMENTS M ON M.OWNER = C.OWNER "
    "AND M.TABLE_NAME = C.TABLE_NAME AND M.COLUMN_NAME = C.COLUMN_NAME WHERE C.OWNER = :owner"
    "{one} AND (C.HIDDEN_COLUMN = 'NO' OR C.USER_GENERATED = 'YES') "
    "ORDER BY C.TABLE_NAME, C.COLUMN_ID NULLS LAST, C.INTERNAL_COLUMN_ID",
)
"""Invisible columns are hidden ones that users made; they have no COLUMN_ID, and come last."""
TABLE_COMMENTS = declared(
    "table_comments",
    "Reference, ALL_TAB_COMMENTS",
    "SELECT OWNER, TABLE_NAME, COMMENTS FROM ALL_TAB_COMMENTS WHERE TABLE_TYPE = 'TABLE'",
)
PRIMARY_KEY = declared(
    "primary_key",
    "Reference, ALL_CONSTRAINTS and ALL_CONS_COLUMNS",
    "SELECT K.TABLE_NAME, C.COLUMN_NAME FROM ALL_CONSTRAINTS K JOIN ALL_CONS_COLUMNS C "
    "ON C.OWNER = K.OWNER AND C.CONSTRAINT_NAME = K.CONSTRAINT_NAME "
    "AND C.TABLE_NAME = K.TABLE_NAME WHERE K.OWNER = :owner{one} AND K.CONSTRAINT_TYPE = 'P' "
    "ORDER BY K.TABLE_NAME, C.POSITION",
)
UNIQUE_INDEXES = declared(
    "unique_indexes",
    "Reference, ALL_INDEXES and ALL_IND_COLUMNS",
    "SELECT I.TABLE_NAME, I.INDEX_NAME, C.COLUMN_NAME FROM ALL_INDEXES I JOIN ALL_IND_COLUMNS C "
    "ON C.INDEX_OWNER = I.OWNER AND C.INDEX_NAME = I.INDEX_NAME "
    "WHERE I.TABLE_OWNER = :owner{one} AND I.UNIQUENESS = 'UNIQUE' "
    "ORDER BY I.TABLE_NAME, I.INDEX_NAME, C.COLUMN_POSITION",
)


def tables(version: tuple[int, ...]) -> str:
    """Return the query of tables whose rows are in the database: not external ones, and not hybrid
    partitioned ones, which servers of some versions have."""
    external = " AND T.EXTERNAL = 'NO'" if version >= (12, 2) else ""
    return TABLES(inside=external + (" AND T.HYBRID = 'NO'" if version >= (19,) else ""))


def one_table(column: str) -> str:
    """Return the condition that selects one table of the schema, for `OBJECT`, `COLUMNS`,
    `PRIMARY_KEY` and `UNIQUE_INDEXES`: `column` contains the table's name; the bind is `name`."""
    return f" AND {column} = :name"


LOG_GROUPS = declared(
    "log_groups",
    "Reference, ALL_LOG_GROUPS",
    "SELECT OWNER, TABLE_NAME, LOG_GROUP_TYPE FROM ALL_LOG_GROUPS",
)
LOGGED_SCHEMAS = declared(
    "logged_schemas",
    "Reference, ALL_CAPTURE_PREPARED_SCHEMAS",
    "SELECT SCHEMA_NAME FROM ALL_CAPTURE_PREPARED_SCHEMAS WHERE SUPPLEMENTAL_LOG_DATA_ALL <> 'NO'",
)
"""Schemas in which the redo of every table has all columns."""
UNLOGGED_TABLES = declared(
    "unlogged_tables",
    "Reference, ALL_TABLES, ALL_TAB_PARTITIONS and ALL_TAB_SUBPARTITIONS",
    "SELECT OWNER, TABLE_NAME FROM ALL_TABLES WHERE LOGGING = 'NO' UNION "
    "SELECT TABLE_OWNER, TABLE_NAME FROM ALL_TAB_PARTITIONS WHERE LOGGING = 'NO' UNION "
    "SELECT TABLE_OWNER, TABLE_NAME FROM ALL_TAB_SUBPARTITIONS WHERE LOGGING = 'NO'",
)
"""Tables (NOLOGGING) whose direct path loads are not in the redo."""
UNLOGGED_LOBS = declared(
    "unlogged_lobs",
    "Reference, ALL_LOBS, ALL_LOB_PARTITIONS and ALL_LOB_SUBPARTITIONS",
    "SELECT OWNER, TABLE_NAME, COLUMN_NAME FROM ALL_LOBS WHERE LOGGING = 'NO' UNION "
    "SELECT TABLE_OWNER, TABLE_NAME, COLUMN_NAME FROM ALL_LOB_PARTITIONS WHERE LOGGING = 'NO' "
    "UNION SELECT TABLE_OWNER, TABLE_NAME, COLUMN_NAME FROM ALL_LOB_SUBPARTITIONS "
    "WHERE LOGGING = 'NO'",
)
"""Columns whose values, where they lie outside of their rows, are not in the redo at all."""
DDL_OPTIONS = declared(
    "ddl_options",
    "PL/SQL, DBMS_METADATA.SET_TRANSFORM_PARAM",
    "BEGIN DBMS_METADATA.SET_TRANSFORM_PARAM(DBMS_METADATA.SESSION_TRANSFORM, 'STORAGE', FALSE); "
    "DBMS_METADATA.SET_TRANSFORM_PARAM(DBMS_METADATA.SESSION_TRANSFORM, 'SEGMENT_ATTRIBUTES', "
    "FALSE); DBMS_METADATA.SET_TRANSFORM_PARAM(DBMS_METADATA.SESSION_TRANSFORM, 'SQLTERMINATOR', "
    "TRUE); END;",
)
TABLE_DDL = declared(
    "table_ddl",
    "PL/SQL, DBMS_METADATA.GET_DDL",
    "SELECT DBMS_METADATA.GET_DDL('TABLE', :name, :owner) FROM DUAL",
)
RECYCLED = declared(
    "recycled",
    "Reference, DBA_RECYCLEBIN",
    "SELECT OWNER, ORIGINAL_NAME FROM DBA_RECYCLEBIN WHERE OBJECT_NAME = :name",
)

# -- snapshots ------------------------------------------------------------------------------------

SAVEPOINT = declared("savepoint", "SQL, SAVEPOINT", "SAVEPOINT headrace_schema_snapshot")
UNLOCK = declared("unlock", "SQL, ROLLBACK", "ROLLBACK TO SAVEPOINT headrace_schema_snapshot")
LOCK = declared("lock", "SQL, LOCK TABLE", "LOCK TABLE {table} IN ROW SHARE MODE")
PENDING = declared(
    "pending",
    "Reference, V$TRANSACTION and GV$TRANSACTION",
    "SELECT XID, START_SCN FROM {view} WHERE START_SCN < :scn",
    view=r"G?V\$TRANSACTION",
)
LOCKABLE = declared("lockable", "SQL, LOCK TABLE", "LOCK TABLE {table} IN ROW SHARE MODE NOWAIT")
"""Checks whether a table may be locked; the lock is released at once."""
READABLE = declared("readable", "SQL, SELECT", "SELECT 1 FROM {table}{as_of} WHERE 1 = 0")
"""Checks whether a table may be read, also as of an SCN."""
ROWS = declared(
    "rows",
    "SQL, SELECT, flashback_query_clause and row_limiting_clause",
    "SELECT {expressions} FROM {source}{where}{order}{page}",
)
"""Rows and keys of a table, as of an SCN if one is given. `relational.reading.chunk_sql` and the
connector's dialect write this statement and the next ones."""
FILLED = declared(
    "filled",
    "SQL, SELECT, set operators",
    "(SELECT {number} FROM {source} FETCH FIRST 1 ROWS ONLY){others}",
)
"""The tables that have rows."""
COUNTED = declared(
    "counted", "SQL, SELECT", "SELECT (SELECT count(*) FROM {source}{where}) FROM DUAL"
)
BOUNDS = declared(
    "bounds",
    "SQL, SELECT, ROW_NUMBER and MOD",
    "SELECT {expressions} FROM (SELECT {key}, row_number() OVER (ORDER BY {key}) "
    'AS "headrace row number" FROM {source}{where} ORDER BY {key} FETCH FIRST {number} ROWS ONLY) '
    '"t" WHERE MOD("headrace row number", {size}) = 0 ORDER BY "headrace row number"',
)
"""Every n-th key."""
FILTERED = declared(
    "filtered",
    "SQL, SELECT, flashback_query_clause",
    "SELECT 1 FROM {table}{as_of} WHERE 0 = 1 AND ({condition})",
)
"""Checks whether the condition of a signal is valid for a table."""
OVERRIDDEN = declared(
    "overridden", "SQL, SELECT, subquery", 'SELECT {expressions} FROM ({query}) "t"'
)
"""Rows by a statement of the user."""
PROBED = declared("probed", "SQL, SELECT, subquery", "SELECT * FROM ({query})")
"""The columns of a statement of the user."""


def as_of(scn: int) -> str:
    """Return the clause after a table that is read as of an SCN."""
    return f" AS OF SCN {scn}"


# -- signals --------------------------------------------------------------------------------------

INSERT_SIGNAL = declared(
    "insert_signal", "SQL, INSERT", "INSERT INTO {table} VALUES (:id, :kind, :data)"
)
DELETE_SIGNAL = declared("delete_signal", "SQL, DELETE", "DELETE FROM {table} WHERE {name} = :id")

HEARTBEAT = declared(
    "heartbeat",
    "SQL, Comments within SQL Statements",
    "/* heartbeat.action.query */ {action}",
)
"""The statement that the user configured for each heartbeat."""
EXPLAIN_HEARTBEAT = declared("explain_heartbeat", "SQL, EXPLAIN PLAN", "EXPLAIN PLAN FOR {action}")
"""Checks whether that statement can run, without running it; the plan is rolled back."""

# -- checks ---------------------------------------------------------------------------------------

PRIVILEGES = declared(
    "privileges", "Reference, SESSION_PRIVS", "SELECT PRIVILEGE FROM SESSION_PRIVS"
)
QUOTA = declared(
    "quota",
    "Reference, USER_USERS and USER_TS_QUOTAS",
    "SELECT U.DEFAULT_TABLESPACE, Q.MAX_BYTES FROM USER_USERS U LEFT JOIN USER_TS_QUOTAS Q "
    "ON Q.TABLESPACE_NAME = U.DEFAULT_TABLESPACE",
)
"""The user's tablespace, and its quota in bytes: -1 is unlimited."""
PROBE = declared("probe", "SQL, SELECT", "SELECT 1 FROM {view} WHERE 1 = 0")
"""Checks whether a view may be read."""
WHOLE_VIEW = declared(
    "whole_view",
    "Reference, the view",
    "SELECT * FROM {view} FETCH FIRST {number} ROWS ONLY",
    view=r"(?:V\$(?:LOG|THREAD|ARCHIVED_LOG|ARCHIVE_DEST_STATUS)|NLS_SESSION_PARAMETERS)",
)
"""Every column of a view, for a support bundle."""
PRODUCT = declared(
    "product",
    "Reference, PRODUCT_COMPONENT_VERSION",
    "SELECT PRODUCT FROM PRODUCT_COMPONENT_VERSION WHERE PRODUCT LIKE 'Oracle%'",
)
"""The edition; up to 12.2 there are rows of parts, too, such as PL/SQL. Every user may read it."""
PLATFORM = declared(
    "platform", "Reference, V$DATABASE", "SELECT PLATFORM_NAME, CDB FROM V$DATABASE"
)
ARROW_ROW = declared(
    "arrow_row",
    "Reference, V$DATABASE; SQL, STANDARD_HASH",
    "SELECT RESETLOGS_CHANGE# AS SCN, RESETLOGS_TIME AS TIME, STANDARD_HASH(NAME, 'SHA256') AS "
    "HASH, NAME, LOG_MODE, CAST(NULL AS VARCHAR2(1)) AS MISSING FROM V$DATABASE",
)
"""A row with each type of the columns of V$LOGMNR_CONTENTS that are read, and a null."""
PACKAGES = declared(
    "packages",
    "Reference, ALL_PROCEDURES",
    "SELECT DISTINCT OBJECT_NAME FROM ALL_PROCEDURES WHERE OWNER = 'SYS' "
    "AND OBJECT_NAME IN ('DBMS_LOGMNR', 'DBMS_LOGMNR_D')",
)


def recognized(statement: str) -> tuple[Statement, dict[str, str]] | None:
    """Return the statement of a text, and the values of its slots; None: it is not in
    `STATEMENTS`."""
    for candidate in STATEMENTS:
        slots = candidate.match(statement)
        if slots is not None:
            return candidate, slots
    return None
