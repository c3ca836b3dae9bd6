"""The Spark session of a worker of the tests, with what they need of jars where those are to be
had."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from headrace.errors import HeadraceError
from headrace.java import find_java
from headrace.spark.jvm.gateway import DriverJvm
from headrace.spark.jvm.maven import NotFetched, fetch_jars
from headrace.spark.session import build_session
from tests.servers.s3 import has_s3
from tests.sinks.lake.jars import delta_jars, iceberg_jars, spark_delta_jars
from tests.spark.forking import Template

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
}
_KAFKA_OF_SPARK = {"4.0": "4.0.5", "4.1": "4.1.4"}
"""Versions of Kafka's package by Spark's version; later ones take that of 4.2.0."""
_OWN = pyspark.__version__.rpartition(".")[0]
_KAFKA = ("org.apache.spark", "spark-sql-kafka-0-10_2.13", _KAFKA_OF_SPARK.get(_OWN, "4.2.0"))
_NOT_FETCHED = ("spark.jars_not_found", "spark.no_java")
"""Codes of errors without jars."""
_WITH_SPARK = ("spark-", "scala-", "hadoop-", "slf4j-", "jsr305", "lz4-", "snappy-")
"""Jars that a session has, or that Kafka's client finds there in other releases."""


def _delta_jars() -> list[Path]:
    """The jar of Delta for this Spark; empty if Delta has none, or it cannot be fetched."""
    try:
        return spark_delta_jars()
    except HeadraceError as error:
        if error.code not in _NOT_FETCHED:
            raise
        return []


def _lake_jars() -> list[Path]:
    """The jars that commits of replicas need; empty if they cannot be fetched."""
    try:
        rest = {"catalog.type": "rest", "catalog.uri": "http://catalog"}
        on_s3 = iceberg_jars({"warehouse": "s3://bucket"}) if has_s3() else []
        return sorted({*iceberg_jars(), *iceberg_jars(rest), *on_s3, *delta_jars()})
    except HeadraceError as error:
        if error.code not in _NOT_FETCHED:
            raise
        return []


def _kafka_jars() -> list[Path]:
    """The jars that a session needs to read from Kafka; empty if they cannot be fetched."""
    try:
        folder = fetch_jars(find_java() / "bin" / "java", _KAFKA)
    except NotFetched:
        return []
    return [
        jar
        for jar in sorted(folder.glob("*.jar"))
        if not jar.name.startswith(_WITH_SPARK) or "kafka" in jar.name
    ]


class WorkerSession:
    """A Spark session in a JVM of its own, which is started when it is first asked for. A process
    has one session: `close` makes room for another one."""

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse
        self._jvm: DriverJvm | None = None
        self._session: SparkSession | None = None
        self.template: Template | None = None

    def get(self) -> SparkSession:
        """The session, which runs."""
        if self._session is None:
            delta = _delta_jars()
            settings = {
                "spark.sql.shuffle.partitions": "2",
                "spark.sql.warehouse.dir": str(self._warehouse),
                "spark.driver.memory": "1g",
                "spark.jars": ",".join(map(str, [*delta, *_kafka_jars(), *_lake_jars()])),
                **(_DELTA_SETTINGS if delta else {}),
            }
            self._jvm = DriverJvm(lambda line: print(line, file=sys.stderr))
            with pytest.MonkeyPatch.context() as patch:
                # Workers import transforms of the tests.
                self.template = Template()
                for name, text in self.template.environment.items():
                    patch.setenv(name, text)
                self._session = build_session(
                    "tests", master="local[2,2]", settings=settings, jvm=self._jvm
                )
        return self._session

    def clean(self) -> None:
        """Ends what tests left running, and drops what they left in the catalogue."""
        if self._session is None:
            return
        for query in self._session.streams.active:
            query.stop()
        for table in self._session.catalog.listTables():
            if table.isTemporary:
                self._session.catalog.dropTempView(table.name)
            else:
                self._session.sql(f"DROP TABLE `{table.name}`")

    def close(self) -> None:
        """Ends the session and its JVM."""
        if self._session is not None and self._jvm is not None:
            self._session.stop()
            self._jvm.close()
        if self.template is not None:
            self.template.close()
        self._session = self._jvm = self.template = None
