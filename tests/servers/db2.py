"""One database of a shared stand-in for Db2, fresh for every test."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from headrace_demo.db2.capture import CaptureProgram, Execute
from headrace_demo.db2.derby import DerbyServer
from headrace_demo.db2.peculiarities import Peculiarities

SCHEMA = "INV"

_numbers = itertools.count(1)
_models: WeakKeyDictionary[DerbyServer, dict[object, str]] = WeakKeyDictionary()
_BEGIN = """
UPDATE ASNCDC.IBMSNAP_REGISTER SET SYNCHTIME = CURRENT_TIMESTAMP WHERE GLOBAL_RECORD = 'Y'
"""


@dataclass(frozen=True)
class Db2Database:
    """A database name on a running server, with the schema `INV`, the control tables, and the
    Capture program, which whoever uses this starts."""

    server: DerbyServer
    name: str
    capture: CaptureProgram

    @classmethod
    def create(
        cls,
        server: DerbyServer,
        width: int = 16,
        prepare: Callable[[Db2Database], None] | None = None,
        peculiarities: Peculiarities | None = None,
    ) -> Db2Database:
        """`width`: bytes of an LSN; `peculiarities`: those of Capture. What `prepare` does to a
        database, it does once for a server: the first one is a model, whose files are copied."""
        models = _models.setdefault(server, {})
        if (width, prepare) not in models:
            models[width, prepare] = cls._model(server, width, prepare)
        name = f"T{next(_numbers)}"
        shutil.copytree(server.data / models[width, prepare], server.data / name)
        capture = CaptureProgram(server, name, width=width, peculiarities=peculiarities)
        created = cls(server, name, capture)
        created.execute(_BEGIN)
        return created

    @classmethod
    def _model(
        cls, server: DerbyServer, width: int, prepare: Callable[[Db2Database], None] | None
    ) -> str:
        name = f"M{next(_numbers)}"
        server.create_database(name)
        model = cls(server, name, CaptureProgram(server, name, width=width))
        model.capture.install()
        model.execute(f"CREATE SCHEMA {SCHEMA}")
        if prepare is not None:
            model.capture.start()
            prepare(model)
        model.close()
        return name

    def close(self) -> None:
        """The Capture program and the database end."""
        self.capture.stop()
        self.server.shut_down(self.name)

    def connect(self) -> Any:
        """A new connection of `ibm_db_dbi` in autocommit mode."""
        return self.server.connect(self.name)

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """A statement outside of the Capture program's transactions; rows of what it returns."""
        rows = self.server.execute(self.name, statement, tuple(values))
        self.capture.hurry()
        return rows

    def transaction(self) -> AbstractContextManager[Execute]:
        """A transaction of any number of statements, which becomes one commit."""
        return self.capture.transaction()

    def create_table(self, table: str, columns: str, *, captured: bool = True) -> None:
        """A table of the schema `INV`, which is registered, and captured by a program that runs."""
        self.execute(f"CREATE TABLE {SCHEMA}.{table} ({columns})")
        if captured:
            self.capture.add_table(SCHEMA, table)
            if self.capture.is_running:
                self.capture.await_captured()

    def changes(self, table: str) -> list[tuple[Any, ...]]:
        """The rows of a table's change table in order: LSNs of commit and change, operation, and
        the row."""
        return self.execute(
            f'SELECT * FROM "{self.capture.changes}"."CDC_{SCHEMA}_{table}" '
            "ORDER BY IBMSNAP_COMMITSEQ, IBMSNAP_INTENTSEQ"
        )

    def properties(self, **more: str) -> dict[str, str]:
        """Debezium's connection properties, capturing the schema; `more` uses `_` for `.`."""
        return {
            "connector.class": "io.debezium.connector.db2.Db2Connector",
            "topic.prefix": "headrace",
            "database.hostname": self.server.host,
            "database.port": str(self.server.bridge.port),
            "database.user": self.server.user,
            "database.password": "unused",
            "database.dbname": self.name,
            "driver.AUTHENTICATION": "SERVER",
            "table.include.list": rf"{SCHEMA}\..*",
        } | {name.replace("_", "."): value for name, value in more.items()}
