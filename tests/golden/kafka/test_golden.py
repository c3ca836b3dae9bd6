"""Files of Debezium's users, run unchanged: the broker then has what Debezium's own run put there.

Keys, values and headers are the same after the normalisation of the other recordings, and each
record with a key is in the same partition, after the same ones. What differs on purpose is in
`differences/`, a file per case.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.testing.embedded import PostgresServer
from headrace.testing.mongodb import MongoServer
from tests.golden.database import PREFIX, Database
from tests.golden.kafka.cases import CASES, Case
from tests.golden.kafka.records import PARTITIONS, await_count, lines_of, topics
from tests.golden.mongodb.database import MongoDatabase
from tests.golden.normalise import compare
from tests.golden.on_purpose import on_purpose
from tests.golden.postgresql.database import PostgresDatabase
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.spark
HERE = Path(__file__).parent


def run(case: Case, database: Database, kafka: KafkaServer, folder: Path) -> list[str]:
    """The lines that an independent client reads when `headrace run` has ended."""
    for topic in topics(kafka):
        kafka.delete_topic(topic)
    phases = case.workload().phases
    database.renew()
    try:
        database.execute_all(phases["setup"])
        if not case.creates:
            kafka.create_topic(case.topic, PARTITIONS)
        properties = {"topic.prefix": PREFIX, **database.properties()}
        files = case.ours(properties, kafka.address)
        for name, content in files.items():
            (folder / name).write_text(content)
        process = subprocess.Popen(
            [sys.executable, "-m", "headrace.cli", "run", *files, "--checkpoint", "state",
             "--idle-exit", "4"],
            cwd=folder, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            await_count(kafka, case.rows, lambda: process.poll() is None)
            database.execute_all(phases["stream"])
            _, err = process.communicate(timeout=400)
            assert process.returncode == 0, err
        finally:
            process.kill()
            process.wait()
        database.stopped()
        return lines_of(kafka)
    finally:
        database.clean()


def check(case: Case, database: Database, kafka: KafkaServer, folder: Path) -> None:
    recorded = case.recording.read_text().splitlines()
    actual_events = run(case, database, kafka, folder)
    assert compare(recorded, actual_events, database.normalise) == on_purpose(HERE, case.name)


LONG = ("postgresql_body", "postgresql_pair", "mongodb_server")
"""Other forms of what the others run: `make chaos` has them."""


def named(prefix: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    names = [name for name in CASES if name.startswith(prefix)]
    marks = {name: [pytest.mark.chaos] if name in LONG else [] for name in names}
    return pytest.mark.parametrize("name", [pytest.param(n, marks=marks[n]) for n in names])


@pytest.mark.postgres
@named("postgresql")
def test_the_broker_has_what_debezium_writes(
    name: str, postgres: PostgresServer, kafka: KafkaServer, tmp_path: Path
) -> None:
    check(CASES[name], PostgresDatabase(postgres), kafka, tmp_path)


@pytest.mark.mongodb
@named("mongodb")
def test_the_broker_has_what_debezium_writes_of_documents(
    name: str, mongodb: MongoServer, kafka: KafkaServer, tmp_path: Path
) -> None:
    check(CASES[name], MongoDatabase(mongodb), kafka, tmp_path)
