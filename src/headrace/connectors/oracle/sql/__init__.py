"""Every statement that is sent to Oracle; `STATEMENTS` has them all. What stands in their slots is
in `grammar`, the conditions on V$LOGMNR_CONTENTS are made by `redo_conditions`.

Each says where Oracle tells of what it uses: `Reference` is Database Reference, `PL/SQL` PL/SQL
Packages and Types Reference, `SQL` SQL Language Reference, `Globalization` Globalization Support
Guide, `Utilities` the chapter on LogMiner of Database Utilities. Values are binds (`:owner`), or
literals where LogMiner prunes by them.
"""

from __future__ import annotations

from collections.abc import Iterable

from headrace.connectors.oracle.sql.statement import Statement

ROOT = "CDB$ROOT"
STATEMENTS: list[Statement] = []
"""Every statement that is sent, in the order of this module."""


def _statement(name: str, manual: str, text: str, **forms: str) -> Statement:
    statement = Statement(name, manual, " ".join(text.split()), forms)
    STATEMENTS.append(statement)
    return statement


def quoted(*names: str) -> str:
    """A name, of as many parts as are given."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def text(value: str) -> str:
    """A literal."""
    return "'" + value.replace("'", "''") + "'"


# -- the session ----------------------------------------------------------------------------------

SET_CONTAINER = _statement(
    "set_container",
    "SQL, ALTER SESSION, SET CONTAINER",
    "ALTER SESSION SET CONTAINER = {container}",
)
SESSION_FORMATS = _statement(
    "session_formats",
    "Globalization, NLS_DATE_FORMAT, NLS_TIMESTAMP_FORMAT, NLS_TIMESTAMP_TZ_FORMAT, "
    "NLS_NUMERIC_CHARACTERS, NLS_SORT, NLS_COMP",
    "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS' "
    "NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF9' "
    "NLS_TIMESTAMP_TZ_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM' "
    "NLS_NUMERIC_CHARACTERS = '.,' NLS_SORT = BINARY NLS_COMP = BINARY",
)
"""These formats are those of the literals in SQL_REDO. Texts are sorted as they are compared."""
SESSION_TIME_ZONE = _statement(
    "session_time_zone", "SQL, ALTER SESSION, TIME_ZONE", "ALTER SESSION SET TIME_ZONE = '00:00'"
)


def set_container(container: str) -> str:
    """`CDB$ROOT`, or a pluggable database."""
    return SET_CONTAINER(container=ROOT if container.upper() == ROOT else quoted(container))


def remedy_in(container: str | None, statements: str) -> str:
    """What an administrator runs in a container; None: there are no containers."""
    return statements if container is None else f"{set_container(container)}; {statements}"


# -- the database ---------------------------------------------------------------------------------

DATABASE = _statement(
    "database",
    "Reference, V$DATABASE",
    "SELECT NAME, LOG_MODE, SUPPLEMENTAL_LOG_DATA_MIN, SUPPLEMENTAL_LOG_DATA_ALL, FORCE_LOGGING, "
    "CDB, CURRENT_SCN, RESETLOGS_CHANGE# FROM V$DATABASE",
)
CURRENT_SCN = _statement(
    "current_scn", "Reference, V$DATABASE", "SELECT CURRENT_SCN FROM V$DATABASE"
)
NOW = _statement(
    "now",
    "Reference, V$DATABASE; SQL, SYSTIMESTAMP",
    "SELECT CURRENT_SCN, TO_CHAR(SYSTIMESTAMP) FROM V$DATABASE",
)
"""Before each window: the SCN, and the clock as `CLOCK` has it."""
CLOCK = _statement("clock", "SQL, SYSTIMESTAMP", "SELECT TO_CHAR(SYSTIMESTAMP) FROM DUAL")
"""As NLS_TIMESTAMP_TZ_FORMAT has it: the driver's own values know no zone."""
CHARACTER_SETS = _statement(
    "character_sets",
    "Reference, NLS_DATABASE_PARAMETERS",
    "SELECT PARAMETER, VALUE FROM NLS_DATABASE_PARAMETERS "
    "WHERE PARAMETER IN ('NLS_CHARACTERSET', 'NLS_NCHAR_CHARACTERSET')",
)
TIME_OF_SCN = _statement(
    "time_of_scn", "SQL, SCN_TO_TIMESTAMP", "SELECT TO_CHAR(SCN_TO_TIMESTAMP(:scn)) FROM DUAL"
)
SCN_OF_TIME = _statement(
    "scn_of_time",
    "SQL, TIMESTAMP_TO_SCN",
    "SELECT TIMESTAMP_TO_SCN(TO_TIMESTAMP(:time)) FROM DUAL",
)
MEMORY = _statement(
    "memory",
    "Reference, V$STATNAME and V$MYSTAT",
    "SELECT N.NAME, M.VALUE FROM V$STATNAME N JOIN V$MYSTAT M ON M.STATISTIC# = N.STATISTIC# "
    "WHERE N.NAME IN ('session uga memory', 'session uga memory max', 'session pga memory', "
    "'session pga memory max')",
)

# -- redo logs ------------------------------------------------------------------------------------

THREADS = _statement(
    "threads",
    "Reference, V$THREAD",
    "SELECT THREAD#, STATUS, ENABLED, SEQUENCE#, CHECKPOINT_CHANGE#, ENABLE_CHANGE#, "
    "DISABLE_CHANGE#, LAST_REDO_SEQUENCE#, LAST_REDO_CHANGE#, LAST_REDO_TIME FROM V$THREAD "
    "ORDER BY THREAD#",
)
LOGS = (
    "NAME", "FIRST_CHANGE", "NEXT_CHANGE", "THREAD", "SEQUENCE", "KIND", "STATUS",
    "DICTIONARY_BEGIN", "DICTIONARY_END", "BYTES",
)  # fmt: skip
"""Columns of `ONLINE_LOGS` and `ARCHIVED_LOGS`."""
ONLINE_LOGS = _statement(
    "online_logs",
    "Reference, V$LOG and V$LOGFILE",
    "SELECT MIN(F.MEMBER) AS NAME, L.FIRST_CHANGE# AS FIRST_CHANGE, L.NEXT_CHANGE# AS NEXT_CHANGE, "
    "L.THREAD# AS THREAD, L.SEQUENCE# AS SEQUENCE, 'ONLINE' AS KIND, L.STATUS AS STATUS, "
    "'NO' AS DICTIONARY_BEGIN, 'NO' AS DICTIONARY_END, L.BYTES AS BYTES "
    "FROM V$LOG L JOIN V$LOGFILE F ON F.GROUP# = L.GROUP# WHERE L.STATUS = 'CURRENT' "
    "GROUP BY L.FIRST_CHANGE#, L.NEXT_CHANGE#, L.THREAD#, L.SEQUENCE#, L.STATUS, L.BYTES "
    "ORDER BY THREAD, SEQUENCE",
)
_INCARNATION = (
    "FROM V$ARCHIVED_LOG A JOIN V$DATABASE D ON A.RESETLOGS_CHANGE# = D.RESETLOGS_CHANGE# "
    "AND A.RESETLOGS_TIME = D.RESETLOGS_TIME "
)
_ARCHIVED = (
    f"{_INCARNATION}WHERE (A.DEST_ID = 0 OR A.DEST_ID IN "
    "(SELECT S.DEST_ID FROM V$ARCHIVE_DEST_STATUS S WHERE S.DEST_NAME = :destination)) "
)
"""DEST_ID is 0 of logs that were restored or catalogued."""
_YOUNG = "AND (:hours = 0 OR A.FIRST_TIME >= SYSDATE - :hours / 24) "
ARCHIVED_LOGS = _statement(
    "archived_logs",
    "Reference, V$ARCHIVED_LOG, V$DATABASE and V$ARCHIVE_DEST_STATUS",
    "SELECT A.NAME AS NAME, A.FIRST_CHANGE# AS FIRST_CHANGE, A.NEXT_CHANGE# AS NEXT_CHANGE, "
    "A.THREAD# AS THREAD, A.SEQUENCE# AS SEQUENCE, 'ARCHIVED' AS KIND, A.STATUS AS STATUS, "
    "A.DICTIONARY_BEGIN AS DICTIONARY_BEGIN, A.DICTIONARY_END AS DICTIONARY_END, "
    f"A.BLOCKS * A.BLOCK_SIZE AS BYTES {_ARCHIVED}"
    "AND A.NAME IS NOT NULL AND A.ARCHIVED = 'YES' AND A.STATUS = 'A' AND A.NEXT_CHANGE# > :scn "
    f"{_YOUNG}ORDER BY THREAD, SEQUENCE, A.DEST_ID DESC",
)
DELETED_LOGS = _statement(
    "deleted_logs",
    "Reference, V$ARCHIVED_LOG, V$DATABASE and V$ARCHIVE_DEST_STATUS",
    f"SELECT A.THREAD# AS THREAD, A.SEQUENCE# AS SEQUENCE {_ARCHIVED}"
    "AND A.STATUS = 'D' AND A.FIRST_CHANGE# <= :scn AND A.NEXT_CHANGE# > :scn "
    "ORDER BY THREAD, SEQUENCE",
)
LOG_END = _statement(
    "log_end",
    "Reference, V$ARCHIVED_LOG and V$DATABASE",
    f"SELECT MAX(A.NEXT_CHANGE#) {_INCARNATION}WHERE A.THREAD# = :thread "
    "AND A.SEQUENCE# = :sequence",
)
"""Where a log ended that was archived, be it there still or not."""
UNARCHIVED = _statement(
    "unarchived",
    "Reference, V$LOG and V$ARCHIVED_LOG",
    "SELECT L.THREAD#, L.NEXT_CHANGE# FROM V$LOG L WHERE L.STATUS IN ('ACTIVE', 'INACTIVE') "
    "AND (L.ARCHIVED = 'NO' OR NOT EXISTS (SELECT 1 FROM V$ARCHIVED_LOG A "
    "WHERE A.THREAD# = L.THREAD# AND A.SEQUENCE# = L.SEQUENCE#))",
)
"""Logs that were written and are not archived yet, or not shown so."""
ARCHIVED_UNTIL = _statement(
    "archived_until",
    "Reference, V$ARCHIVED_LOG, V$DATABASE and V$ARCHIVE_DEST_STATUS",
    f"SELECT A.THREAD# AS THREAD, MAX(A.NEXT_CHANGE#) {_ARCHIVED}"
    "AND A.NAME IS NOT NULL AND A.ARCHIVED = 'YES' AND A.STATUS = 'A' "
    "GROUP BY A.THREAD# ORDER BY THREAD",
)
OLDEST_LOG_TIME = _statement(
    "oldest_log_time",
    "Reference, V$ARCHIVED_LOG, V$DATABASE and V$ARCHIVE_DEST_STATUS",
    f"SELECT TO_CHAR(MIN(A.FIRST_TIME)), TO_CHAR(SYSDATE) {_ARCHIVED}"
    f"AND A.NAME IS NOT NULL AND A.ARCHIVED = 'YES' AND A.STATUS = 'A' {_YOUNG}".rstrip(),
)
DESTINATIONS = _statement(
    "destinations",
    "Reference, V$ARCHIVE_DEST_STATUS",
    "SELECT DEST_ID, DEST_NAME, STATUS, TYPE FROM V$ARCHIVE_DEST_STATUS ORDER BY DEST_ID",
)
LARGEST_LOG = _statement("largest_log", "Reference, V$LOG", "SELECT MAX(BYTES) FROM V$LOG")

# -- LogMiner -------------------------------------------------------------------------------------

ADD_LOGFILE = _statement(
    "add_logfile",
    "PL/SQL, DBMS_LOGMNR.ADD_LOGFILE",
    "BEGIN SYS.DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => :name, "
    "OPTIONS => SYS.DBMS_LOGMNR.ADDFILE); END;",
)
REMOVE_LOGFILE = _statement(
    "remove_logfile",
    "PL/SQL, DBMS_LOGMNR.REMOVE_LOGFILE",
    "BEGIN SYS.DBMS_LOGMNR.REMOVE_LOGFILE(LOGFILENAME => :name); END;",
)
SESSION_LOGS = _statement(
    "session_logs", "Reference, V$LOGMNR_LOGS", "SELECT FILENAME FROM V$LOGMNR_LOGS"
)
START_LOGMNR = _statement(
    "start_logmnr",
    "PL/SQL, DBMS_LOGMNR.START_LOGMNR",
    "BEGIN SYS.DBMS_LOGMNR.START_LOGMNR(STARTSCN => :first, ENDSCN => :last, "
    "OPTIONS => {options}{dictionary}); END;",
)
END_LOGMNR = _statement(
    "end_logmnr", "PL/SQL, DBMS_LOGMNR.END_LOGMNR", "BEGIN SYS.DBMS_LOGMNR.END_LOGMNR(); END;"
)
BUILD_DICTIONARY = _statement(
    "build_dictionary",
    "PL/SQL, DBMS_LOGMNR_D.BUILD",
    "BEGIN SYS.DBMS_LOGMNR_D.BUILD(OPTIONS => SYS.DBMS_LOGMNR_D.STORE_IN_REDO_LOGS); END;",
)


def start_logmnr(
    strategy: str, dictionary_file: str | None = None, *, committed: bool = False
) -> str:
    """Binds are `first` and `last`; `strategy` is log.mining.strategy; `committed`: rows of
    transactions that were committed, in their order (LogMiner_Unbuffered)."""
    options = ["NO_ROWID_IN_STMT"]
    if strategy == "redo_log_catalog":
        options[:0] = ["DICT_FROM_REDO_LOGS", "DDL_DICT_TRACKING"]
    elif strategy != "dictionary_from_file":
        options[:0] = ["DICT_FROM_ONLINE_CATALOG"]
    if committed:
        options.append("COMMITTED_DATA_ONLY")
    from_file = strategy == "dictionary_from_file" and dictionary_file
    return START_LOGMNR(
        options=" + ".join(f"SYS.DBMS_LOGMNR.{option}" for option in options),
        dictionary=f", DICTFILENAME => {text(str(dictionary_file))}" if from_file else "",
    )


CONTENTS = _statement(
    "contents",
    "Reference, V$LOGMNR_CONTENTS; Utilities, Querying V$LOGMNR_CONTENTS",
    "SELECT {redo_columns} FROM V$LOGMNR_CONTENTS WHERE SCN > :low AND SCN <= :high "
    "AND {condition}",
)
COMMITTED_CONTENTS = _statement(
    "committed_contents",
    "Reference, V$LOGMNR_CONTENTS; Utilities, Showing Only Committed Transactions",
    "SELECT {redo_columns} FROM V$LOGMNR_CONTENTS WHERE (COMMIT_SCN > :low AND COMMIT_SCN <= :high "
    "OR COMMIT_SCN IS NULL AND OPERATION_CODE = 5 AND SCN > :low AND SCN <= :high) "
    "AND {condition}",
)


def contents(columns: Iterable[str], condition: str, *, committed: bool = False) -> str:
    """Redo rows between two SCNs, the upper one included (binds `low` and `high`); `columns` are of
    `streaming.redo_rows.REDO`, `condition` of `redo_conditions`. `committed`: those of
    transactions that were committed there, and DDL; for sessions that give no others.

    LogMiner gives rows in the order of their SCNs, or of the SCNs of their commits: an ORDER BY
    would have the server sort each window. Others are `oracle.redo_out_of_order`."""
    statement = COMMITTED_CONTENTS if committed else CONTENTS
    return statement(redo_columns=", ".join(columns), condition=condition)


# -- the table that flushes redo ------------------------------------------------------------------

FLUSH_TABLE_COUNT = _statement(
    "flush_table_count",
    "Reference, USER_TABLES",
    "SELECT COUNT(*) FROM USER_TABLES WHERE TABLE_NAME = :name",
)
FLUSH_TABLE_CREATE = _statement(
    "flush_table_create", "SQL, CREATE TABLE", "CREATE TABLE {flush_table} (LAST_SCN NUMBER(19,0))"
)
FLUSH_TABLE_ROWS = _statement(
    "flush_table_rows", "SQL, SELECT", "SELECT COUNT(*) FROM {flush_table} F"
)
FLUSH_TABLE_SCN = _statement(
    "flush_table_scn", "SQL, SELECT", "SELECT F.LAST_SCN FROM {flush_table} F"
)
FLUSH_TABLE_DELETE = _statement("flush_table_delete", "SQL, DELETE", "DELETE FROM {flush_table} F")
FLUSH_TABLE_INSERT = _statement(
    "flush_table_insert", "SQL, INSERT", "INSERT INTO {flush_table} (LAST_SCN) VALUES (:scn)"
)
FLUSH_TABLE_UPDATE = _statement(
    "flush_table_update", "SQL, UPDATE", "UPDATE {flush_table} SET LAST_SCN = :scn"
)

# -- tables ---------------------------------------------------------------------------------------

_NO_PARTS = "T.NESTED = 'NO' AND T.IOT_NAME IS NULL AND T.SECONDARY = 'N' AND T.TEMPORARY = 'N' "
TABLES = _statement(
    "tables",
    "Reference, ALL_TABLES and ALL_OBJECTS",
    "SELECT T.OWNER, T.TABLE_NAME, O.OBJECT_ID FROM ALL_TABLES T JOIN ALL_OBJECTS O "
    "ON O.OWNER = T.OWNER AND O.OBJECT_NAME = T.TABLE_NAME AND O.OBJECT_TYPE = 'TABLE' "
    f"WHERE {_NO_PARTS}ORDER BY T.OWNER, T.TABLE_NAME",
)
TABLE_SIZE = _statement(
    "table_size",
    "Reference, ALL_TABLES",
    "SELECT NUM_ROWS, BLOCKS FROM ALL_TABLES WHERE OWNER = :owner AND TABLE_NAME = :name",
)
OBJECT = _statement(
    "object",
    "Reference, ALL_OBJECTS",
    "SELECT OBJECT_ID, DATA_OBJECT_ID FROM ALL_OBJECTS "
    "WHERE OWNER = :owner AND OBJECT_NAME = :name AND OBJECT_TYPE = 'TABLE'",
)
COLUMNS = _statement(
    "columns",
    "Reference, ALL_TAB_COLS and ALL_COL_COMMENTS",
    "SELECT C.COLUMN_NAME, C.DATA_TYPE, C.DATA_LENGTH, C.CHAR_LENGTH, C.DATA_PRECISION, "
    "C.DATA_SCALE, C.NULLABLE, C.DATA_DEFAULT, C.VIRTUAL_COLUMN, M.COMMENTS "
    "FROM ALL_TAB_COLS C LEFT JOIN ALL_COL_COMMENTS M ON M.OWNER = C.OWNER "
    "AND M.TABLE_NAME = C.TABLE_NAME AND M.COLUMN_NAME = C.COLUMN_NAME "
    "WHERE C.OWNER = :owner AND C.TABLE_NAME = :name AND C.HIDDEN_COLUMN = 'NO' "
    "ORDER BY C.COLUMN_ID",
)
PRIMARY_KEY = _statement(
    "primary_key",
    "Reference, ALL_CONSTRAINTS and ALL_CONS_COLUMNS",
    "SELECT C.COLUMN_NAME FROM ALL_CONSTRAINTS K JOIN ALL_CONS_COLUMNS C ON C.OWNER = K.OWNER "
    "AND C.CONSTRAINT_NAME = K.CONSTRAINT_NAME AND C.TABLE_NAME = K.TABLE_NAME "
    "WHERE K.OWNER = :owner AND K.TABLE_NAME = :name AND K.CONSTRAINT_TYPE = 'P' "
    "ORDER BY C.POSITION",
)
UNIQUE_INDEXES = _statement(
    "unique_indexes",
    "Reference, ALL_INDEXES and ALL_IND_COLUMNS",
    "SELECT I.INDEX_NAME, C.COLUMN_NAME FROM ALL_INDEXES I JOIN ALL_IND_COLUMNS C "
    "ON C.INDEX_OWNER = I.OWNER AND C.INDEX_NAME = I.INDEX_NAME "
    "WHERE I.TABLE_OWNER = :owner AND I.TABLE_NAME = :name AND I.UNIQUENESS = 'UNIQUE' "
    "ORDER BY I.INDEX_NAME, C.COLUMN_POSITION",
)
LOG_GROUPS = _statement(
    "log_groups",
    "Reference, ALL_LOG_GROUPS",
    "SELECT OWNER, TABLE_NAME, LOG_GROUP_TYPE FROM ALL_LOG_GROUPS",
)
LOGGED_SCHEMAS = _statement(
    "logged_schemas",
    "Reference, ALL_CAPTURE_PREPARED_SCHEMAS",
    "SELECT SCHEMA_NAME FROM ALL_CAPTURE_PREPARED_SCHEMAS WHERE SUPPLEMENTAL_LOG_DATA_ALL <> 'NO'",
)
"""Schemas of which the redo of every table has all columns."""
UNLOGGED_TABLES = _statement(
    "unlogged_tables",
    "Reference, ALL_TABLES and ALL_TAB_PARTITIONS",
    "SELECT OWNER, TABLE_NAME FROM ALL_TABLES WHERE LOGGING = 'NO' UNION "
    "SELECT TABLE_OWNER, TABLE_NAME FROM ALL_TAB_PARTITIONS WHERE LOGGING = 'NO'",
)
"""Tables (NOLOGGING) whose direct path loads are not in the redo."""
DDL_OPTIONS = _statement(
    "ddl_options",
    "PL/SQL, DBMS_METADATA.SET_TRANSFORM_PARAM",
    "BEGIN DBMS_METADATA.SET_TRANSFORM_PARAM(DBMS_METADATA.SESSION_TRANSFORM, 'STORAGE', FALSE); "
    "DBMS_METADATA.SET_TRANSFORM_PARAM(DBMS_METADATA.SESSION_TRANSFORM, 'SEGMENT_ATTRIBUTES', "
    "FALSE); DBMS_METADATA.SET_TRANSFORM_PARAM(DBMS_METADATA.SESSION_TRANSFORM, 'SQLTERMINATOR', "
    "TRUE); END;",
)
TABLE_DDL = _statement(
    "table_ddl",
    "PL/SQL, DBMS_METADATA.GET_DDL",
    "SELECT DBMS_METADATA.GET_DDL('TABLE', :name, :owner) FROM DUAL",
)
RECYCLED = _statement(
    "recycled",
    "Reference, DBA_RECYCLEBIN",
    "SELECT OWNER, ORIGINAL_NAME FROM DBA_RECYCLEBIN WHERE OBJECT_NAME = :name",
)

# -- snapshots ------------------------------------------------------------------------------------

SAVEPOINT = _statement("savepoint", "SQL, SAVEPOINT", "SAVEPOINT headrace_schema_snapshot")
UNLOCK = _statement("unlock", "SQL, ROLLBACK", "ROLLBACK TO SAVEPOINT headrace_schema_snapshot")
LOCK = _statement("lock", "SQL, LOCK TABLE", "LOCK TABLE {table} IN ROW SHARE MODE")
PENDING = _statement(
    "pending",
    "Reference, V$TRANSACTION and GV$TRANSACTION",
    "SELECT XID, START_SCN FROM {view} WHERE START_SCN < :scn",
    view=r"G?V\$TRANSACTION",
)
LOCKABLE = _statement("lockable", "SQL, LOCK TABLE", "LOCK TABLE {table} IN ROW SHARE MODE NOWAIT")
"""Whether a table may be locked; the lock is let go at once."""
READABLE = _statement("readable", "SQL, SELECT", "SELECT 1 FROM {table}{as_of} WHERE 1 = 0")
"""Whether a table may be read, also as of an SCN."""
ROWS = _statement(
    "rows",
    "SQL, SELECT, flashback_query_clause and row_limiting_clause",
    "SELECT {expressions} FROM {source}{where}{order}{page}",
)
"""Rows and keys of a table, as of an SCN where one is told. This and the next ones are put together
by `relational.reading.chunk_sql` and the connector's dialect."""
FILLED = _statement(
    "filled",
    "SQL, SELECT, set operators",
    "(SELECT {number} FROM {source} FETCH FIRST 1 ROWS ONLY){others}",
)
"""Which tables have rows."""
COUNTED = _statement(
    "counted", "SQL, SELECT", "SELECT (SELECT count(*) FROM {source}{where}) FROM DUAL"
)
BOUNDS = _statement(
    "bounds",
    "SQL, SELECT, ROW_NUMBER and MOD",
    "SELECT {expressions} FROM (SELECT {key}, row_number() OVER (ORDER BY {key}) "
    'AS "headrace row number" FROM {source}{where} ORDER BY {key} FETCH FIRST {number} ROWS ONLY) '
    '"t" WHERE MOD("headrace row number", {size}) = 0 ORDER BY "headrace row number"',
)
"""Every n-th key."""
FILTERED = _statement(
    "filtered",
    "SQL, SELECT, flashback_query_clause",
    "SELECT 1 FROM {table}{as_of} WHERE 0 = 1 AND ({condition})",
)
"""Whether the condition of a signal is one for a table."""
OVERRIDDEN = _statement(
    "overridden", "SQL, SELECT, subquery", 'SELECT {expressions} FROM ({query}) "t"'
)
"""Rows by a statement of the user's."""
PROBED = _statement("probed", "SQL, SELECT, subquery", "SELECT * FROM ({query})")
"""What a statement of the user's gives."""


def as_of(scn: int) -> str:
    """What follows a table that is read as it was."""
    return f" AS OF SCN {scn}"


# -- signals --------------------------------------------------------------------------------------

INSERT_SIGNAL = _statement(
    "insert_signal", "SQL, INSERT", "INSERT INTO {table} VALUES (:id, :kind, :data)"
)
DELETE_SIGNAL = _statement("delete_signal", "SQL, DELETE", "DELETE FROM {table} WHERE {name} = :id")

HEARTBEAT = _statement(
    "heartbeat",
    "SQL, Comments within SQL Statements",
    "/* heartbeat.action.query */ {action}",
)
"""What a user has run with each heartbeat."""
EXPLAIN_HEARTBEAT = _statement(
    "explain_heartbeat", "SQL, EXPLAIN PLAN", "EXPLAIN PLAN FOR {action}"
)
"""Whether it can run, which it does not; the plan is rolled back."""

# -- checks ---------------------------------------------------------------------------------------

PRIVILEGES = _statement(
    "privileges", "Reference, SESSION_PRIVS", "SELECT PRIVILEGE FROM SESSION_PRIVS"
)
QUOTA = _statement(
    "quota",
    "Reference, USER_USERS and USER_TS_QUOTAS",
    "SELECT U.DEFAULT_TABLESPACE, Q.MAX_BYTES FROM USER_USERS U LEFT JOIN USER_TS_QUOTAS Q "
    "ON Q.TABLESPACE_NAME = U.DEFAULT_TABLESPACE",
)
"""The user's table space, and what may be in it: -1 is without limit."""
PROBE = _statement("probe", "SQL, SELECT", "SELECT 1 FROM {view} WHERE 1 = 0")
"""Whether a view may be read."""
PACKAGES = _statement(
    "packages",
    "Reference, ALL_PROCEDURES",
    "SELECT DISTINCT OBJECT_NAME FROM ALL_PROCEDURES WHERE OWNER = 'SYS' "
    "AND OBJECT_NAME IN ('DBMS_LOGMNR', 'DBMS_LOGMNR_D')",
)


def recognized(statement: str) -> tuple[Statement, dict[str, str]] | None:
    """Which statement a text is, and the values of its slots; None: none of this module."""
    for one in STATEMENTS:
        slots = one.match(statement)
        if slots is not None:
            return one, slots
    return None
