"""A session on the stand-in, with its container, formats, LogMiner session and transaction."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol

from headrace_demo.oracle.database import Database, OracleError
from headrace_demo.oracle.ddl import execute_ddl
from headrace_demo.oracle.definitions import Column
from headrace_demo.oracle.kit import Kit
from headrace_demo.oracle.script import LogFile
from headrace_demo.oracle.store import CONTENTS, VIEWS, name
from headrace_demo.oracle.transactions import Transactions
from headrace_demo.oracle.views import redo_views

ROOT = "CDB$ROOT"
Row = tuple[Any, ...]
Binds = Mapping[str, Any]
Slots = Mapping[str, str]
"""Texts in the slots of a statement."""
MARKERS = {"start_logmnr": "START_LOGMNR", "add_logfile": "ADD_LOGFILE", "rows": "SNAPSHOT"}
"""Names by which a script requests errors of statements."""
_VIEW = re.compile(r"\b(?:G?V\$\w+|ALL_\w+|DBA_\w+|NLS_\w+|SESSION_\w+|PRODUCT_COMPONENT_VERSION)")
_AS_OF = re.compile(r'"((?:[^"]|"")+)"\."((?:[^"]|"")+)" AS OF SCN (\d+)')
_INSERT = re.compile(r"INSERT INTO (\w+\.\w+) \(([\w, ]+)\) VALUES \((.*)\)")
_FORMATS = {
    "NLS_DATE_FORMAT": "YYYY-MM-DD HH24:MI:SS",
    "NLS_TIMESTAMP_FORMAT": "YYYY-MM-DD HH24:MI:SS.FF9",
    "NLS_TIMESTAMP_TZ_FORMAT": "YYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM",
}
"""Formats of headrace's sessions."""
_VALUE = re.compile(r"'([^']*)'|(\d+)")
_LITERAL = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")


class Statement(Protocol):
    """A statement that the connector sends."""

    @property
    def name(self) -> str: ...


Recognize = Callable[[str], tuple[Statement, Mapping[str, str]] | None]
"""Identifies a statement by its text; returns it with the values of its slots; None: the connector
does not send such a statement."""


_AHEAD = 10_000
"""The number of rows that are read at once: tables can be dropped while a query with fewer rows is
open."""


class Cursor:
    """Rows of a query. `fetch` returns the next rows, an empty list at the end."""

    def __init__(
        self, session: Session, columns: Sequence[str], rows: sqlite3.Cursor, error_point: str
    ) -> None:
        """`error_point`: the name by which a script requests errors of fetching."""
        self.columns = tuple(columns)
        self._session, self._rows, self._error_point = session, rows, error_point
        self._ahead = rows.fetchmany(_AHEAD)

    def fetch(self, count: int) -> list[Row]:
        """Return the next rows. Raises OracleError."""
        with self._session.database.lock:
            self._session.fail_if_asked(self._error_point)
            if not self._ahead:
                self._ahead = self._rows.fetchmany(_AHEAD)
            fetched, self._ahead = self._ahead[:count], self._ahead[count:]
            return fetched


class Session:
    """A session on one connection. `allowed` identifies the statement of a text; None: it is
    rejected."""

    def __init__(
        self,
        database: Database,
        transactions: Transactions,
        user: str,
        allowed: Recognize,
    ) -> None:
        self.database, self._transactions = database, transactions
        self._user, self._allowed = user, allowed
        self.container = ROOT
        self.has_formats = False
        self._files: dict[str, LogFile] = {}
        self._mined_range: tuple[int, int] | None = None
        self._committed_only = False
        self._xid: str | None = None
        self._kit = Kit(database, transactions, user, self._transaction_id)

    def execute(self, text: str, binds: Binds) -> Cursor | None:
        """Run a statement; None: it has no rows. Raises OracleError, which is ORA-00900 for a
        statement that headrace does not send."""
        allowed = self._allowed(text)
        if allowed is None:
            raise OracleError(900, f"the stand-in does not know this statement: {text}")
        statement, slots = allowed
        database = self.database
        with database.shown(is_look="CURRENT_SCN" in text):
            database.statements[statement.name] += 1
            self.fail_if_asked(MARKERS.get(statement.name, ""), text)
            run = getattr(self, f"_{statement.name}", None)
            if run is not None:
                run(slots, binds)
                return None
            if statement.name.startswith("kit_") and not text.startswith("SELECT"):
                self._kit.run(statement.name.removeprefix("kit_"), slots, binds)
                return None
            return self._select(text, binds)

    def close(self) -> None:
        """Roll back open changes; LogMiner's session ends."""
        self.rollback()

    def commit(self) -> None:
        """Commit the transaction."""
        if self._xid is not None:
            self._transactions.commit(self._xid)
            self._xid = None

    def rollback(self) -> None:
        """Roll back the transaction."""
        if self._xid is not None:
            self._transactions.rollback(self._xid)
            self._xid = None

    def fail_if_asked(self, *error_points: str) -> None:
        """Raise OracleError if the script has requested one."""
        for point in filter(None, error_points):
            code = self.database.state.fault(point)
            if code is not None:
                raise OracleError(code, f"the script requested this error at {point[:60]}")

    # -- queries --------------------------------------------------------------------------------

    def _select(self, text: str, binds: Binds) -> Cursor:
        database = self.database
        for view in _VIEW.findall(_LITERAL.sub("", text)):
            if view in database.hidden_views or (
                view.strip() not in VIEWS and "LOGMNR" not in view
            ):
                raise OracleError(942, f'table or view "{view}" does not exist')
        for schema, table, scn in _AS_OF.findall(text):
            self._check_flashback(f"{schema}.{table}", int(scn))
        views = {
            "V$LOGMNR_LOGS": self._mined_logs(),
            "USER_TABLES": self._own_tables(),
            "NLS_SESSION_PARAMETERS": self._session_parameters(),
        }
        if "V$LOGMNR_CONTENTS" in text:
            views["V$LOGMNR_CONTENTS"] = self._mined_rows()
        columns: dict[str, Sequence[Column]] = dict(database.columns)
        for full_name in [table for table in columns if table.startswith(f"{self._user}.")]:
            flush_table = name(full_name.partition(".")[2])
            qualified = f"{name(self._user)}.{flush_table}"
            text = text.replace(f"FROM {flush_table} F", f"FROM {qualified} F")
        query = database.store.rewritten(text, columns, views)
        try:
            rows = database.store.connection.execute(query, dict(binds))
        except sqlite3.OperationalError as error:
            if "user-defined function" in str(error):
                raise OracleError(8181, "specified number is not a valid SCN") from None
            if "no such table" in str(error):
                raise OracleError(942, f"table or view does not exist: {error}") from None
            if "no such column" in str(error):
                raise OracleError(904, f"invalid identifier: {error}") from None
            raise OracleError(900, f"{error}: {query}") from None
        error_point = "FETCH_REDO" if "V$LOGMNR_CONTENTS" in text else "FETCH"
        return Cursor(self, [column[0] for column in rows.description], rows, error_point)

    def _session_parameters(self) -> str:
        formats = _FORMATS if self.has_formats else dict.fromkeys(_FORMATS, "DD-MON-RR")
        return " UNION ALL ".join(
            f"SELECT '{parameter}' AS PARAMETER, '{form}' AS VALUE"
            for parameter, form in formats.items()
        )

    def _own_tables(self) -> str:
        rows = [
            f"SELECT '{table.name}' AS TABLE_NAME"
            for table in self.database.state.tables.values()
            if table.schema == self._user
        ]
        return " UNION ALL ".join(rows) or "SELECT NULL AS TABLE_NAME WHERE 1 = 0"

    def _check_flashback(self, full_name: str, scn: int) -> None:
        database = self.database
        table = database.table(full_name)
        database.require_right(full_name, "FLASHBACK ANY TABLE", "FLASHBACK")
        if scn > database.state.scn:
            raise OracleError(8181, "specified number is not a valid system change number")
        if scn < database.oldest_scn:
            raise OracleError(1555, "snapshot too old: rollback segment too small")
        if scn < table.last_ddl_scn:
            raise OracleError(1466, "unable to read data - table definition has changed")
        # Queries as of an SCN are repeatable: later commits have a larger SCN.
        database.state.scn = max(database.state.scn, scn + 1)

    # -- LogMiner -------------------------------------------------------------------------------

    def _add_logfile(self, _slots: Slots, binds: Binds) -> None:
        self._check_root()
        file_name = str(binds["name"])
        if file_name in self._files:
            raise OracleError(1289, f"cannot add duplicate logfile {file_name}")
        for log in self.database.state.logs:
            is_archived = not log.is_current and log.is_archived
            copies = redo_views.copies(log, self.database.peculiarities) if is_archived else ()
            is_copy = any(copy.name == file_name and copy.is_there for copy in copies)
            if is_copy or file_name == self._online(log):
                self._files[file_name] = log
                self._mined_range = None
                return
        raise OracleError(1284, f"file {file_name} cannot be opened")

    def _online(self, log: LogFile) -> str | None:
        """Return the file of a log; None: the log is no longer online."""
        return log.online_name if redo_views.is_online(self.database.state, log) else None

    def _remove_logfile(self, _slots: Slots, binds: Binds) -> None:
        if self._files.pop(str(binds["name"]), None) is None:
            raise OracleError(1290, f"cannot remove unlisted logfile {binds['name']}")
        self._mined_range = None

    def _mined_logs(self) -> str:
        """The session's logs, and a row for each missing log between them."""
        rows = [(file_name.replace("'", "''"), "NULL") for file_name in self._files]
        rows += [
            (f"Missing log file(s) for thread number {thread}, sequence number(s) {first} to "
             f"{last}", "'MISSING_LOGFILE'")
            for thread, first, last in self._missing()
        ]  # fmt: skip
        query = " UNION ALL ".join(
            f"SELECT '{file}' AS FILENAME, {info} AS INFO" for file, info in rows
        )
        return query or "SELECT NULL AS FILENAME, NULL AS INFO WHERE 1 = 0"

    def _missing(self) -> Iterator[tuple[int, int, int]]:
        """Threads, and first and last sequences, of the missing logs between those of the
        session."""
        threads: dict[int, list[int]] = {}
        for log in self._files.values():
            threads.setdefault(log.thread, []).append(log.sequence)
        for thread, sequences in threads.items():
            for before, after in pairwise(sorted(sequences)):
                if after > before + 1:
                    yield thread, before + 1, after - 1

    def _start_logmnr(self, slots: Slots, binds: Binds) -> None:
        self._check_root()
        if not self.has_formats:
            raise OracleError(900, "the stand-in writes literals in the formats of headrace")
        first, last = int(binds["first"]), int(binds["last"])
        if not self._files:
            raise OracleError(1292, "no log file has been specified for the session")
        if first > last:
            raise OracleError(1281, "invalid SCN range")
        for file_name, log in self._files.items():
            is_reused = "redo" in file_name and self._online(log) != file_name
            if is_reused:
                raise OracleError(310, f"archived log contains sequence {log.sequence + 3}")
        self._check_covered(first, last)
        needs_dictionary = "DICT_FROM_REDO_LOGS" in slots["options"]
        if needs_dictionary and not any(log.has_dictionary for log in self._files.values()):
            raise OracleError(1371, "Complete LogMiner dictionary not found")
        self._mined_range = first, last
        self._committed_only = "COMMITTED_DATA_ONLY" in slots["options"]

    def _check_covered(self, first: int, last: int) -> None:
        """Check that the redo of every open thread from `first` to `last` is in the session's
        logs."""
        state = self.database.state
        begins: dict[int, int] = {}
        for log in state.logs:
            begins[log.thread] = min(log.first, begins.get(log.thread, log.first))
        mined = {log.thread for log in self._files.values()}
        for thread in mined | set(begins) - set(state.closed_threads):
            logs = sorted(
                (log for log in self._files.values() if log.thread == thread),
                key=lambda log: log.sequence,
            )
            if not logs:
                if begins[thread] <= last:
                    raise OracleError(1291, f"missing log file of thread {thread}")
                continue
            sequences = [log.sequence for log in logs]
            whole = sequences == list(range(sequences[0], sequences[-1] + 1))
            was_closed = any(
                log.thread == thread and log.sequence + 1 == logs[0].sequence and log.next <= first
                for log in state.logs
            )
            starts = logs[0].first <= max(first, begins[thread]) or was_closed
            if not whole or not starts or logs[-1].next < last:
                raise OracleError(1291, "missing log file")

    def _end_logmnr(self, _slots: Slots, _binds: Binds) -> None:
        if self._mined_range is None:
            raise OracleError(1307, "no LogMiner session is currently active")
        self._mined_range = None
        self._files.clear()

    def _build_dictionary(self, _slots: Slots, _binds: Binds) -> None:
        """Write the dictionary to the first thread's log; it takes no SCNs here."""
        self._check_root()
        self.database.state.current_log(1).has_dictionary = True

    def _mined_rows(self) -> str:
        if self._mined_range is None:
            raise OracleError(1306, "DBMS_LOGMNR.START_LOGMNR() must be invoked before selecting")
        first, last = self._mined_range
        for file_name, log in self._files.items():
            if "redo" in file_name and self._online(log) != file_name:
                raise OracleError(310, f"archived log contains sequence {log.sequence + 3}")
        logs = ", ".join(f"({log.thread}, {log.sequence})" for log in self._files.values())
        columns = ", ".join(map(name, CONTENTS))
        rows = (
            f"SELECT {columns} FROM REDO WHERE SCN >= {first} AND SCN <= {last} "
            f"AND (MAX({name('THREAD#')}, 1), RBASQN) IN (VALUES {logs})"
        )
        if not self._committed_only:
            late = " + LATENESS(XID)" if self.database.peculiarities.lateness else ""
            order = "_rowid_" if self.database.state.by_arrival else f"SCN{late}, _rowid_"
            return f"{rows} ORDER BY {order}"
        return _committed(rows)

    def _check_root(self) -> None:
        if self.container != ROOT:
            raise OracleError(65040, "operation not allowed from within a pluggable database")

    # -- the session ----------------------------------------------------------------------------

    def _set_container(self, slots: Slots, _binds: Binds) -> None:
        container = slots["container"].strip('"')
        if container not in (ROOT, self.database.state.pdb):
            raise OracleError(65011, f"Pluggable database {container} does not exist.")
        if container == ROOT and self.database.root_error:
            raise OracleError(self.database.root_error, "the root cannot be entered")
        if container != ROOT and not self.database.pdb_is_open:
            raise OracleError(1109, "database not open")
        if container != self.container:
            self.has_formats = False
        self.container = container

    def _session_formats(self, _slots: Slots, _binds: Binds) -> None:
        self.has_formats = True

    def _session_time_zone(self, _slots: Slots, _binds: Binds) -> None:
        """Do nothing: the stand-in's own times are those of the database."""

    def _ddl_options(self, _slots: Slots, _binds: Binds) -> None:
        """Do nothing: texts of tables have no storage clauses here."""

    # -- writes of the connector ----------------------------------------------------------------

    def _flush_table_create(self, slots: Slots, _binds: Binds) -> None:
        statement = f"CREATE TABLE {self._flush_table_name(slots)} (LAST_SCN NUMBER(19,0))"
        execute_ddl(self.database, self._transactions, statement, self._user)

    def _flush_table_insert(self, slots: Slots, binds: Binds) -> None:
        table = self._flush_table_name(slots).replace('"', "")
        self._transactions.insert(self._transaction_id(), table, {"LAST_SCN": binds["scn"]})

    def _flush_table_update(self, slots: Slots, binds: Binds) -> None:
        table = self._flush_table_name(slots).replace('"', "")
        self._transactions.update(self._transaction_id(), table, {}, {"LAST_SCN": binds["scn"]})

    def _flush_table_delete(self, slots: Slots, _binds: Binds) -> None:
        self._transactions.delete(
            self._transaction_id(), self._flush_table_name(slots).replace('"', ""), {}
        )

    def _flush_table_name(self, slots: Slots) -> str:
        table = slots["flush_table"]
        return table if "." in table else f'"{self._user}".{table}'

    def _insert_signal(self, slots: Slots, binds: Binds) -> None:
        table = self.database.table(slots["table"].replace('"', ""))
        values = (binds["id"], binds["kind"], binds["data"])
        names = [column.name for column in table.columns]
        row = dict(zip(names, values, strict=False))
        self._transactions.insert(self._transaction_id(), table.full_name, row)

    def _heartbeat(self, slots: Slots, _binds: Binds) -> None:
        """Run an INSERT of texts and numbers."""
        match = _INSERT.fullmatch(slots["action"].strip())
        if match is None:
            raise OracleError(900, f"the stand-in cannot run {slots['action']}")
        values = [text or number for text, number in _VALUE.findall(match[3])]
        row = dict(zip(match[2].replace(" ", "").split(","), values, strict=True))
        self._transactions.insert(self._transaction_id(), match[1], row)

    def _explain_heartbeat(self, slots: Slots, _binds: Binds) -> None:
        """Check that the table of an INSERT of texts and numbers exists. Oracle would write the
        plan to a table of the session; the stand-in writes none."""
        match = _INSERT.fullmatch(slots["action"].strip())
        if match is None:
            raise OracleError(900, f"the stand-in cannot explain {slots['action']}")
        self.database.table(match[1])

    def _delete_signal(self, slots: Slots, binds: Binds) -> None:
        table = slots["table"].replace('"', "")
        where = {slots["name"].strip('"'): binds["id"]}
        self._transactions.delete(self._transaction_id(), table, where)

    def _savepoint(self, _slots: Slots, _binds: Binds) -> None:
        """Do nothing: the stand-in does not hold locks, so there is nothing to mark."""

    def _unlock(self, _slots: Slots, _binds: Binds) -> None:
        """See `_savepoint`."""

    def _lock(self, slots: Slots, _binds: Binds) -> None:
        table = self.database.table(slots["table"].replace('"', ""))
        if table.kind in ("EXTERNAL", "HYBRID"):
            raise OracleError(30657, "operation not supported on external organized table")
        rights = ("SELECT", "INSERT", "UPDATE", "DELETE")
        self.database.require_right(table.full_name, "LOCK ANY TABLE", *rights)

    _lockable = _lock  # the statement that tests whether a lock is permitted

    def _transaction_id(self) -> str:
        if self._xid is None:
            self._xid = self._transactions.begin(user=self._user)
        return self._xid


_COLUMNS_OF_COMMITTED = {
    "START_SCN": "B.SCN",
    "START_TIMESTAMP": "B.TIMESTAMP",
    "COMMIT_SCN": "C.SCN",
    "COMMIT_TIMESTAMP": "C.TIMESTAMP",
    "SEQUENCE#": "ROW_NUMBER() OVER (PARTITION BY R.XID ORDER BY R.SCN, R.SSN)",
}
"""Columns that V$LOGMNR_CONTENTS only has for committed transactions: their beginning and end, and
the number of a statement in its transaction."""


def _committed(rows: str) -> str:
    """Rows of committed transactions, in the order of the commits, enclosed in START and COMMIT;
    changes that were rolled back to savepoints are included, as in other sessions."""
    columns = ", ".join(
        f"{_COLUMNS_OF_COMMITTED.get(column, f'R.{name(column)}')} AS {name(column)}"
        for column in CONTENTS
    )
    return (
        f"WITH R AS ({rows}), C AS (SELECT XID, SCN, TIMESTAMP FROM R WHERE OPERATION_CODE = 7), "
        "B AS (SELECT XID, MIN(SCN) AS SCN, MIN(TIMESTAMP) AS TIMESTAMP FROM R "
        "WHERE OPERATION_CODE = 6 GROUP BY XID) "
        f"SELECT {columns} FROM R LEFT JOIN C ON C.XID = R.XID LEFT JOIN B ON B.XID = R.XID "
        "WHERE C.SCN IS NOT NULL OR R.OPERATION_CODE = 5 "
        "ORDER BY COALESCE(C.SCN, R.SCN), R.XID, R.SCN, R.SSN"
    )
