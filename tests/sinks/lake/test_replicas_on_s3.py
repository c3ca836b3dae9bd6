"""PostgreSQL into Iceberg tables on S3, read by PyIceberg through S3."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace
from tests.servers.postgresql import Database
from tests.servers.s3 import S3Server
from tests.sinks.lake.readers import IcebergOnS3
from tests.sinks.replicas.replication import Replication

pytestmark = [pytest.mark.spark, pytest.mark.postgres]


@pytest.fixture
def lake(s3: S3Server, tmp_path: Path) -> IcebergOnS3:
    return IcebergOnS3(tmp_path / "lake", s3)


@pytest.fixture
def replication(
    spark: SparkSession, database: Database, lake: IcebergOnS3, tmp_path: Path
) -> Replication:
    return Replication(spark, database, lake, tmp_path / "state")


def test_a_replica_on_s3_follows_its_table(replication: Replication, lake: IcebergOnS3) -> None:
    database = replication.database
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v text, n numeric(8, 2))")
    database.execute("INSERT INTO t SELECT i, 'v' || i, i FROM generate_series(1, 500) i")
    replication.run()
    replication.assert_equal("t", "id", "v", "n")
    database.execute("UPDATE t SET v = 'changed' WHERE id % 10 = 0")
    database.execute("DELETE FROM t WHERE id BETWEEN 100 AND 150")
    database.execute("UPDATE t SET id = id + 1000 WHERE id < 10")
    replication.run()
    replication.assert_equal("t", "id", "v", "n")
    assert lake.vectors("public", "t") == 1  # deletes are outstanding
    database.execute("ALTER TABLE t ADD COLUMN more int DEFAULT 7")
    database.execute("UPDATE t SET v = 'again' WHERE id > 400")
    replication.run(compact_commits="1", snapshots_keep_minutes="1")
    replication.assert_equal("t", "id", "v", "n", "more")


def test_keys_of_s3_are_in_no_log_checkpoint_plan_or_table(
    replication: Replication,
    lake: IcebergOnS3,
    s3: S3Server,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level("INFO")
    caplog.set_level("DEBUG", "headrace")
    database = replication.database
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    database.execute("INSERT INTO t SELECT generate_series(1, 100)")
    replication.run()
    database.execute("DELETE FROM t WHERE id < 10")
    sink = {
        **{name.removeprefix("headrace.sink."): text for name, text in lake.properties().items()},
        "checkpoint": str(replication.state),
        "trigger": "availableNow",
    }
    del sink["mode"]
    query = headrace.replicate(replication.spark, database.properties(), sink)
    try:
        assert query.awaitTermination(300)
        query.explain(extended=True)
        print(query.lastProgress, replication.spark.sparkContext.getConf().getAll())
    finally:
        query.stop()
    replication.assert_equal("t", "id")
    captured = capfd.readouterr()
    texts = [captured.out, captured.err, caplog.text, str(lake.table_properties("public", "t"))]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    with sqlite3.connect(tmp_path / "lake" / "catalog.db") as catalog:
        texts += [str(line) for line in catalog.iterdump()]
    objects = list(s3.objects(lake.bucket))
    assert len(files) > 5
    assert any("/metadata/" in path for path in objects)
    contents = [path.read_bytes() for path in files]
    for path in objects:
        with s3.filesystem.open_input_file(path) as opened:
            contents.append(opened.read())
    for secret in (s3.secret_key, s3.key_id):
        assert not [text for text in texts if secret in text]
        assert not [content for content in contents if secret.encode() in content]


def test_a_bucket_that_is_gone_stops_the_query_with_what_s3_says(
    replication: Replication, lake: IcebergOnS3, s3: S3Server
) -> None:
    database = replication.database
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    lake.warehouse = "s3://nobodys/lake"
    error = replication.error()
    assert error.code == "replicas.not_written"
    assert "NoSuchBucket" in error.message
    assert s3.secret_key not in str(error)
