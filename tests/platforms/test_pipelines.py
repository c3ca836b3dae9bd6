"""Spark Declarative Pipelines: headrace is the source of a streaming table."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headrace.spark.jvm.home import spark_home
from headrace.testing.embedded import PostgresServer
from tests.docs.pages import block
from tests.platforms.captured_table import make_table
from tests.platforms.connect_server import connect_environment

_PAGE = "docs/guides/platforms.md"


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.chaos
def test_a_pipeline_fills_a_streaming_table_and_the_view_over_it(tmp_path: Path) -> None:
    with PostgresServer() as server:
        make_table(server, 100, tmp_path / "shop.json")
        (tmp_path / "changes.py").write_text(block(_PAGE, "pipelines as dp").text)
        specification = block(_PAGE, "libraries:").text
        storage = (tmp_path / "storage").as_uri()
        (tmp_path / "spark-pipeline.yml").write_text(
            specification.replace("file:///tmp/changes", storage)
            + "configuration:\n  spark.sql.shuffle.partitions: '2'\n"
        )
        assert _run(tmp_path) == {"r": 100}
        server.execute("UPDATE t SET v = 'y' WHERE id <= 7")
        assert _run(tmp_path) == {"r": 100, "u": 7}


def _run(folder: Path) -> dict[str, int]:
    """The rows of the view after a run of the pipeline."""
    run = subprocess.run(
        [
            spark_home() / "bin/spark-pipelines", "run",
            "--conf", f"spark.sql.warehouse.dir={folder / 'warehouse'}",
            # Tables are known to the next run, too.
            "--conf", "spark.sql.catalogImplementation=hive",
            "--conf", "spark.hadoop.javax.jdo.option.ConnectionURL="
            f"jdbc:derby:;databaseName={folder / 'metastore'};create=true",
        ],
        cwd=folder, env=connect_environment(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    rows = pq.read_table(folder / "warehouse/operations").to_pylist()
    return {row["op"]: row["count"] for row in rows}
