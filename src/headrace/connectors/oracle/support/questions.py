"""The statements of a support bundle of Oracle, and which parts of their answers may be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.sql.statement import Statement
from headrace.support.questions import Question, Shown

ROOT, TABLES = "root", "where the tables are"
_VALUE, _NAME = Shown.VALUE, Shown.NAME
_WORDS: Mapping[str, Shown] = dict.fromkeys(
    (
        "STATUS", "ENABLED", "TYPE", "KIND", "ARCHIVED", "DELETED", "APPLIED", "STANDBY_DEST",
        "REGISTRAR", "CREATOR", "DICTIONARY_BEGIN", "DICTIONARY_END", "BACKUP_COUNT", "FAL",
        "END_OF_REDO", "END_OF_REDO_TYPE", "IS_RECOVERY_DEST_FILE", "COMPRESSED", "RECOVERY_MODE",
        "PROTECTION_MODE", "DATABASE_MODE", "SYNCHRONIZATION_STATUS", "SYNCHRONIZED", "GAP_STATUS",
        "SRL", "LOG_MODE", "SUPPLEMENTAL_LOG_DATA_MIN", "SUPPLEMENTAL_LOG_DATA_ALL",
        "SUPPLEMENTAL_LOG_DATA_PK", "FORCE_LOGGING", "CDB", "PLATFORM_NAME", "PARAMETER", "VALUE",
        "PRIVILEGE", "NULLABLE", "VIRTUAL_COLUMN", "HIDDEN_COLUMN", "USER_GENERATED",
        "LOG_GROUP_TYPE", "OPERATION", "ROLLBACK", "XID", "DEST_NAME",
    ),
    _VALUE,
)  # fmt: skip
"""Columns of views whose values are Oracle's own words."""
_NAMES: Mapping[str, Shown] = dict.fromkeys(
    ("NAME", "OWNER", "TABLE_NAME", "COLUMN_NAME", "INDEX_NAME", "INSTANCE", "SEG_OWNER",
     "OBJECT_NAME", "USERNAME", "MEMBER", "DEFAULT_TABLESPACE", "SRC_CON_NAME", "FILENAME",
     "DESTINATION", "DB_UNIQUE_NAME", "GROUPS", "CON_ID"),
    _NAME,
)  # fmt: skip
_SQL: Mapping[str, Shown] = dict.fromkeys(("SQL_REDO", "DATA_DEFAULT"), Shown.SQL)
VIEWS: Mapping[str, Shown] = {**_WORDS, **_NAMES, **_SQL, "DATA_TYPE": Shown.COLUMN_TYPE}
"""How columns of Oracle's views are shown, by their names."""
_MEMORY = {**VIEWS, "NAME": _VALUE}
_LOGGED = 200
"""The most rows of a view of logs, and of V$LOGMNR_CONTENTS, that are recorded."""


def question(
    statement: Statement, why: str, place: str = ROOT, rows: int = 50, **differences: Any
) -> Question:
    arguments = {"text": statement.text, "columns": VIEWS, **differences}
    return Question(statement.name, why=why, place=place, rows=rows, **arguments)


def whole(view: str, place: str = ROOT) -> Question:
    """Return the question for every column of a view, which the place names: these questions have
    one name."""
    text = sql.WHOLE_VIEW(view=view, number=_LOGGED)
    return question(
        sql.WHOLE_VIEW, f"every column of {view}: its types, nulls and sentinels",
        f"{place}, {view}", _LOGGED, text=text,
    )  # fmt: skip


DATABASE = question(sql.DATABASE, "whether it archives and logs what LogMiner needs")
PRODUCT = question(
    sql.PRODUCT, "the edition", columns={"PRODUCT": _VALUE},
)  # fmt: skip
PLATFORM = question(sql.PLATFORM, "the platform, and whether there are containers")
CLOCK = question(sql.CLOCK, "how times are written", others=_VALUE)
CHARACTER_SETS = question(sql.CHARACTER_SETS, "how texts of the redo are encoded")
CURRENT_SCN = question(sql.CURRENT_SCN, "whether it moves by itself")
TIME_OF_SCN = question(sql.TIME_OF_SCN, "whether the SCN's time is known", others=_VALUE)
MEMORY = question(sql.MEMORY, "whether the session's memory may be seen", columns=_MEMORY)
THREADS = question(sql.THREADS, "which redo threads there are")
LARGEST_LOG = question(sql.LARGEST_LOG, "how large a log is")
DESTINATIONS = question(sql.DESTINATIONS, "where logs are archived")
ONLINE_LOGS = question(sql.ONLINE_LOGS, "which logs are written now", rows=_LOGGED)
ARCHIVED_LOGS = question(sql.ARCHIVED_LOGS, "which logs are archived", rows=_LOGGED)
UNARCHIVED = question(sql.UNARCHIVED, "which logs are still being archived")
ARCHIVED_UNTIL = question(sql.ARCHIVED_UNTIL, "how far each thread is archived")
PENDING = question(
    sql.PENDING, "which transactions are open, and where they began",
    text=sql.PENDING(view="V$TRANSACTION"),
)  # fmt: skip
ADD_LOGFILE = question(sql.ADD_LOGFILE, "a session of LogMiner, on logs that are there")
START_LOGMNR = question(
    sql.START_LOGMNR,
    "a session of LogMiner, with the dictionary of the database whatever log.mining.strategy says: "
    "it reads redo and changes nothing",
    text=sql.start_logmnr("online_catalog"),
)  # fmt: skip
SESSION_LOGS = question(sql.SESSION_LOGS, "which logs the session has")
CONTENTS = question(
    sql.CONTENTS, "redo rows of the captured tables' schemas, their names and values masked",
    rows=_LOGGED, goes_on="CSF",
)  # fmt: skip
END_LOGMNR = question(sql.END_LOGMNR, "the end of the session")
SET_CONTAINER = question(sql.SET_CONTAINER, "the session goes to the root and to the tables")
SESSION_FORMATS = question(
    sql.SESSION_FORMATS, "the formats of the connector's sessions", "each session"
)
SESSION_TIME_ZONE = question(
    sql.SESSION_TIME_ZONE, "the time zone of the connector's sessions", "each session"
)
FORMATS = whole("NLS_SESSION_PARAMETERS")
PRIVILEGES = question(sql.PRIVILEGES, "which rights the user has", TABLES, rows=500)
PACKAGES = question(
    sql.PACKAGES, "which packages the user may call", TABLES, columns={"OBJECT_NAME": _VALUE},
)  # fmt: skip
ALL_TABLES = question(
    sql.TABLES, "how many tables there are", TABLES, rows=20, text=sql.tables((19,)),
)  # fmt: skip
COLUMNS = question(
    sql.COLUMNS, "how a captured table's columns are declared", TABLES, rows=1000,
    text=sql.COLUMNS(one=sql.one_table("C.TABLE_NAME")),
)  # fmt: skip
PRIMARY_KEY = question(
    sql.PRIMARY_KEY, "a captured table's key", TABLES,
    text=sql.PRIMARY_KEY(one=sql.one_table("K.TABLE_NAME")),
)  # fmt: skip
UNIQUE_INDEXES = question(
    sql.UNIQUE_INDEXES, "a captured table's unique indexes", TABLES,
    text=sql.UNIQUE_INDEXES(one=sql.one_table("I.TABLE_NAME")),
)  # fmt: skip
OBJECT = question(
    sql.OBJECT, "a captured table's ids", TABLES,
    text=sql.OBJECT(one=sql.one_table("O.OBJECT_NAME")),
)  # fmt: skip
DDL_OPTIONS = question(sql.DDL_OPTIONS, "statements of tables come without storage", TABLES)
TABLE_DDL = question(
    sql.TABLE_DDL, "a captured table's statement, its names and values masked", TABLES,
    columns={}, others=Shown.SQL,
)  # fmt: skip
ROWS = question(
    sql.ROWS, "three rows of a captured table: which types the driver makes; no value is kept",
    TABLES, columns={}, others=Shown.TYPE, rows=3,
)  # fmt: skip
LOG_VIEWS = tuple(
    whole(f"V${view}") for view in ("LOG", "THREAD", "ARCHIVED_LOG", "ARCHIVE_DEST_STATUS")
)
QUESTIONS: Sequence[Question] = (
    SESSION_FORMATS, SESSION_TIME_ZONE, SET_CONTAINER, FORMATS, DATABASE, PRODUCT, PLATFORM, CLOCK,
    CHARACTER_SETS, CURRENT_SCN, TIME_OF_SCN, MEMORY, THREADS, LARGEST_LOG, DESTINATIONS,
    ONLINE_LOGS, ARCHIVED_LOGS, UNARCHIVED, ARCHIVED_UNTIL, PENDING, *LOG_VIEWS, ADD_LOGFILE,
    START_LOGMNR, SESSION_LOGS, CONTENTS, END_LOGMNR, PRIVILEGES, PACKAGES, ALL_TABLES, COLUMNS,
    PRIMARY_KEY, UNIQUE_INDEXES, OBJECT, DDL_OPTIONS, TABLE_DDL, ROWS,
)  # fmt: skip
"""All questions, in the order in which they are asked first."""
