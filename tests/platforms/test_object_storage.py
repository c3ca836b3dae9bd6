"""A checkpoint in a bucket: Spark's own files there, by Hadoop's S3A on a stand-in for S3."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headrace.java import find_java
from headrace.spark.jvm.home import spark_home
from headrace.spark.jvm.maven import NotFetched, fetch_jars, spark_jar
from headrace.testing.embedded import PostgresServer
from tests.platforms.captured_table import make_table
from tests.servers.s3 import S3Server

_PROGRAM = Path(__file__).with_name("cluster_program.py")
_SDK = "2.35.4"
_ACCELERATOR = ("software.amazon.s3.analyticsaccelerator", "analyticsaccelerator-s3", "1.3.1")
_OF_SDK = ("s3-transfer-manager", "apache-client", "sts")
_WITH_SPARK = ("slf4j-", "netty-", "commons-")
"""Jars that Spark has in other releases; but for one that is the SDK's own."""
_NETTY_OF_SDK = "netty-nio-client"


def s3a_jars() -> list[Path]:
    """Hadoop's S3A for the Hadoop of this Spark, with what it needs of the SDK."""
    java = find_java() / "bin" / "java"
    hadoop = spark_jar("hadoop-client-api").stem.removeprefix("hadoop-client-api-")
    try:
        folders = [fetch_jars(java, ("org.apache.hadoop", "hadoop-aws", hadoop), alone=True)]
        folders += [fetch_jars(java, ("software.amazon.awssdk", name, _SDK)) for name in _OF_SDK]
        folders.append(fetch_jars(java, _ACCELERATOR, alone=True))
    except NotFetched:
        pytest.skip("the jars of Hadoop's S3A cannot be fetched here")
    jars = {jar.name: jar for folder in folders for jar in sorted(folder.glob("*.jar"))}
    return [
        jar
        for name, jar in jars.items()
        if not name.startswith(_WITH_SPARK) or name.startswith(_NETTY_OF_SDK)
    ]


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.chaos
def test_a_query_continues_from_a_checkpoint_in_a_bucket(tmp_path: Path) -> None:
    jars = s3a_jars()
    s3 = S3Server()
    try:
        bucket = s3.bucket()
        with PostgresServer() as server:
            make_table(server, 300, tmp_path / "t.json")
            checkpoint = f"s3a://{bucket}/checkpoint"
            _run(tmp_path, jars, s3, checkpoint)
            server.execute("UPDATE t SET v = 'y' WHERE id <= 5")
            _run(tmp_path, jars, s3, checkpoint)
        objects = s3.objects(f"{bucket}/checkpoint")
    finally:
        s3.close()
    values = pq.read_table(tmp_path / "events", columns=["value"]).column("value").to_pylist()
    operations = [json.loads(value)["op"] for value in values]
    assert (operations.count("r"), operations.count("u")) == (300, 5)
    assert f"{bucket}/checkpoint/metadata" in objects
    assert [path for path in objects if path.startswith(f"{bucket}/checkpoint/commits/")] != []
    assert [path for path in objects if path.endswith(".tmp")] == []


def _run(folder: Path, jars: list[Path], s3: S3Server, checkpoint: str) -> None:
    settings = {
        "spark.jars": ",".join(map(str, jars)),
        "spark.hadoop.fs.s3a.endpoint": s3.endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.access.key": s3.key_id,
        "spark.hadoop.fs.s3a.secret.key": s3.secret_key,
        "spark.ui.enabled": "false",
    }
    confs = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    submit = [str(spark_home() / "bin/spark-submit"), "--master", "local[2]", *confs]
    arguments = (str(folder / "t.json"), str(folder / "events"), checkpoint)
    run = subprocess.run(
        [*submit, str(_PROGRAM), *arguments],
        cwd=folder,
        env={
            **os.environ, "JAVA_HOME": str(find_java()), "SPARK_HOME": str(spark_home()),
            "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable,
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-5000:]
