"""The process of the stand-in: sessions of drivers and calls of tests, each on its own connection.
Run as `python -m headrace_demo.oracle.service PORT STATEMENTS`; the function `recognized` of the
module STATEMENTS identifies the connector's statements."""

from __future__ import annotations

import importlib
import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener
from typing import Any

from headrace_demo.oracle.database import Database, OracleError
from headrace_demo.oracle.ddl import execute_ddl
from headrace_demo.oracle.delays import send_at_once
from headrace_demo.oracle.session import Cursor, Recognize, Session
from headrace_demo.oracle.transactions import Transactions

log = logging.getLogger(__name__)

KEY = "HEADRACE_STAND_IN_KEY"
"""The environment variable with the password of every user."""
VERSION = "19.3.0.0.0"


class Service:
    """Handles the connections' requests to the database."""

    def __init__(self, database: Database, recognize: Recognize) -> None:
        self._database, self._transactions = database, Transactions(database)
        self._recognize = recognize
        self._sessions: dict[Connection, Session] = {}
        self._is_shut = False
        self.version = VERSION

    def serve(self, connection: Connection) -> None:
        """Answers requests until the connection is closed."""
        try:
            send_at_once(connection)
            kind, user = connection.recv()
            if kind == "control":
                self._answer(connection, self._control)
            elif self._is_shut:
                connection.send((False, 12528, "ORA-12528: all instances block new connections"))
            else:
                session = self._sessions[connection] = Session(
                    self._database, self._transactions, user.upper(), self._recognize
                )
                connection.send((True, self.version))
                self._answer(connection, _SessionCalls(session).call)
        except (EOFError, OSError):
            log.debug("the other side has gone")
        finally:
            if connection in self._sessions:
                self._sessions.pop(connection).close()
            connection.close()

    def _answer(self, connection: Connection, call: Callable[..., Any]) -> None:
        while True:
            method, arguments, named = connection.recv()
            try:
                answer: tuple[Any, ...] = (True, call(method, *arguments, **named))
            except OracleError as error:
                answer = (False, error.code, str(error))
            except Exception as error:
                log.exception("%s failed", method)
                answer = (False, 600, f"ORA-00600: {type(error).__name__}: {error}")
            connection.send(answer)

    def load(self, script: Mapping[str, Any]) -> None:
        """Creates a new database as a script defines it; sessions of the former one break."""
        self.end_sessions()
        self._is_shut = False
        former = self._database
        self._database = Database(script)
        self._transactions = Transactions(self._database)
        with former.lock:
            former.close()

    # -- calls of tests -------------------------------------------------------------------------

    def _control(self, method: str, *arguments: Any, **named: Any) -> Any:
        for target in (self, self._transactions, self._database):
            if not method.startswith("_") and callable(getattr(target, method, None)):
                return getattr(target, method)(*arguments, **named)
        raise OracleError(900, f"the stand-in has no call {method}")

    def ping(self) -> None:
        """Returns if the process answers."""

    def execute_ddl(self, text: str, user: str = "APP") -> None:
        """See `ddl.execute_ddl`."""
        execute_ddl(self._database, self._transactions, text, user)

    def forget_redo(self, code: int) -> None:
        """Deletes the rows with this OPERATION_CODE from the redo."""
        with self._database.lock:
            self._database.store.connection.execute(
                "DELETE FROM REDO WHERE OPERATION_CODE = ?", (code,)
            )

    def table_names(self) -> list[str]:
        """SCHEMA.TABLE of every table."""
        return list(self._database.state.tables)

    def scn(self) -> int:
        """The current SCN."""
        return self._database.state.scn

    def change(self, **named: Any) -> None:
        """Changes attributes of the database (`oldest_scn`, `privileges`, `hidden_views` …), of its
        State (`log_mode`, `supplemental` …), or of its Peculiarities."""
        database = self._database
        with database.lock:
            for called, value in named.items():
                if hasattr(database.peculiarities, called):
                    database.peculiarities = replace(database.peculiarities, **{called: value})
                else:
                    is_method = hasattr(database, called)
                    setattr(database if is_method else database.state, called, value)
            database.show()

    def change_table(self, full_name: str, **named: Any) -> None:
        """Changes attributes of a table's definition: `log_groups`, `key`, `comment` …"""
        with self._database.lock:
            for called, value in named.items():
                setattr(self._database.table(full_name), called, value)
            self._database.show()

    def sequences(self) -> list[tuple[int, int]]:
        """Threads and sequence numbers of all logs, the oldest first."""
        return [(log.thread, log.sequence) for log in self._database.state.logs]

    def object_id(self, full_name: str) -> int:
        """The object number of a table."""
        return self._database.table(full_name).object_id

    def columns_of(self, full_name: str) -> list[str]:
        """The names of a table's columns."""
        return [column.name for column in self._database.table(full_name).columns]

    def committed(self) -> list[tuple[int, str, int, str]]:
        """Every committed change: the SCN of the commit, the table, SCN and operation, in the order
        of the redo. Transactions that were rolled back in part are not supported."""
        database = self._database
        with database.lock:
            rows = database.store.connection.execute(
                "SELECT C.SCN, R.TABLE_NAME, R.SCN, R.OPERATION FROM REDO R "
                "JOIN REDO C ON C.XID = R.XID AND C.OPERATION_CODE = 7 AND C.SCN > R.SCN "
                "WHERE R.OPERATION_CODE IN (1, 2, 3) AND R.CSF = 0 ORDER BY R.SCN"
            )
            return list(rows.fetchall())

    def last_ddl(self, full_name: str) -> int:
        """The SCN of the last DDL of a table."""
        schema, _, table = full_name.partition(".")
        with self._database.lock:
            rows = self._database.store.connection.execute(
                "SELECT MAX(SCN) FROM REDO WHERE OPERATION_CODE = 5 AND SEG_OWNER = ? "
                "AND TABLE_NAME = ?",
                (schema, table),
            )
            return int(rows.fetchone()[0])

    def logs_before(self, scn: int) -> dict[int, list[int]]:
        """The sequence numbers of logs without changes at or after an SCN, by thread."""
        logs = [log for log in self._database.state.logs if log.next <= scn]
        return {
            thread: [log.sequence for log in logs if log.thread == thread]
            for thread in {log.thread for log in logs}
        }

    def counted(self) -> dict[str, int]:
        """The number of executions of each statement of the connector, by its name."""
        return dict(self._database.statements)

    def shut(self) -> None:
        """Ends all sessions, and accepts no new ones."""
        self._is_shut = True
        self.end_sessions()

    def open_again(self) -> None:
        """Accepts new sessions."""
        self._is_shut = False

    def end_sessions(self) -> int:
        """Breaks all connections; returns their number."""
        connections = list(self._sessions)
        for connection in connections:
            with suppress(OSError):
                _shut_down(connection)
        return len(connections)


class _SessionCalls:
    """Handles a driver's calls of its session. Cursors have numbers."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cursors: dict[int, Cursor] = {}
        self._opened = 0

    def call(self, method: str, *arguments: Any) -> Any:
        return getattr(self, method)(*arguments)

    def execute(self, text: str, binds: dict[str, Any]) -> tuple[int, tuple[str, ...]] | None:
        cursor = self._session.execute(text, binds)
        if cursor is None:
            return None
        self._opened += 1
        self._cursors[self._opened] = cursor
        return self._opened, cursor.columns

    def fetch(self, number: int, count: int) -> list[tuple[Any, ...]]:
        """Fetches rows. Fewer rows than requested are the last ones, and close the cursor."""
        rows = self._cursors[number].fetch(count)
        if len(rows) < count:
            self.close(number)
        return rows

    def close(self, number: int) -> None:
        self._cursors.pop(number, None)

    def commit(self) -> None:
        self._session.commit()

    def rollback(self) -> None:
        self._session.rollback()


def _shut_down(connection: Connection) -> None:
    with socket.socket(fileno=os.dup(connection.fileno())) as other:
        other.shutdown(socket.SHUT_RDWR)


def main(port: int, statements: str) -> None:
    """Serves on a loopback port until the process ends."""
    service = Service(Database(), importlib.import_module(statements).recognized)
    with Listener(("127.0.0.1", port), backlog=64, authkey=os.environ[KEY].encode()) as listener:
        while True:
            try:
                connection = listener.accept()
            except (AuthenticationError, EOFError, OSError) as error:
                log.warning("not let in: %s", error)
                continue
            threading.Thread(target=service.serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr)
    main(int(sys.argv[1]), sys.argv[2])
