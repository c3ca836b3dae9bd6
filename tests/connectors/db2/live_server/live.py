"""A live Db2 as the tests' server, in place of the stand-in: that which HEADRACE_DB2_DSN names, and
CONTRIBUTING.md tells of. Nobody has run it yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from headrace.connect.deadline import Deadline
from headrace.connectors.db2 import sql
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.registering.statements import (
    adding,
    default_change_table,
    removing,
)
from headrace.connectors.db2.support.kit import signal
from headrace_demo.db2.capture import CaptureProgram, Execute, transaction_on
from headrace_demo.db2.derby import DerbyServer
from tests.connectors import live
from tests.servers.db2 import SCHEMA, Db2Database

DSN = "HEADRACE_DB2_DSN"
MARKS = ("HEADRACE_LIVE", "MARKS")
"""A table whose rows show how far Capture is."""
_CAPTURED_SECONDS, _PAUSE_SECONDS = 120.0, 0.2


def unscripted(action: str) -> NoReturn:
    """The test asks for what only the stand-in can be made to do."""
    live.unscripted("Db2", action)


class LiveDb2:
    """A live Db2 with the interface of `headrace_demo.db2.derby.DerbyServer`, as far as a Db2 can
    provide it."""

    def __init__(self, environment: Mapping[str, str], connect: Callable[[str], Any]) -> None:
        """`connect` makes a connection of `ibm_db_dbi` in autocommit mode out of a connection
        string."""
        self.user = environment.get("HEADRACE_DB2_USER", "db2inst1")
        self.password = environment["HEADRACE_DB2_PASSWORD"]
        address, _, self.database = environment[DSN].partition("/")
        self.host, _, self.port = address.rpartition(":")
        self._connect = connect

    def connect(self, database: str) -> Any:
        """See DerbyServer."""
        return self._connect(
            f"DATABASE={database};HOSTNAME={self.host};PORT={self.port};PROTOCOL=TCPIP;"
            f"UID={self.user};PWD={self.password};"
        )

    def execute(
        self, database: str, statement: str, values: tuple[object, ...] = ()
    ) -> list[tuple[Any, ...]]:
        """See DerbyServer."""
        with closing(self.connect(database)) as connection:
            cursor = connection.cursor()
            cursor.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        """Does nothing: the server runs."""

    def kill(self, *_: object) -> None:
        """Skips the test: the server is not ours to kill."""
        unscripted("end, or make databases")

    create_database = shut_down = shut = kill


class LiveCapture:
    """Capture of a live Db2 with the interface of `headrace_demo.db2.capture.CaptureProgram`: the
    program runs beside the server, and gets registrations and signals only."""

    control = changes = "ASNCDC"
    width = 16
    is_running = True

    def __init__(self, server: LiveDb2) -> None:
        self._server = server
        self._config = Db2Config.parse(
            {
                "topic.prefix": "live",
                "database.hostname": server.host,
                "database.dbname": server.database,
                "database.user": server.user,
            }
        )
        self._marks = 0
        self.added: list[tuple[str, str, str]] = []

    def start(self) -> None:
        """Does nothing: the program runs."""

    def stop(self) -> None:
        """Skips the test: the program is not ours to stop."""
        unscripted("stop Capture")

    def hurry(self) -> None:
        """Does nothing: the program has an interval of its own."""

    def advance(self) -> bool:
        """Skips the test: the program advances by itself."""
        unscripted("move Capture by one step")

    def prune(self, _through: bytes) -> None:
        """Skips the test: the program prunes by itself."""
        unscripted("prune up to a place")

    def stop_capturing(self, _change_table: str) -> None:
        """Capture's own log reader writes change tables."""
        unscripted("stop writing one change table")

    def set_state(self, change_table: str, state: str) -> None:
        """See CaptureProgram."""
        register = sql.control_table(self._config, sql.REGISTER)
        self.execute(f"UPDATE {register} SET STATE = ? WHERE CD_TABLE = ?", (state, change_table))

    def add_table(
        self, schema: str, table: str, change_table: str | None = None, state: str = "A"
    ) -> str:
        """See CaptureProgram; Capture begins with a table at its CAPSTART signal. What it does not
        like of a test's table stops that registration alone."""
        name = change_table or default_change_table(schema, table)
        register = sql.control_table(self._config, sql.REGISTER)
        with self.transaction() as execute:
            for step in adding(self._config, schema, table, name):
                if step.is_needed:
                    execute(step.sql, ())
            execute(
                f"UPDATE {register} SET STOP_ON_ERROR = 'N', STATE = ? WHERE CD_TABLE = ?",
                (state, name),
            )
        self.execute(signal(self._config, "CAPSTART", schema, table))
        self.added.append((schema, table, name))
        return name

    def remove_table(self, schema: str, table: str, change_table: str | None = None) -> None:
        """See CaptureProgram."""
        name = change_table or default_change_table(schema, table)
        self.execute(signal(self._config, "CAPSTOP", schema, table))
        with self.transaction() as execute:
            for step in removing(self._config, schema, table, name):
                if step.is_needed:
                    execute(step.sql, ())
        self.added.remove((schema, table, name))

    @contextmanager
    def transaction(self) -> Iterator[Execute]:
        """See CaptureProgram."""
        with closing(self._server.connect(self._server.database)) as connection:
            connection.set_autocommit(False)
            with transaction_on(connection) as execute:
                yield execute

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """See CaptureProgram."""
        with self.transaction() as execute:
            return execute(statement, values)

    def await_captured(self) -> bytes:
        """See CaptureProgram: a row that is written now is in its change table."""
        marks = sql.quoted(*MARKS)
        if not any(registration[:2] == MARKS for registration in self.added):
            self.execute(f"CREATE SCHEMA {MARKS[0]}")
            self.execute(f"CREATE TABLE {marks} (ID INTEGER NOT NULL PRIMARY KEY)")
            self.add_table(*MARKS)
        self._marks += 1
        self.execute(f"INSERT INTO {marks} VALUES (?)", (self._marks,))
        changes = sql.quoted(self.changes, default_change_table(*MARKS))
        deadline = Deadline(_CAPTURED_SECONDS)
        query = f"SELECT COUNT(*) FROM {changes} WHERE ID = ?"
        while self.execute(query, (self._marks,)) == [(0,)]:
            assert not deadline.is_over, "Capture does not write changes"
            deadline.pause(_PAUSE_SECONDS)
        return self.synchpoint()

    def synchpoint(self) -> bytes:
        """See CaptureProgram."""
        ((lsn,),) = self.execute(sql.newest_lsn(self._config))
        return bytes(lsn)


@dataclass(frozen=True)
class LiveDatabase(Db2Database):
    """The database of a live server with the schema `INV`, which tests have one by one."""

    @classmethod
    def of(cls, server: LiveDb2) -> LiveDatabase:
        """A database with only the tables that a test makes."""
        database = cls(
            cast("DerbyServer", server),
            server.database,
            cast("CaptureProgram", LiveCapture(server)),
        )
        database.execute(f"CREATE SCHEMA {SCHEMA}")
        return database

    def close(self) -> None:
        """Registrations, tables and schemas are dropped."""
        capture = cast("LiveCapture", self.capture)
        for schema, table, name in tuple(capture.added):
            capture.remove_table(schema, table, name)
        for schema in (SCHEMA, MARKS[0]):
            tables = self.execute(
                "SELECT TABNAME FROM SYSCAT.TABLES WHERE TABSCHEMA = ? AND TYPE = 'T'", (schema,)
            )
            for (table,) in tables:
                self.execute(f"DROP TABLE {sql.quoted(schema, str(table))}")
            if tables or schema == SCHEMA:
                self.execute(f"DROP SCHEMA {schema} RESTRICT")

    def properties(self, **more: str) -> dict[str, str]:
        """See Db2Database."""
        server = cast("LiveDb2", self.server)
        return {
            "connector.class": "io.debezium.connector.db2.Db2Connector",
            "topic.prefix": "headrace",
            "database.hostname": server.host,
            "database.port": server.port,
            "database.user": server.user,
            "database.password": server.password,
            "database.dbname": self.name,
            "table.include.list": rf"{SCHEMA}\..*",
        } | {name.replace("_", "."): value for name, value in more.items()}
