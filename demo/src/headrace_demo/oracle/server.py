"""The stand-in for Oracle: a separate process on a loopback port, which runs as long as its owner,
independently of the processes that read from it."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Client, Connection
from typing import Any

from headrace.testing.server import Server
from headrace_demo.oracle.delays import send_at_once
from headrace_demo.oracle.service import KEY
from headrace_demo.processes import with_sources

STATEMENTS = "headrace.connectors.oracle.sql"
DRIVER = "headrace_demo.oracle.driver"


class OracleServer(Server):
    """The stand-in. Users have the password `password`; `load` defines its database, and changes
    come from `transaction`, or from lines of a script (`apply`).

    Raises HeadraceError `embedded.start` if it does not start.
    """

    user = "C##DBZUSER"
    stop_signal = signal.SIGTERM
    quit_signal = signal.SIGKILL

    def __init__(self, directory: str | os.PathLike[str] | None = None) -> None:
        super().__init__("Oracle stand-in", directory)
        self.password = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._control: Connection | None = None

    # -- use ----------------------------------------------------------------------------------

    def call(self, method: str, *arguments: Any, **named: Any) -> Any:
        """Calls a method of `Service`, `Transactions` or `Database` by name. Raises RuntimeError
        for calls that the stand-in rejects."""
        with self._lock:
            if self._control is None:
                self._control = Client((self.host, self.port), authkey=self.password.encode())
                send_at_once(self._control)
                self._control.send(("control", ""))
            self._control.send((method, arguments, named))
            succeeded, *answer = self._control.recv()
        if not succeeded:
            raise RuntimeError(answer[-1])
        return answer[0]

    def load(self, script: Mapping[str, Any]) -> None:
        """Resets the database to a script's database, tables and `setup`."""
        self.call("load", script)

    def apply(self, block: Iterable[Mapping[str, Any]]) -> None:
        """Applies lines of a script (`headrace_demo.oracle.script`)."""
        self.call("apply", list(block))

    def ddl(self, text: str, user: str = "APP") -> None:
        """Runs a DDL statement, see `headrace_demo.oracle.ddl`."""
        self.call("execute_ddl", text, user)

    @contextmanager
    def transaction(
        self, user: str = "APP", client: str | None = None, thread: int = 1
    ) -> Iterator[Transaction]:
        """A transaction, which is committed at the end, and rolled back after an exception."""
        transaction = Transaction(self, self.call("begin", user, client, thread))
        try:
            yield transaction
        except BaseException:
            transaction.rollback()
            raise
        transaction.commit()

    def begin(self, user: str = "APP", client: str | None = None, thread: int = 1) -> Transaction:
        """A transaction that stays open until it is ended explicitly."""
        return Transaction(self, self.call("begin", user, client, thread))

    def rows(self, table: str) -> list[dict[str, str | None]]:
        """A table's committed rows, as stored texts (`headrace_demo.oracle.texts`)."""
        rows: list[dict[str, str | None]] = self.call("rows", table)
        return rows

    def properties(self) -> dict[str, str]:
        """Debezium's connection properties."""
        return {
            "database.hostname": self.host,
            "database.port": str(self.port),
            "database.user": self.user,
            "database.password": self.password,
            "database.dbname": "ORCLCDB",
            "database.pdb.name": "ORCLPDB1",
            "driver.module": DRIVER,
        }

    @contextmanager
    def shut(self) -> Iterator[None]:
        """Context in which sessions are broken, and no new ones are accepted."""
        self.call("shut")
        try:
            yield
        finally:
            self.call("open_again")

    # -- how it is started --------------------------------------------------------------------

    def close(self) -> None:
        """Stops the server like Server.close."""
        if self._control is not None:
            self._control.close()
            self._control = None
        super().close()

    def _prepare(self) -> None:
        """Does nothing: no data is kept after the process ends."""

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "headrace_demo.oracle.service", str(self.port), STATEMENTS]

    def _surroundings(self) -> dict[str, Any]:
        surroundings = super()._surroundings()
        surroundings["env"] = {**with_sources(surroundings["env"]), KEY: self.password}
        return surroundings

    def _check(self) -> None:
        self._control = None
        self.call("ping")

    def _port_taken(self, words: str) -> bool:
        return "Address already in use" in words

    def _is_error(self, line: str) -> bool:
        return "Error" in line


class Transaction:
    """A transaction on the stand-in."""

    def __init__(self, server: OracleServer, xid: str) -> None:
        self.xid = xid
        self._server = server

    def insert(self, table: str, **values: Any) -> str:
        """Insert a row; returns its ROWID."""
        row_id: str = self._server.call("insert", self.xid, table, values)
        return row_id

    def insert_all(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Insert rows in one call."""
        self._server.call("insert_all", self.xid, table, list(rows))

    def update(self, table: str, where: Mapping[str, Any], **values: Any) -> int:
        """Update the rows with the values of `where`; returns their number."""
        count: int = self._server.call("update", self.xid, table, dict(where), values)
        return count

    def delete(self, table: str, **where: Any) -> int:
        """Delete the rows with these values; returns their number."""
        count: int = self._server.call("delete", self.xid, table, where)
        return count

    def savepoint(self, called: str) -> None:
        """Set a savepoint for `rollback_to`."""
        self._server.call("savepoint", self.xid, called)

    def rollback_to(self, called: str) -> None:
        """Undo the changes after a savepoint."""
        self._server.call("rollback_to", self.xid, called)

    def commit(self) -> int:
        """Commit; returns the SCN of the commit."""
        scn: int = self._server.call("commit", self.xid)
        return scn

    def rollback(self) -> None:
        """Undo all changes."""
        self._server.call("rollback", self.xid)
