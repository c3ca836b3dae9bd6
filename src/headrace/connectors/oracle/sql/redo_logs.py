"""Statements on redo logs, and those of LogMiner."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.connectors.oracle.sql.grammar import text
from headrace.connectors.oracle.sql.statement import declared

# -- redo logs ------------------------------------------------------------------------------------

THREADS = declared(
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
ONLINE_LOGS = declared(
    "online_logs",
    "Reference, V$LOG and V$LOGFILE",
    "SELECT COALESCE(MIN(CASE WHEN F.STATUS IS NULL THEN F.MEMBER END), MIN(F.MEMBER)) AS NAME, "
    "L.FIRST_CHANGE# AS FIRST_CHANGE, L.NEXT_CHANGE# AS NEXT_CHANGE, "
    "L.THREAD# AS THREAD, L.SEQUENCE# AS SEQUENCE, 'ONLINE' AS KIND, L.STATUS AS STATUS, "
    "'NO' AS DICTIONARY_BEGIN, 'NO' AS DICTIONARY_END, L.BYTES AS BYTES "
    "FROM V$LOG L JOIN V$LOGFILE F ON F.GROUP# = L.GROUP# WHERE L.STATUS = 'CURRENT' "
    "GROUP BY L.FIRST_CHANGE#, L.NEXT_CHANGE#, L.THREAD#, L.SEQUENCE#, L.STATUS, L.BYTES "
    "ORDER BY THREAD, SEQUENCE",
)
"""Members of a group may be INVALID (inaccessible) or STALE; one that is in use is chosen."""
_INCARNATION = (
    "FROM V$ARCHIVED_LOG A JOIN V$DATABASE D ON A.RESETLOGS_CHANGE# = D.RESETLOGS_CHANGE# "
    "AND A.RESETLOGS_TIME = D.RESETLOGS_TIME "
)
_ARCHIVED = (
    f"{_INCARNATION}WHERE (A.DEST_ID = 0 OR A.DEST_ID IN "
    "(SELECT S.DEST_ID FROM V$ARCHIVE_DEST_STATUS S WHERE S.DEST_NAME = :destination)) "
)
"""DEST_ID is 0 for logs that were restored or catalogued."""
_YOUNG = "AND (:hours = 0 OR A.FIRST_TIME >= SYSDATE - :hours / 24) "
ARCHIVED_LOGS = declared(
    "archived_logs",
    "Reference, V$ARCHIVED_LOG, V$DATABASE and V$ARCHIVE_DEST_STATUS",
    "SELECT A.NAME AS NAME, A.FIRST_CHANGE# AS FIRST_CHANGE, A.NEXT_CHANGE# AS NEXT_CHANGE, "
    "A.THREAD# AS THREAD, A.SEQUENCE# AS SEQUENCE, 'ARCHIVED' AS KIND, A.STATUS AS STATUS, "
    "A.DICTIONARY_BEGIN AS DICTIONARY_BEGIN, A.DICTIONARY_END AS DICTIONARY_END, "
    f"A.BLOCKS * A.BLOCK_SIZE AS BYTES {_ARCHIVED}"
    "AND A.NAME IS NOT NULL AND A.ARCHIVED = 'YES' AND A.STATUS = 'A' AND A.NEXT_CHANGE# > :scn "
    f"{_YOUNG}ORDER BY THREAD, SEQUENCE, A.DEST_ID DESC",
)
DELETED_LOGS = declared(
    "deleted_logs",
    "Reference, V$ARCHIVED_LOG, V$DATABASE and V$ARCHIVE_DEST_STATUS",
    f"SELECT A.THREAD# AS THREAD, A.SEQUENCE# AS SEQUENCE {_ARCHIVED}"
    "AND A.STATUS = 'D' AND A.FIRST_CHANGE# <= :scn AND A.NEXT_CHANGE# > :scn "
    "ORDER BY THREAD, SEQUENCE",
)
LOG_END = declared(
    "log_end",
    "Reference, V$ARCHIVED_LOG and V$DATABASE",
    f"SELECT MAX(A.NEXT_CHANGE#) {_INCARNATION}WHERE A.THREAD# = :thread "
    "AND A.SEQUENCE# = :sequence",
)
"""The SCN at which an archived log ended, whether it still exists or not."""
UNARCHIVED = declared(
    "unarchived",
    "Reference, V$LOG and V$ARCHIVED_LOG",
    "SELECT L.THREAD#, L.NEXT_CHANGE# FROM V$LOG L WHERE L.STATUS IN ('ACTIVE', 'INACTIVE') "
    "AND (L.ARCHIVED = 'NO' OR NOT EXISTS (SELECT 1 FROM V$ARCHIVED_LOG A "
    "WHERE A.THREAD# = L.THREAD# AND A.SEQUENCE# = L.SEQUENCE#))",
)
ARCHIVED_UNTIL = declared(
    "archived_until",
    "Reference, V$ARCHIVED_LOG, V$DATABASE and V$ARCHIVE_DEST_STATUS",
    f"SELECT A.THREAD# AS THREAD, MAX(A.NEXT_CHANGE#) {_ARCHIVED}"
    "AND A.NAME IS NOT NULL AND A.ARCHIVED = 'YES' AND A.STATUS = 'A' "
    "GROUP BY A.THREAD# ORDER BY THREAD",
)
OLDEST_LOG_TIME = declared(
    "oldest_log_time",
    "Reference, V$ARCHIVED_LOG, V$DATABASE and V$ARCHIVE_DEST_STATUS",
    f"SELECT TO_CHAR(MIN(A.FIRST_TIME)), TO_CHAR(SYSDATE) {_ARCHIVED}"
    f"AND A.NAME IS NOT NULL AND A.ARCHIVED = 'YES' AND A.STATUS = 'A' {_YOUNG}".rstrip(),
)
DESTINATIONS = declared(
    "destinations",
    "Reference, V$ARCHIVE_DEST_STATUS",
    "SELECT DEST_ID, DEST_NAME, STATUS, TYPE FROM V$ARCHIVE_DEST_STATUS ORDER BY DEST_ID",
)
LARGEST_LOG = declared("largest_log", "Reference, V$LOG", "SELECT MAX(BYTES) FROM V$LOG")

# -- LogMiner -------------------------------------------------------------------------------------

ADD_LOGFILE = declared(
    "add_logfile",
    "PL/SQL, DBMS_LOGMNR.ADD_LOGFILE",
    "BEGIN SYS.DBMS_LOGMNR.ADD_LOGFILE(LOGFILENAME => :name, "
    "OPTIONS => SYS.DBMS_LOGMNR.ADDFILE); END;",
)
REMOVE_LOGFILE = declared(
    "remove_logfile",
    "PL/SQL, DBMS_LOGMNR.REMOVE_LOGFILE",
    "BEGIN SYS.DBMS_LOGMNR.REMOVE_LOGFILE(LOGFILENAME => :name); END;",
)
SESSION_LOGS = declared(
    "session_logs",
    "Reference, V$LOGMNR_LOGS; Utilities, Querying V$LOGMNR_LOGS",
    "SELECT FILENAME FROM V$LOGMNR_LOGS WHERE INFO IS NULL OR INFO <> 'MISSING_LOGFILE'",
)
"""The view also has rows of logs that the session lacks: their FILENAME is a sentence."""
START_LOGMNR = declared(
    "start_logmnr",
    "PL/SQL, DBMS_LOGMNR.START_LOGMNR",
    "BEGIN SYS.DBMS_LOGMNR.START_LOGMNR(STARTSCN => :first, ENDSCN => :last, "
    "OPTIONS => {options}{dictionary}); END;",
)
END_LOGMNR = declared(
    "end_logmnr", "PL/SQL, DBMS_LOGMNR.END_LOGMNR", "BEGIN SYS.DBMS_LOGMNR.END_LOGMNR(); END;"
)
BUILD_DICTIONARY = declared(
    "build_dictionary",
    "PL/SQL, DBMS_LOGMNR_D.BUILD",
    "BEGIN SYS.DBMS_LOGMNR_D.BUILD(OPTIONS => SYS.DBMS_LOGMNR_D.STORE_IN_REDO_LOGS); END;",
)


def start_logmnr(
    strategy: str, dictionary_file: str | None = None, *, committed: bool = False
) -> str:
    """Return the statement that starts a session. Binds are `first` and `last`; `strategy` is
    log.mining.strategy; `committed`: rows of committed transactions, in their order
    (LogMiner_Unbuffered)."""
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


CONTENTS = declared(
    "contents",
    "Reference, V$LOGMNR_CONTENTS; Utilities, Querying V$LOGMNR_CONTENTS",
    "SELECT {redo_columns} FROM V$LOGMNR_CONTENTS WHERE SCN > :low AND SCN <= :high "
    "AND {condition}",
)
COMMITTED_CONTENTS = declared(
    "committed_contents",
    "Reference, V$LOGMNR_CONTENTS; Utilities, Showing Only Committed Transactions",
    "SELECT {redo_columns} FROM V$LOGMNR_CONTENTS WHERE (COMMIT_SCN > :low AND COMMIT_SCN <= :high "
    "OR COMMIT_SCN IS NULL AND OPERATION_CODE = 5 AND SCN > :low AND SCN <= :high) "
    "AND {condition}",
)


def contents(columns: Iterable[str], condition: str, *, committed: bool = False) -> str:
    """Return the query of redo rows between two SCNs, the upper one included (binds `low` and
    `high`); `columns` are of `streaming.redo_rows.REDO`, `condition` of `redo_conditions`.
    `committed`: rows of transactions that were committed between them, and DDL; for sessions that
    return no others.

    LogMiner returns rows in the order of their SCNs, or of the SCNs of their commits: an ORDER BY
    would make the server sort each window. Rows in another order are `oracle.redo_out_of_order`."""
    statement = COMMITTED_CONTENTS if committed else CONTENTS
    return statement(redo_columns=", ".join(columns), condition=condition)
