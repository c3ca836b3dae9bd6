"""Rows that somebody else wrote into a replica stop its table, and another copy replaces them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyroaring import BitMap
from pyspark.sql import SparkSession

from headrace.sinks.iceberg.format import FORMAT
from headrace.sinks.replicas.files.writing import new_vector
from headrace.sinks.replicas.lake import ColumnChange, TableChange, TableName
from headrace.testing.embedded import PostgresServer
from tests.sinks.lake.readers import IcebergLake
from tests.sinks.replicas.evolving.replicated import replicated

pytestmark = [pytest.mark.postgres, pytest.mark.spark, pytest.mark.chaos]


def change(spark: SparkSession, warehouse: Path, rows: dict[str, list[object]]) -> None:
    """Changes the replica `a` as another writer does: deletes its seventh row, and inserts rows."""
    lake = FORMAT.open(spark, {"warehouse": str(warehouse)})
    table = lake.table(TableName(("public",), "a"))
    assert table is not None
    transaction = table.begin(ColumnChange())
    schema = [(column.name, column.type) for column in transaction.storage.schema.columns]
    file = transaction.storage.write_rows(pa.table(rows, schema=pa.schema(schema)), "of-others")
    vector = new_vector(transaction.storage, transaction.files[0], BitMap([6]), "of-others")
    assert vector is not None
    transaction.commit(TableChange(added=[file], vectors=[vector]), {})
    lake.close()


def test_rows_that_somebody_else_wrote_are_gone_after_another_copy_and_their_columns_stay(
    postgres_servers: Callable[[int], PostgresServer], spark: SparkSession, tmp_path: Path
) -> None:
    more = {
        "signal_data_collection": "public.signals",
        "signal_enabled_channels": "source,file",
        "table_include_list": "public.a,public.b",
    }
    with replicated(postgres_servers(16), "iceberg", tmp_path, "other_writers", **more) as run:
        run.execute(
            "CREATE TABLE a (id int PRIMARY KEY, name text);"
            "CREATE TABLE b (id int PRIMARY KEY, name text);"
            "CREATE TABLE signals (id varchar(64) PRIMARY KEY, type varchar(32), data text);"
            "INSERT INTO a SELECT i, 'name ' || i FROM generate_series(1, 500) i;"
            "INSERT INTO b SELECT i, 'name ' || i FROM generate_series(1, 500) i"
        )
        run.start()
        run.catch_up()

        IcebergLake(run.lake).add_column("public", "a", "note")
        # A row is filled, a key has a second one, and one is not at the source.
        rows: dict[str, list[object]] = {"id": [7, 9, 1000], "name": ["other"] * 3}
        change(spark, run.lake, rows | {"note": ["kept", None, "gone"]})
        run.execute("UPDATE a SET name = 'late' WHERE id = 8; UPDATE b SET name = 'late'")
        run.catch_up()
        assert run.stopped()["a"]["code"] == "replicas.changed_by_others"
        assert not run.difference("b")

        completed = run.resync("a")
        assert completed.returncode == 0, completed.stderr
        run.await_(lambda: not run.requests(), "a is not copied again")
        run.execute("UPDATE a SET name = 'last' WHERE id = 7")
        run.catch_up()
        assert not run.stopped()
        replica_rows = run.replica("a")
        assert replica_rows is not None
        source = {row["id"]: row["name"] for row in run.source("a")}
        assert {row["id"]: row["name"] for row in replica_rows} == source
        assert len(replica_rows) == len(source)
        assert {row["id"]: row["note"] for row in replica_rows if row["note"]} == {7: "kept"}
        assert run.end() == 0
