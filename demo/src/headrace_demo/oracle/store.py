"""The data of the stand-in in SQLite, which runs Oracle's SELECTs: names with `#` are quoted,
Oracle's functions are provided, `AS OF SCN` reads versions of rows."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from headrace_demo.oracle.definitions import UNLIMITED, Column
from headrace_demo.oracle.texts import kind, stored

Row = tuple[Any, ...]

_DATE = "%Y-%m-%d %H:%M:%S"
VIEWS = {
    "DUAL": "DUMMY TEXT",
    "V$DATABASE": "NAME TEXT, LOG_MODE TEXT, SUPPLEMENTAL_LOG_DATA_MIN TEXT, "
    "SUPPLEMENTAL_LOG_DATA_ALL TEXT, FORCE_LOGGING TEXT, CDB TEXT, "
    'CURRENT_SCN INTEGER, "RESETLOGS_CHANGE#" INTEGER, '
    "RESETLOGS_TIME DATE_TEXT, PLATFORM_NAME TEXT",
    "PRODUCT_COMPONENT_VERSION": "PRODUCT TEXT, VERSION TEXT, VERSION_FULL TEXT, STATUS TEXT",
    "V$LOG": '"GROUP#" INTEGER, "THREAD#" INTEGER, "SEQUENCE#" INTEGER, BYTES INTEGER, '
    'ARCHIVED TEXT, STATUS TEXT, "FIRST_CHANGE#" INTEGER, "NEXT_CHANGE#" NUMBER_TEXT',
    "V$LOGFILE": '"GROUP#" INTEGER, MEMBER TEXT, STATUS TEXT',
    "V$ARCHIVED_LOG": 'NAME TEXT, DEST_ID INTEGER, "THREAD#" INTEGER, "SEQUENCE#" INTEGER, '
    '"RESETLOGS_CHANGE#" INTEGER, RESETLOGS_TIME DATE_TEXT, "FIRST_CHANGE#" INTEGER, '
    'FIRST_TIME DATE_TEXT, "NEXT_CHANGE#" INTEGER, BLOCKS INTEGER, BLOCK_SIZE INTEGER, '
    "ARCHIVED TEXT, STATUS TEXT, DICTIONARY_BEGIN TEXT, DICTIONARY_END TEXT",
    "V$ARCHIVE_DEST_STATUS": "DEST_ID INTEGER, DEST_NAME TEXT, STATUS TEXT, TYPE TEXT",
    "V$THREAD": '"THREAD#" INTEGER, STATUS TEXT, ENABLED TEXT, "SEQUENCE#" INTEGER, '
    '"CHECKPOINT_CHANGE#" INTEGER, "ENABLE_CHANGE#" INTEGER, "DISABLE_CHANGE#" INTEGER, '
    '"LAST_REDO_SEQUENCE#" INTEGER, "LAST_REDO_CHANGE#" INTEGER, LAST_REDO_TIME DATE_TEXT',
    "V$PARAMETER": "NAME TEXT, VALUE TEXT",
    "NLS_DATABASE_PARAMETERS": "PARAMETER TEXT, VALUE TEXT",
    "NLS_SESSION_PARAMETERS": "PARAMETER TEXT, VALUE TEXT",
    "V$STATNAME": '"STATISTIC#" INTEGER, NAME TEXT',
    "V$MYSTAT": '"STATISTIC#" INTEGER, VALUE INTEGER',
    "V$TRANSACTION": "XID BLOB, START_SCN INTEGER",
    "GV$TRANSACTION": "XID BLOB, START_SCN INTEGER",
    "ALL_TABLES": "OWNER TEXT, TABLE_NAME TEXT, NESTED TEXT, IOT_NAME TEXT, SECONDARY TEXT, "
    "TEMPORARY TEXT, EXTERNAL TEXT, HYBRID TEXT, NUM_ROWS INTEGER, BLOCKS INTEGER, LOGGING TEXT",
    "ALL_NESTED_TABLES": "OWNER TEXT, TABLE_NAME TEXT, PARENT_TABLE_NAME TEXT",
    "ALL_TAB_PARTITIONS": "TABLE_OWNER TEXT, TABLE_NAME TEXT, LOGGING TEXT",
    "ALL_TAB_SUBPARTITIONS": "TABLE_OWNER TEXT, TABLE_NAME TEXT, LOGGING TEXT",
    "ALL_LOBS": "OWNER TEXT, TABLE_NAME TEXT, COLUMN_NAME TEXT, LOGGING TEXT",
    "ALL_LOB_PARTITIONS": "TABLE_OWNER TEXT, TABLE_NAME TEXT, COLUMN_NAME TEXT, LOGGING TEXT",
    "ALL_LOB_SUBPARTITIONS": "TABLE_OWNER TEXT, TABLE_NAME TEXT, COLUMN_NAME TEXT, LOGGING TEXT",
    "ALL_CAPTURE_PREPARED_SCHEMAS": "SCHEMA_NAME TEXT, SUPPLEMENTAL_LOG_DATA_ALL TEXT",
    "USER_TABLES": "TABLE_NAME TEXT",
    "ALL_OBJECTS": "OWNER TEXT, OBJECT_NAME TEXT, OBJECT_TYPE TEXT, OBJECT_ID INTEGER, "
    "DATA_OBJECT_ID INTEGER, LAST_DDL_TIME DATE_TEXT",
    "ALL_TAB_COLS": "OWNER TEXT, TABLE_NAME TEXT, COLUMN_NAME TEXT, DATA_TYPE TEXT, "
    "DATA_LENGTH INTEGER, CHAR_LENGTH INTEGER, DATA_PRECISION INTEGER, DATA_SCALE INTEGER, "
    "NULLABLE TEXT, DATA_DEFAULT TEXT, VIRTUAL_COLUMN TEXT, HIDDEN_COLUMN TEXT, "
    "USER_GENERATED TEXT, COLUMN_ID INTEGER, INTERNAL_COLUMN_ID INTEGER",
    "ALL_TAB_COMMENTS": "OWNER TEXT, TABLE_NAME TEXT, TABLE_TYPE TEXT, COMMENTS TEXT",
    "ALL_COL_COMMENTS": "OWNER TEXT, TABLE_NAME TEXT, COLUMN_NAME TEXT, COMMENTS TEXT",
    "ALL_CONSTRAINTS": "OWNER TEXT, TABLE_NAME TEXT, CONSTRAINT_NAME TEXT, CONSTRAINT_TYPE TEXT",
    "ALL_CONS_COLUMNS": "OWNER TEXT, TABLE_NAME TEXT, CONSTRAINT_NAME TEXT, COLUMN_NAME TEXT, "
    "POSITION INTEGER",
    "ALL_INDEXES": "OWNER TEXT, INDEX_NAME TEXT, TABLE_OWNER TEXT, TABLE_NAME TEXT, "
    "UNIQUENESS TEXT",
    "ALL_IND_COLUMNS": "INDEX_OWNER TEXT, INDEX_NAME TEXT, COLUMN_NAME TEXT, "
    "COLUMN_POSITION INTEGER",
    "ALL_LOG_GROUPS": "OWNER TEXT, TABLE_NAME TEXT, LOG_GROUP_TYPE TEXT",
    "ALL_PROCEDURES": "OWNER TEXT, OBJECT_NAME TEXT",
    "DBA_RECYCLEBIN": "OWNER TEXT, OBJECT_NAME TEXT, ORIGINAL_NAME TEXT",
    "SESSION_PRIVS": "PRIVILEGE TEXT",
    "SESSION_ROLES": "ROLE TEXT",
    "USER_USERS": "DEFAULT_TABLESPACE TEXT",
    "USER_TS_QUOTAS": "TABLESPACE_NAME TEXT, MAX_BYTES INTEGER",
}  # fmt: skip
"""Columns of the views that the connector reads."""
CONTENTS = (
    "SCN", "SQL_REDO", "OPERATION_CODE", "TIMESTAMP", "XID", "CSF", "TABLE_NAME", "SEG_OWNER",
    "OPERATION", "ROW_ID", "ROLLBACK", "STATUS", "INFO", "SSN", "THREAD#", "DATA_OBJ#",
    "DATA_OBJV#", "DATA_OBJD#", "START_SCN", "COMMIT_SCN", "SEQUENCE#", "START_TIMESTAMP",
    "COMMIT_TIMESTAMP", "RS_ID", "USERNAME", "CLIENT_ID", "SRC_CON_NAME", "RBASQN",
)  # fmt: skip
"""Columns of V$LOGMNR_CONTENTS."""
_TEXTS = frozenset(
    {"SQL_REDO", "TABLE_NAME", "SEG_OWNER", "OPERATION", "ROW_ID", "INFO", "RS_ID", "USERNAME",
     "CLIENT_ID", "SRC_CON_NAME"}
)  # fmt: skip
_TIMES = frozenset({"TIMESTAMP", "START_TIMESTAMP", "COMMIT_TIMESTAMP"})
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|:?[A-Za-z_][\w$#]*|\s+|.""", re.DOTALL)
_TABLE = re.compile(r'"((?:[^"]|"")+)"\."((?:[^"]|"")+)"(?: AS OF SCN (\d+))?(?=[ )]|$)')
_PAGE = re.compile(r"(?: OFFSET (\d+) ROWS)? FETCH (?:FIRST|NEXT) (\d+) ROWS ONLY")
_OBJECTS = ("SDO_GEOMETRY", "ANYDATA")
_CALLS = {"SYSDATE": "SYSDATE()", "SYSTIMESTAMP": "SYSTIMESTAMP()", "DBMS_METADATA": ""}


def _type_of(column: Column) -> str:
    """The declaration of a column in SQLite; its first word determines the Python type."""
    name = kind(column)
    if name in ("NUMBER", "FLOAT", "BINARY_FLOAT", "BINARY_DOUBLE"):
        return f"{'FLOAT' if name.startswith('BINARY') else 'NUMBER'}_TEXT COLLATE ORANUMBER"
    if name == "DATE":
        return "DATE_TEXT"
    if name.startswith("TIMESTAMP"):
        return "TIMESTAMP_TEXT"
    if name in ("RAW", "BLOB", "LONG RAW"):
        return "RAW_TEXT"
    return "OBJECT_TEXT" if name in _OBJECTS or "." in name else "TEXT"


class ObjectValue:
    """A value of an object type, which is not a text, number or bytes: the driver has DbObject."""


def _date(text: bytes) -> dt.datetime:
    return dt.datetime.strptime(text.decode(), _DATE)  # noqa: DTZ007 - the database's clock


def _timestamp(text: bytes) -> dt.datetime:
    """The driver's values have microseconds, but no zones."""
    return dt.datetime.fromisoformat(text.decode()[:26])


sqlite3.register_converter("NUMBER_TEXT", lambda text: Decimal(text.decode()))
sqlite3.register_converter("FLOAT_TEXT", lambda text: float(text))
sqlite3.register_converter("DATE_TEXT", _date)
sqlite3.register_converter("TIMESTAMP_TEXT", _timestamp)
sqlite3.register_converter("OBJECT_TEXT", lambda _text: ObjectValue())
sqlite3.register_converter("RAW_TEXT", lambda text: bytes.fromhex(text.decode()))


def name(*names: str) -> str:
    """A quoted name in SQLite; that of a table includes its schema."""
    return '"' + ".".join(names).replace('"', '""') + '"'


class Store:
    """SQLite in a private file. `functions` are Oracle's, by name."""

    def __init__(self, path: Path, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.connection = sqlite3.connect(
            path,
            check_same_thread=False,
            isolation_level=None,
            detect_types=sqlite3.PARSE_DECLTYPES,
        )
        for statement in ("journal_mode=OFF", "synchronous=OFF", "case_sensitive_like=ON"):
            self.connection.execute(f"PRAGMA {statement}")
        self.connection.create_collation("ORANUMBER", _compare)
        for called, function in {**FUNCTIONS, **functions}.items():
            self.connection.create_function(called, -1, function)
        for view, columns in VIEWS.items():
            self.connection.execute(f"CREATE TABLE {name(view)} ({columns})")
        self.connection.execute("INSERT INTO DUAL VALUES ('X')")
        redo = ", ".join(f"{name(column)} {_redo_type(column)}" for column in CONTENTS)
        self.connection.execute(f"CREATE TABLE REDO ({redo})")
        self.connection.execute("CREATE INDEX REDO_SCN ON REDO (SCN)")

    def fill(self, view: str, rows: Iterable[Sequence[Any]]) -> None:
        """Replace the rows of a view."""
        self.connection.execute(f"DELETE FROM {name(view)}")
        values = ", ".join("?" * (VIEWS[view].count(",") + 1))
        self.connection.executemany(f"INSERT INTO {name(view)} VALUES ({values})", rows)

    def add_redo(self, rows: Iterable[Sequence[Any]]) -> None:
        """Rows of V$LOGMNR_CONTENTS; columns as in `CONTENTS`, times as texts."""
        marks = ", ".join("?" * len(CONTENTS))
        self.connection.executemany(f"INSERT INTO REDO VALUES ({marks})", rows)

    # -- rows of tables -------------------------------------------------------------------------

    def create(self, table: str, columns: Sequence[Column], key: Sequence[str] = ()) -> None:
        """Create an empty table; rows are found by their `key`."""
        self.drop(table)
        described = "".join(f", {self.declaration(column)}" for column in columns)
        quoted = name(table)
        self.connection.execute(
            f'CREATE TABLE {quoted} ("$first" INTEGER, "$end" INTEGER DEFAULT {UNLIMITED}, '
            f'"$made" TEXT, "$ended" TEXT, "ROWID" TEXT{described})'
        )
        for mark in ("$made", "$ended"):
            self.connection.execute(
                f"CREATE INDEX {name(table, mark)} ON {quoted} ({name(mark)}) "
                f"WHERE {name(mark)} IS NOT NULL"
            )
        if key:
            self.connection.execute(
                f"CREATE INDEX {name(table, '$key')} ON {quoted} ({', '.join(map(name, key))})"
            )

    @staticmethod
    def declaration(column: Column) -> str:
        """A column's declaration in SQLite."""
        return f"{name(column.name)} {_type_of(column)}"

    def drop(self, table: str) -> None:
        """Drop a table."""
        self.connection.execute(f"DROP TABLE IF EXISTS {name(table)}")

    def rewritten(
        self, text: str, tables: Mapping[str, Sequence[Column]], views: Mapping[str, str]
    ) -> str:
        """A SELECT in SQLite's syntax. `tables` are the columns of each table (SCHEMA.TABLE),
        `views` are subqueries that replace some views."""

        def rows_of(match: re.Match[str]) -> str:
            schema, table, scn = match[1].replace('""', '"'), match[2].replace('""', '"'), match[3]
            columns = tables.get(f"{schema}.{table}")
            if columns is None:
                return match[0]
            select_list = ", ".join(
                name(column) for column in ("ROWID", *(column.name for column in columns))
            )
            condition = f'"$first" <= {scn} AND "$end" > {scn}'
            if scn is None:
                condition = f'"$first" IS NOT NULL AND "$end" = {UNLIMITED}'
            return f"(SELECT {select_list} FROM {name(schema, table)} WHERE {condition})"

        text = _TABLE.sub(rows_of, text)
        text = _PAGE.sub(lambda page: f" LIMIT {page[2]} OFFSET {page[1] or 0}", text)
        if text.startswith("(SELECT"):
            text = "SELECT * FROM " + text.replace(") UNION ALL (", ") UNION ALL SELECT * FROM (")
        parts = []
        for token in _TOKEN.findall(text):
            if token in views:
                parts.append(f"({views[token]})")
            elif token in _CALLS:
                parts.append(_CALLS[token])
            elif "#" in token and token[0] not in "'\"":
                parts.append(f'"{token}"')
            else:
                parts.append(token)
        return "".join(parts).replace(".GET_DDL(", "GET_DDL(")


def _redo_type(column: str) -> str:
    if column in _TEXTS:
        return "TEXT"
    return "DATE_TEXT" if column in _TIMES else "BLOB" if column == "XID" else "INTEGER"


def _compare(left: str, right: str) -> int:
    first, second = Decimal(left), Decimal(right)
    return (first > second) - (first < second)


def _regexp_like(value: str | None, pattern: str, flags: str = "") -> bool | None:
    if value is None:
        return None
    return re.search(pattern, value, re.IGNORECASE if "i" in flags else 0) is not None


def _literal(declared: str) -> Callable[..., str | None]:
    column = Column("x", declared, 0)
    return lambda text, *_: stored(column, text)


def _unistr(text: str | None) -> str | None:
    if text is None:
        return None
    units = re.sub(r"\\([0-9A-Fa-f]{4})", lambda unit: chr(int(unit[1], 16)), text)
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be")


def _to_char(value: Any, pattern: str = "YYYY") -> str | None:
    """Convert times, which are stored as texts in the session's formats, with a minus before years
    BC; a pattern cuts the fraction and the zone. Only in SYYYY years have a sign, or a blank."""
    if value is None:
        return None
    text = str(value)
    if _KEPT_TIME.match(text):
        unsigned = text.removeprefix("-")
        sign = " " if unsigned == text else "-"
        text = sign + unsigned if pattern.startswith("S") else unsigned
    fraction = re.search(r"FF(\d)", pattern)
    if fraction is not None:
        return re.sub(r"\.(\d+)", lambda digits: "." + digits[1][: int(fraction[1])], text)
    return text


_KEPT_TIME = re.compile(r"-?\d{4}-\d\d-\d\d \d\d:")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "REGEXP_LIKE": _regexp_like,
    "TO_CHAR": _to_char,
    "ROWIDTOCHAR": lambda value: value,
    "TO_DATE": _literal("DATE"),
    "TO_TIMESTAMP": _literal("TIMESTAMP(9)"),
    "TO_TIMESTAMP_TZ": _literal("TIMESTAMP(9) WITH TIME ZONE"),
    "TO_DSINTERVAL": _literal("INTERVAL DAY(2) TO SECOND(6)"),
    "TO_YMINTERVAL": _literal("INTERVAL YEAR(2) TO MONTH"),
    "HEXTORAW": lambda text: None if text is None else text.upper(),
    "RAWTOHEX": lambda text: text,
    "TO_BINARY_DOUBLE": lambda text: text,
    "TO_BINARY_FLOAT": lambda text: text,
    "TO_NUMBER": lambda text: text,
    "UNISTR": _unistr,
    "MOD": lambda value, by: value % by,
    "STANDARD_HASH": lambda text, method: hashlib.new(method, text.encode()).digest(),
}
