"""Iceberg tables on S3: Iceberg's client writes the metadata, and Arrow's the files."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.catalog import IcebergCatalog
from headrace.sinks.iceberg.format import FORMAT
from headrace.sinks.replicas.comments import SourceComments
from headrace.sinks.replicas.lake import Lake
from headrace.sinks.replicas.maintaining import maintain
from headrace.sinks.replicas.options import ReplicaOptions
from headrace.sinks.replicas.replica import Replica
from headrace.sinks.replicas.runners import HereRunner, SparkRunner
from tests.sinks.lake.iceberg.replica import NO_CHANGE, KeptTable, compact, opened
from tests.sinks.lake.iceberg.rest_catalog import RestCatalog
from tests.sinks.lake.iceberg.rows import EVERY_TYPE, NAME, row
from tests.sinks.lake.readers import IcebergOnS3

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.servers.s3 import S3Server

pytestmark = pytest.mark.spark


@pytest.fixture
def read(s3: S3Server, tmp_path: Path) -> IcebergOnS3:
    return IcebergOnS3(tmp_path / "lake", s3)


@pytest.fixture
def lake(spark: SparkSession, read: IcebergOnS3) -> Iterator[Lake]:
    yield from opened(spark, read.options())


def rows(read: IcebergOnS3) -> list[dict[str, Any]]:
    return read.table("shop", "items").sort_by("id").to_pylist()


def test_a_table_on_s3_takes_rows_deletes_and_compaction(
    lake: Lake, read: IcebergOnS3, s3: S3Server
) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(number) for number in range(20)])
    kept_table.apply([row(2, small=1), row(30)], [3, 4])
    assert rows(read) == kept_table.expected()
    assert read.vectors("shop", "items") == 1
    # A fresh catalog reads the vectors that are there, and adds to them.
    again = lake.table(NAME)
    assert again is not None
    kept_table.table = again
    kept_table.apply([row(7, small=9)], [2])
    assert rows(read) == kept_table.expected()
    assert compact(kept_table.table) == 3
    assert rows(read) == kept_table.expected()
    assert read.vectors("shop", "items") == 0
    begun = kept_table.table.begin(NO_CHANGE)
    kept_table.batch += 1
    kept_table.prepare(begun, [row(50)], [5])
    assert begun.storage.sweep(f"b{kept_table.batch}-") == 2  # of a batch that was never committed
    kept_table.apply([row(60)])
    kept_table.table.expire(dt.datetime.now(dt.UTC))
    left = {path for path in s3.objects(read.bucket) if "/data/" in path}
    assert left == {file.path for file in kept_table.table.begin(NO_CHANGE).files}
    assert rows(read) == kept_table.expected()


def test_files_of_before_a_copy_are_removed_when_it_is_whole(lake: Lake, read: IcebergOnS3) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    kept_table.apply([row(number) for number in range(5)])
    replica = Replica(lake, NAME, ReplicaOptions(), HereRunner(), SourceComments(lambda: None))
    former = json.loads(json.dumps(replica.files()))  # as the request to copy it has them
    kept_table.apply([row(number) for number in range(3, 9)])
    replica.remove(former, "")
    assert [each["id"] for each in rows(read)] == list(range(3, 9))


def test_small_files_on_s3_are_merged_by_tasks_of_spark(
    lake: Lake, read: IcebergOnS3, spark: SparkSession, tmp_path: Path
) -> None:
    kept_table = KeptTable(lake.create(NAME, EVERY_TYPE, {}))
    for number in range(10):
        kept_table.apply([row(number), row(number + 1)], [])
    runner = SparkRunner(spark.sparkContext)
    (maintenance,) = maintain(lake, tmp_path, [NAME], runner, dt.datetime.now(dt.UTC))
    assert (maintenance.merged, maintenance.made) == (10, 1)
    assert read.files("shop", "items") == 1
    assert rows(read) == kept_table.expected()


def test_a_rest_catalog_keeps_tables_on_s3(
    lake: Lake, read: IcebergOnS3, spark: SparkSession
) -> None:
    assert isinstance(lake, IcebergCatalog)
    token = "a-token-that-nobody-may-see"
    server = RestCatalog(lake._java, lake._catalog, token)
    options = read.options() | {"catalog.type": "rest", "catalog.uri": server.uri}
    del options["warehouse"]
    rest = FORMAT.open(spark, options | {"catalog.token": token})
    try:
        kept_table = KeptTable(rest.create(NAME, EVERY_TYPE, {}))
        kept_table.apply([row(number) for number in range(5)])
        kept_table.apply([row(2, small=1)], [3])
        assert rows(read) == kept_table.expected()
        error = kept_table.conflict(lake, [row(4, small=1)])
        assert (error.code, error.retriable) == ("replicas.conflict", True)
    finally:
        rest.close()
        server.close()


@pytest.mark.parametrize("case", ["no bucket", "no right", "wrong key"])
def test_what_s3_refuses_iceberg_is_an_error_without_keys_for_good(
    spark: SparkSession, read: IcebergOnS3, s3: S3Server, case: str
) -> None:
    options, answer = read.options(), "Status Code: 403"
    if case == "no bucket":
        options, answer = options | {"warehouse": "s3://nobodys/lake"}, "NoSuchBucket"
    elif case == "no right":
        keys = s3.keys_for("s3:ListBucket", "s3:GetObject")
        options |= {f"catalog.{name}": text for name, text in keys.items()}
    else:
        options["catalog.s3.secret-access-key"] = "the-secret-of-somebody-else"
    lake = FORMAT.open(spark, options)
    try:
        with pytest.raises(HeadraceError, match=answer) as raised:
            lake.create(NAME, EVERY_TYPE, {})
    finally:
        lake.close()
    assert (raised.value.code, raised.value.retriable) == ("replicas.not_written", False)
    for name in ("catalog.s3.access-key-id", "catalog.s3.secret-access-key"):
        assert options[name] not in str(raised.value)


def test_a_session_without_the_jars_of_s3_says_which_it_needs(
    spark: SparkSession, read: IcebergOnS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.sinks.iceberg.jvm.CLIENT", "software.amazon.awssdk.Missing")
    with pytest.raises(HeadraceError) as raised:
        FORMAT.open(spark, read.options())
    assert raised.value.code == "iceberg.jars_missing"
    assert "org.apache.iceberg:iceberg-aws-bundle:1.12.0" in raised.value.remedy
