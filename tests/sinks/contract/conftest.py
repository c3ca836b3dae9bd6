"""The sinks of the suite, and a query into each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.sinks.file.standard_output import StandardOutputDefinition
from headrace.spark.sinks import registry
from headrace.spark.sinks.definition import SinkDefinition
from tests.servers.postgresql import Database
from tests.sinks.contract.run import SinkRun
from tests.sinks.contract.subjects import (
    BatchFilesSubject,
    ConsoleSubject,
    EventLogSubject,
    FileSubject,
    KafkaSubject,
    ParquetSubject,
    ReplicaSubject,
    SinkSubject,
    StandardOutputSubject,
)
from tests.sinks.kafka.records import fresh_name
from tests.sinks.lake.readers import LAKES, IcebergOnS3

PAGE = Path(__file__).parents[3] / "docs" / "adding-a-sink.md"
_METADATA = "Metadata-Version: 2.1\nName: batch-files\nVersion: 1\n"


def block(language: str) -> str:
    """The first block of the page in a language."""
    match = re.search(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert match is not None
    return match[1]


@pytest.fixture
def installed_sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The sink of the page is found as somebody else's package would be: by its entry point."""
    packages = tmp_path / "packages"
    information = packages / "batch_files-1.dist-info"
    information.mkdir(parents=True)
    (packages / "batch_files.py").write_text(block("python"))
    (information / "METADATA").write_text(_METADATA)
    entry_points = block("toml").replace(
        '[project.entry-points."headrace.sinks"]', "[headrace.sinks]"
    )
    (information / "entry_points.txt").write_text(entry_points.replace('"', ""))
    monkeypatch.syspath_prepend(packages)
    registry.forget_added()
    yield
    registry.forget_added()


@pytest.fixture
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> SinkSubject:
    """Parametrized by name; makes each subject of subjects.py."""
    name = str(request.param)
    if name == "kafka":
        return KafkaSubject(tmp_path, request.getfixturevalue("kafka"), fresh_name())
    if name in ("console", "standard output"):
        captured = request.getfixturevalue("capsys")
        kind = ConsoleSubject if name == "console" else StandardOutputSubject
        return kind(tmp_path, lambda: captured.readouterr().out)
    if name == "batch-files":
        request.getfixturevalue("installed_sink")
        return BatchFilesSubject(tmp_path)
    if name.startswith("event-log"):
        return EventLogSubject(tmp_path, name.removeprefix("event-log").strip() or "json")
    of_format, _, mode = name.partition(" ")
    if of_format in LAKES and mode in ("", "append", "history"):
        return ReplicaSubject(tmp_path, LAKES[of_format](tmp_path / "lake"), mode or "replica")
    if name == "iceberg on S3":
        lake = IcebergOnS3(tmp_path / "lake", request.getfixturevalue("s3"))
        return ReplicaSubject(tmp_path, lake)
    return {"file": FileSubject, "parquet": ParquetSubject}[name](tmp_path)


@pytest.fixture
def run(spark: SparkSession, subject: SinkSubject, database: Database) -> SinkRun:
    """A run of a query into the subject."""
    definition: SinkDefinition = (
        StandardOutputDefinition()
        if subject.name == "standard output"
        else registry.find_sink(subject.name)
    )
    assert definition.delivery is subject.delivery
    return SinkRun(spark, definition, subject, database)
