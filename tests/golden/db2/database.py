"""The workloads of Db2: SQL, of which each block is a transaction that Capture reads.

Debezium is recorded over H2, which stands in for Db2 behind the name of IBM's driver.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.golden.database import Database, Reader
from tests.golden.db2.capture import Capture
from tests.golden.db2.h2 import PASSWORD, USER, H2Server, h2_jars
from tests.golden.db2.varying import normalise
from tests.golden.workload import Workload

DATABASE = "GOLDEN"
SIGNALS = "S.SIGNALS"
"""The table of signals, into which the connector writes as well."""

_NEWEST_LSN = (
    "SELECT COALESCE(SUM(EXECUTION_COUNT), 0) FROM INFORMATION_SCHEMA.QUERY_STATISTICS"
    " WHERE SQL_STATEMENT LIKE 'SELECT max(t.%'"
)
_POLLS = 3  # one may have begun before the last transaction, the next one reads it
_HISTORY = "io.debezium.storage.file.history.FileSchemaHistory"
_PAUSE_S = 0.05


class CapturedDatabase(Database):
    """A server on which workloads run, with a Capture program that is created again for each."""

    folder = Path(__file__).parent
    suffix = ".sql"
    artifact = "connector-db2"
    java = (folder / "DB2Driver.java",)
    normalise = staticmethod(normalise)

    def __init__(self) -> None:
        self._work = Path(tempfile.mkdtemp(prefix="headrace-golden-db2-"))
        self._capture = Capture()
        self._lock = threading.Lock()  # of the capture and its connection
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    @abstractmethod
    def connection_properties(self) -> dict[str, str]:
        """Where the server is."""

    @abstractmethod
    def renew_server(self) -> None:
        """There is an empty database."""

    @abstractmethod
    def transact(self, statements: Sequence[str]) -> None:
        """Run the statements in one transaction."""

    @abstractmethod
    def number(self, query: str) -> int:
        """What a query for one number gives."""

    def properties(self) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.db2.Db2Connector",
            **self.connection_properties(),
            "include.schema.changes": "false",
            "schema.history.internal": _HISTORY,
            "schema.history.internal.file.filename": str(self._work / "history"),
        }

    def renew(self) -> None:
        self.clean()
        (self._work / "history").unlink(missing_ok=True)
        self._capture = Capture()
        self.renew_server()
        self.transact(self._capture.control())

    def execute(self, block: str) -> None:
        with self._lock:
            self.transact(self._capture.statements(block))
        if SIGNALS in self._capture.change_tables and self._thread is None:
            self._over.clear()
            self._thread = threading.Thread(target=self._capture_signals, daemon=True)
            self._thread.start()

    def _capture_signals(self) -> None:
        """The connector writes signals of its own, which Capture has to read like all others."""
        while not self._over.wait(_PAUSE_S):
            with self._lock:
                while self.number(self._capture.uncaptured(SIGNALS)):
                    self.transact(self._capture.capture_one(SIGNALS))

    def left(self, workload: Workload) -> list[str]:
        """The records of the schema history, for a workload with `recorder.history=true`."""
        if "history" not in workload.options:
            return []
        records = (self._work / "history").read_text().splitlines()
        return [f'{{"topic":"history","key":null,"value":{r},"headers":{{}}}}' for r in records]

    def stopped(self) -> None:
        """A reader has no place of its own on the server."""

    def clean(self) -> None:
        if self._thread is not None:
            self._over.set()
            self._thread.join()
            self._thread = None

    def close(self) -> None:
        self.clean()
        shutil.rmtree(self._work)


class Db2Database(CapturedDatabase):
    """Debezium's side: H2, which counts how often Debezium has asked for the newest LSN."""

    def __init__(self) -> None:
        super().__init__()
        self._server = H2Server(DATABASE)
        self._polls = 0

    @classmethod
    def jars(cls) -> list[Path]:
        return [*h2_jars().glob("*.jar")]

    def connection_properties(self) -> dict[str, str]:
        return {
            "database.hostname": "127.0.0.1",
            "database.port": str(self._server.port),
            "database.user": USER,
            "database.password": PASSWORD,
            "database.dbname": DATABASE,
        }

    def renew_server(self) -> None:
        self._server.renew()
        self._polls = 0

    def transact(self, statements: Sequence[str]) -> None:
        self._server.execute(statements)

    def number(self, query: str) -> int:
        return self._server.number(query)

    def execute(self, block: str) -> None:
        super().execute(block)
        self._polls = self.end()

    def streaming(self) -> bool:
        return bool(self.end() >= self._polls + _POLLS)

    def end(self) -> Any:
        with self._lock:
            return self.number(_NEWEST_LSN)

    def sent(self, end: Any) -> bool:
        return bool(self.end() >= end + _POLLS)

    def reader(self, properties: Mapping[str, str]) -> Reader:
        raise NotImplementedError("ours reads Derby")

    def close(self) -> None:
        super().close()
        self._server.close()
