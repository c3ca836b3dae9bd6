"""Derby in place of Db2, stored beside the checkpoints of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibm_db_dbi  # noqa: F401 - Derby is spoken to by IBM's driver

from headrace_demo.db2.capture import CaptureProgram
from headrace_demo.db2.derby import DerbyServer
from tests.upgrades.databases import ROWS, StoredDatabase, changes_of, first_name, pack, unpack

_DATABASE = "UPGRADE"


class StoredDb2(StoredDatabase):
    """The control tables and change tables of SQL replication are stored with the data."""

    name = "db2"
    topics = "INV.ITEMS"
    server: DerbyServer

    def __init__(self, archive: Path) -> None:
        super().__init__(archive)
        self.server = DerbyServer()
        self._capture = CaptureProgram(self.server, _DATABASE)

    def create(self) -> None:
        self.server.start()
        self.server.create_database(_DATABASE)
        self._capture.install()
        self._execute("CREATE SCHEMA INV")
        self._execute("CREATE TABLE INV.ITEMS (ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(100))")
        for first in range(1, ROWS + 1, 500):
            rows = ", ".join(f"({n}, '{first_name(n)}')" for n in range(first, first + 500))
            self._execute(f"INSERT INTO INV.ITEMS VALUES {rows}")
        self._capture.add_table("INV", "ITEMS")
        self._capture.start()
        self._capture.await_captured()

    def apply(self, block: int) -> None:
        statements = {
            "c": "INSERT INTO INV.ITEMS (NAME, ID) VALUES (?, ?)",
            "u": "UPDATE INV.ITEMS SET NAME = ? WHERE ID = ?",
        }
        for operation, number, name in changes_of(block):
            with self._capture.transaction() as execute:
                if operation == "d":
                    execute("DELETE FROM INV.ITEMS WHERE ID = ?", (number,))
                else:
                    execute(statements[operation], (name, number))
        self._capture.await_captured()

    def properties(self, run: str) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.db2.Db2Connector",
            "database.hostname": self.server.host,
            "database.port": str(self.server.bridge.port),
            "database.user": self.server.user,
            "database.password": "unused",
            "database.dbname": _DATABASE,
            "driver.AUTHENTICATION": "SERVER",
            "table.include.list": r"INV\.ITEMS",
            "poll.interval.ms": "50",
        }

    def id_and_name(self, row: dict[str, Any]) -> tuple[int, str]:
        return row["ID"], row["NAME"]

    def store(self) -> None:
        self._capture.stop()
        self.server.shut_down(_DATABASE)
        self.server.stop()
        pack(self.server.data, self.archive)

    def restore(self) -> None:
        unpack(self.archive, self.server.data)
        self.server.start()
        self._capture.start()

    def close(self) -> None:
        self._capture.stop()
        super().close()

    def _execute(self, statement: str) -> None:
        self.server.execute(_DATABASE, statement)
