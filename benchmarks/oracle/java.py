"""Debezium's own parser of redo, converters and JSON over the same statements."""

from __future__ import annotations

import subprocess
from pathlib import Path

from benchmarks.contenders import jars
from headrace.java import find_java
from headrace_demo.oracle.script import State
from tests.golden.oracle.jdbc import JdbcServer
from tests.golden.oracle.redo.record import Dictionary

_HERE = Path(__file__).parent
_DRIVER = _HERE.parents[1] / "tests/golden/oracle/ScriptedDriver.java"
STEPS = ("parse", "convert", "json")


class RedoRunner:
    """RedoRunner.java, compiled into the folder `work`."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._classes = f"{work}:{jars()}/*"
        logging = work / "log4j2.properties"
        logging.write_text("rootLogger.level=off\n")
        subprocess.run(
            ["javac", "-nowarn", "-Xlint:none", "-cp", f"{jars()}/*", "-d", work, _DRIVER,
             _HERE / "RedoRunner.java"],
            check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def rates(self, statements: Path, seconds: float) -> dict[str, float]:
        """Statements per second of CPU of each step, and those before it: every step runs for so
        many seconds, and as long before."""
        server = JdbcServer(lambda: Dictionary(State.read({})))
        try:
            output = subprocess.run(
                [str(find_java() / "bin" / "java"), "-Xmx1g", "-XX:+UseSerialGC",
                 "-Duser.timezone=UTC", "-Djdbc.drivers=ScriptedDriver",
                 f"-Dlog4j2.configurationFile={self._work / 'log4j2.properties'}",
                 "-cp", self._classes, "RedoRunner", str(statements), str(seconds), server.url],
                check=True, capture_output=True, text=True,
            ).stdout  # fmt: skip
        finally:
            server.close()
        words = (line.split() for line in output.splitlines())
        return {word[0]: int(word[1]) / int(word[2]) * 1e9 for word in words if word[0] in STEPS}
