"""Sinks of Spark's own: their packages and settings come from the file and the command line."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import pyspark
import pytest

from headrace.cli.messages import Messages
from headrace.cli.pipeline import add_run_arguments, check_pipeline, spark_settings
from headrace.config.formats import read_text
from headrace.connect.cache_folders import cache_folder
from headrace.errors import HeadraceError
from headrace.testing.embedded import PostgresServer
from tests.cli.commands import configuration, properties
from tests.resident.resident import Resident
from tests.servers.kafka import KafkaServer
from tests.servers.postgresql import Database
from tests.servers.sources import PostgresSource
from tests.sinks.kafka.records import fresh_name, read_topic

CONNECTOR = """
connector.class=postgresql
topic.prefix=s
database.hostname=h
database.user=u
database.password=p
database.dbname=d
"""


def settings_of(lines: str, *words: str) -> dict[str, str]:
    parser = argparse.ArgumentParser()
    add_run_arguments(parser)
    pipeline = check_pipeline(read_text(CONNECTOR + lines), {}, Messages(quiet=True))
    assert not [name for name in pipeline.properties if name.startswith("spark.")]
    assert pipeline.config.warnings == ()
    return spark_settings(pipeline, parser.parse_args(words))


def test_lines_of_spark_are_settings_of_spark(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key=abc\n")
    lines = f"spark.a.b=1\nspark.hadoop.fs.s3a.secret.key=${{file:{secret}:key}}\n"
    settings = settings_of(lines, "--conf", "spark.a.b=2=3", "--conf", "spark.c=")
    assert settings == {"spark.a.b": "2=3", "spark.hadoop.fs.s3a.secret.key": "abc", "spark.c": ""}


def test_packages_of_the_file_and_of_the_command_line_come_together() -> None:
    words = (
        "--packages",
        "c:d:2,e:f:3",
        "--packages",
        "a:b:1",
        "--conf",
        "spark.jars.packages=g:h:4",
    )
    settings = settings_of("spark.jars.packages=a:b:1\n", *words)
    assert settings == {"spark.jars.packages": "a:b:1,g:h:4,c:d:2,e:f:3"}


def test_a_reference_that_leads_nowhere_names_its_line() -> None:
    with pytest.raises(HeadraceError) as raised:
        settings_of("spark.x=${env:HEADRACE_IS_NOT_SET}\n")
    assert raised.value.code == "config.unresolved_reference"
    assert "spark.x" in raised.value.message


@pytest.mark.parametrize("text", ["spark.a", "a=b"])
def test_what_is_no_setting_of_spark_is_refused(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        settings_of("", "--conf", text)
    assert "is not spark.NAME=VALUE" in capsys.readouterr().err


@pytest.mark.postgres
@pytest.mark.spark
def test_a_sink_that_spark_does_not_find_gets_a_suggestion(
    database: Database, tmp_path: Path, resident: Resident
) -> None:
    file = tmp_path / "application.properties"
    file.write_text(properties(database, headrace_sink_type="parqqwet"))
    completed = resident.run("run", str(file), "--checkpoint", str(tmp_path / "state"))
    assert completed.returncode == 1
    assert (
        "Spark knows no sink parqqwet; did you mean parquet? [cli.sink_not_found]"
        in completed.stderr
    )
    assert "remedy: Set headrace.sink.type to parquet, or name the package" in completed.stderr


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.chaos
def test_sparks_sink_for_kafka_comes_with_its_package(
    tmp_path: Path, command, kafka: KafkaServer
) -> None:
    prefix, file = fresh_name(), tmp_path / "application.properties"
    package = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
    kafka.create_topic(f"{prefix}.public.t", 3)
    with PostgresServer() as server:
        source = PostgresSource(server)
        of_source = configuration(source, topic_prefix=prefix)
        lines = {
            "debezium.sink.type": "org.apache.spark.sql.kafka010.KafkaSourceProvider",
            "debezium.sink.kafka.bootstrap.servers": kafka.address,
            "spark.jars.ivy": str(cache_folder("servers") / "ivy"),
            **{f"debezium.source.{name}": text for name, text in of_source.items()},
        }
        file.write_text("".join(f"{name}={text}\n" for name, text in lines.items()))
        source.insert(1, 50, "x")
        process = command(
            "run", str(file), "--checkpoint", str(tmp_path / "state"), "--idle-exit", "2",
            "--packages", package,
        )  # fmt: skip
        _, err = process.communicate(timeout=500)
        assert process.returncode == 0, err
    keys = Counter(record.key for record in read_topic(kafka, f"{prefix}.public.t"))
    assert keys == {b'{"id":%d}' % number: 1 for number in range(1, 51)}
