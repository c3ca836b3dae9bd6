"""`headrace run` enters Delta tables into a metastore, where another session finds them by SQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import headrace
from headrace.sinks.delta.session_catalog import settings
from headrace.testing.embedded import PostgresServer
from tests.sinks.replicas.evolving.replicated import replicated

pytestmark = [pytest.mark.postgres, pytest.mark.spark, pytest.mark.chaos]

READER = """
import json, sys
from pyspark.sql import SparkSession
session = SparkSession.builder.config(map=json.loads(sys.argv[1])).getOrCreate()
for statement in sys.argv[2:]:
    print("rows:" + json.dumps([row.asDict() for row in session.sql(statement).collect()]))
session.stop()
"""


def test_tables_are_found_by_sql_in_another_session(
    postgres_servers: Callable[[int], PostgresServer], tmp_path: Path
) -> None:
    metastore = {
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={tmp_path}/metastore;create=true"
        ),
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
    }
    with replicated(postgres_servers(16), "delta", tmp_path, "in_catalog") as run:
        run.set(run.lines | metastore | {"headrace.sink.catalog.name": "spark_catalog"})
        run.execute("CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a VALUES (1), (2), (3)")
        checked = subprocess.run(
            [sys.executable, "-m", "headrace.cli", "check", str(run.file)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "Spark's catalog can have the tables, by delta-spark_" in checked.stdout
        run.start()
        run.catch_up()
        run.execute("ALTER TABLE a ADD COLUMN late text DEFAULT 'x'; DELETE FROM a WHERE id = 2")
        run.execute("INSERT INTO a VALUES (4, 'new'); CREATE TABLE \"B\" (id int PRIMARY KEY)")
        run.execute("""INSERT INTO "B" VALUES (7)""")
        run.catch_up()
        assert run.end() == 0
        jars = headrace.sink_jars("delta", **{"catalog.name": "spark_catalog"})
        session = {"spark.jars": ",".join(jars), "spark.ui.enabled": "false"}
        statements = ["SELECT * FROM public.a ORDER BY id", "SELECT id FROM public.b"]
        completed = subprocess.run(
            [sys.executable, "-c", READER, json.dumps({**session, **settings(), **metastore}),
             *statements],
            cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ,
        )  # fmt: skip
        rows = [line[5:] for line in completed.stdout.splitlines() if line.startswith("rows:")]
        assert completed.returncode == 0, completed.stderr[-3000:]
        assert [json.loads(each) for each in rows] == [
            [{"id": 1, "late": "x"}, {"id": 3, "late": "x"}, {"id": 4, "late": "new"}],
            [{"id": 7}],
        ]
