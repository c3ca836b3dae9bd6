"""Sessions of Debezium on the stand-in: its statements, run on the same tables, views and redo as
ours, and answered as Oracle's JDBC driver answers."""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace_demo.oracle.database import Database, OracleError
from headrace_demo.oracle.definitions import Column, Table
from headrace_demo.oracle.script import scn_of, time_of
from headrace_demo.oracle.session import Session
from headrace_demo.oracle.store import FUNCTIONS
from headrace_demo.oracle.texts import kind
from headrace_demo.oracle.transactions import Transactions
from tests.golden.oracle.jdbc import OracleError as JdbcError
from tests.golden.oracle.metadata import jdbc_type

Answer = dict[str, Any]
_CALLS = {
    "add_logfile": re.compile(r"dbms_logmnr\.add_logfile\(.*?LOGFILENAME\s*=>\s*'([^']*)'", re.I),
    "remove_logfile": re.compile(r"dbms_logmnr\.remove_logfile\(.*?'([^']*)'", re.I),
    "start_logmnr": re.compile(
        r"dbms_logmnr\.start_logmnr\((?:\s*STARTSCN\s*=>\s*'?(\d+)'?\s*,)?"
        r"(?:\s*ENDSCN\s*=>\s*'?(\d+)'?\s*,)?(.*)", re.I | re.S),
    "end_logmnr": re.compile(r"dbms_logmnr\.end_logmnr", re.I),
    "build_dictionary": re.compile(r"dbms_logmnr_d\.build", re.I),
    "set_container": re.compile(r"alter session set container\s*=\s*(\S+)", re.I),
    "session_formats": re.compile(r"alter session set\s+nls_", re.I),
    "session_time_zone": re.compile(r"alter session set time_zone", re.I),
    "ddl_options": re.compile(r"dbms_metadata\.set_transform_param", re.I),
}  # fmt: skip
_TABLE = re.compile(r'FROM "([^"]+)"\."([^"]+)"')
_SIGNAL = re.compile(r"INSERT INTO (\S+) VALUES", re.I)
_THREADS = (
    "SELECT T.*, 3 AS GROUPS, 'ORCL' AS INSTANCE, LAST_REDO_TIME AS OPEN_TIME, "
    "1 AS CURRENT_GROUP#, LAST_REDO_TIME AS CHECKPOINT_TIME, LAST_REDO_TIME AS ENABLE_TIME, "
    "NULL AS DISABLE_TIME, 1 AS LAST_REDO_BLOCK, 0 AS CON_ID FROM V$THREAD T"
)
"""All columns of V$THREAD: the stand-in has those that ours reads."""
_FLUSH_TABLE = "LOG_MINING_FLUSH"
"""A table that is reported to exist, and never written, so that SCNs are those of the script."""
_VERSION = (
    "Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production\nVersion 19.3.0.0.0"
)
"""BANNER_FULL, which releases before 3.0 ask for."""
_CHARSET_IDS = {"AL32UTF8": 873, "WE8ISO8859P1": 31, "WE8MSWIN1252": 178}


@dataclass(frozen=True)
class _Named:
    name: str


class JdbcSession(Session):
    """A connection of Debezium's."""

    def __init__(self, database: Database, transactions: Transactions) -> None:
        super().__init__(database, transactions, "C##DBZUSER", lambda _text: None)
        self._texts = _as_texts(database)
        self.has_formats = True

    def _set_container(self, slots: Any, _binds: Any) -> None:
        """Debezium sets the formats once per connection, and its recordings have them in each
        container."""
        super()._set_container(slots, _binds)
        self.has_formats = True

    def tables(self) -> list[Table]:
        """The tables of the metadata."""
        with self.database.lock:
            return list(self.database.state.tables.values())

    def execute(self, sql: str, binds: Sequence[Any]) -> Answer:  # type: ignore[override]
        """See tests.golden.oracle.jdbc.Session."""
        try:
            with self.database.shown(is_look="CURRENT_SCN" in sql.upper()):
                return self._answer(sql, binds)
        except OracleError as error:
            raise JdbcError(error.code, str(error).partition(": ")[2]) from error

    def _answer(self, sql: str, binds: Sequence[Any]) -> Answer:
        if sql in ("commit", "rollback"):
            getattr(self, sql)()
            return {"count": 0}
        for called, form in _CALLS.items():
            match = form.search(sql)
            if match is not None:
                self.database.statements[called] += 1
                marker = {"start_logmnr": "START_LOGMNR", "add_logfile": "ADD_LOGFILE"}
                self.fail_if_asked(marker.get(called, ""), sql)
                self._call(called, match)
                return {"count": 0}
        self.fail_if_asked(sql)
        answer = self._own_answer(sql, binds)
        if answer is not None:
            return answer
        signal = _SIGNAL.match(sql)
        if signal is not None:
            slots = {"table": '"' + signal[1].replace('"', "").replace(".", '"."') + '"'}
            slots["table"] = ".".join(slots["table"].split(".")[-2:])
            self._insert_signal(slots, dict(zip(("id", "kind", "data"), binds, strict=False)))
            self.commit()
            return {"count": 1}
        if sql.lstrip("( ").upper().startswith(("SELECT", "WITH")):
            return self._rows(sql, binds)
        if re.match(r"\s*(LOCK TABLE|SAVEPOINT|ALTER SESSION|BEGIN|SET|DELETE)", sql, re.I):
            return {"count": 0}
        raise OracleError(900, f"the stand-in has no statement {sql}")

    def _call(self, called: str, match: re.Match[str]) -> None:
        slots: dict[str, str] = {}
        binds: dict[str, Any] = {}
        if called in ("add_logfile", "remove_logfile"):
            binds["name"] = match[1]
        elif called == "start_logmnr":
            first = match[1] or min(log.first for log in self._files.values())
            binds |= {"first": first, "last": match[2] or self.database.state.scn}
            slots["options"] = match[3]
        elif called == "set_container":
            slots["container"] = match[1].upper()
        getattr(self, f"_{called}")(slots, binds)

    def _own_answer(self, sql: str, binds: Sequence[Any]) -> Answer | None:
        """The answers that views of the stand-in do not have."""
        state, upper = self.database.state, sql.upper()
        if _FLUSH_TABLE in upper and "V$LOGMNR" not in upper:
            return _single(1) if upper.startswith("SELECT") else {"count": 1}
        if "V$VERSION" in upper:
            return _single(_VERSION)
        if "NLS_CHARSET_ID" in upper:
            return _single(_CHARSET_IDS[state.charset])
        if "NLS_NCHAR_CHARACTERSET" in upper:
            return _single(state.ncharset)
        if "DBMS_METADATA.GET_DDL" in upper:
            name, schema = binds or re.findall(r"'([^']*)'", sql)[-2:]
            ddl = self.database.table(f"{schema}.{name}").ddl
            return {"columns": [["DDL", "CLOB", 2005]], "rows": [[ddl]]}
        if "FROM ALL_ALL_TABLES" in upper:
            requested_table = [*binds] or re.findall(r"'([^']*)'", sql)[:2]
            return _single(
                sum([table.schema, table.name] == requested_table for table in self.tables())
            )
        if upper.startswith("SELECT OWNER, TABLE_NAME FROM ALL_TABLES"):
            rows = [[table.schema, table.name] for table in self.tables()]
            return {
                "columns": [["OWNER", "VARCHAR2", 12], ["TABLE_NAME", "VARCHAR2", 12]],
                "rows": rows,
            }
        if re.search(r"\b(CURRENT_TIMESTAMP|SYSTIMESTAMP)\b", upper) and "FROM DUAL" in upper:
            clock = self.database._clock()
            return {
                "columns": [["SYSTIMESTAMP", "TIMESTAMP(6) WITH TIME ZONE", -101]],
                "rows": [[clock]],
            }
        return None

    # -- queries --------------------------------------------------------------------------------

    def _rows(self, sql: str, binds: Sequence[Any]) -> Answer:
        database = self.database
        if "FROM V$THREAD" in sql:
            database.statements["windows"] += 1
        if "CURRENT_SCN" in sql:
            database.statements["scns"] += 1  # all that releases before 3.0 read
        if sql.startswith("SELECT A.NAME AS FILE_NAME"):
            database.statements["archives"] += 1  # without other logs, in archive-only mode
        for schema, table, scn in re.findall(
            r'"((?:[^"]|"")+)"\."((?:[^"]|"")+)" AS OF SCN (\d+)', sql
        ):
            self._check_flashback(f"{schema}.{table}", int(scn))
        views = {"V$LOGMNR_LOGS": self._mined_logs()}
        if "V$LOGMNR_CONTENTS" in sql:
            database.statements["contents"] += 1
            views["V$LOGMNR_CONTENTS"] = self._mined_rows()
        columns: dict[str, Sequence[Column]] = dict(database.columns)
        query = database.store.rewritten(_plain(sql), columns, views)
        try:
            cursor = self._texts.execute(query, list(binds))
            rows = [list(row) for row in cursor.fetchall()]
        except sqlite3.OperationalError as error:
            if "user-defined function" in str(error):
                raise OracleError(8181, "specified number is not a valid SCN") from None
            raise OracleError(900, f"{error}: {query}") from None
        described = self._described(sql)
        heads = []
        for description in cursor.description:
            column = described.get(description[0])
            if column is None:
                heads.append([description[0], "VARCHAR2", 12])
            else:
                heads.append([description[0], kind(column), jdbc_type(column.type)])
        descriptions = [described.get(head[0]) for head in heads]
        converted_rows = [[*map(_value, descriptions, row)] for row in rows]
        # An asterisk does not include the pseudo-column, which the store keeps as a column.
        column_places = [
            place for place, head in enumerate(heads) if head[0] != "ROWID" or "ROWID" in sql
        ]
        return {
            "columns": [heads[place] for place in column_places],
            "rows": [[row[place] for place in column_places] for row in converted_rows],
        }

    def _described(self, sql: str) -> Mapping[str, Column]:
        """The columns of the table that a query reads."""
        match = _TABLE.search(sql)
        table = None
        if match is not None:
            table = self.database.state.tables.get(f"{match[1]}.{match[2]}")
        return {} if table is None else {column.name: column for column in table.columns}


def _plain(sql: str) -> str:
    """The statement without the syntax that SQLite does not know."""
    sql = sql.rstrip().rstrip(";").replace("SYS.V_$", "V$")
    sql = re.sub(r"\s+AND\s+ROWNUM\s*=\s*1\b", " LIMIT 1", sql, flags=re.IGNORECASE)
    return _THREADS if sql == "SELECT * FROM V$THREAD" else sql


def _value(column: Column | None, value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if column is not None and isinstance(value, str):
        if kind(column).endswith("WITH LOCAL TIME ZONE"):
            return value.partition(" +")[0]
        if kind(column).startswith("INTERVAL"):
            return value.lstrip("+")
    return value


def _single(value: object) -> Answer:
    return {"columns": [["VALUE", "VARCHAR2", 12]], "rows": [[value]]}


def _as_texts(database: Database) -> sqlite3.Connection:
    """Another connection to the store, whose values are texts as they are kept."""
    ((_, _, path),) = [
        row for row in database.store.connection.execute("PRAGMA database_list") if row[1] == "main"
    ]
    connection = sqlite3.connect(Path(path), check_same_thread=False, isolation_level=None)
    connection.execute("PRAGMA case_sensitive_like=ON")
    connection.create_collation(
        "ORANUMBER", lambda a, b: (float(a) > float(b)) - (float(a) < float(b))
    )
    database_functions = {
        "SCN_TO_TIMESTAMP": lambda scn: database._time_of_scn(int(scn)),
        "SYSDATE": lambda: str(time_of(database.state.scn)),
        "TRUNC": lambda time: f"{time[:10]} 00:00:00",
        "TIMESTAMP_TO_SCN": lambda text: scn_of(dt.datetime.fromisoformat(text[:19])),
    }
    for called, function in {**FUNCTIONS, **database_functions}.items():
        connection.create_function(called, -1, function)
    return connection
