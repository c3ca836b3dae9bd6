"""Rows that somebody else changed stop a table, whatever headrace commits after them."""

from __future__ import annotations

import datetime as dt
import logging

import pytest
from pyroaring import BitMap
from pyspark.sql import SparkSession

from headrace.errors import HeadraceError
from headrace.sinks.replicas.files.writing import new_vector
from headrace.sinks.replicas.lake import ColumnChange, Lake, LakeTable, TableChange, TableName
from headrace.sinks.replicas.maintaining import erase, erase_from, maintain
from headrace.sinks.replicas.runners import HereRunner
from tests.sinks.lake.jars import require_delta
from tests.sinks.replicas.replication import Replication
from tests.sinks.replicas.verifying.comparing import sink_query

pytestmark = [pytest.mark.spark, pytest.mark.postgres]
NAME = TableName(("public",), "t")
ROWS = """CREATE TABLE t (id int PRIMARY KEY, v text);
INSERT INTO t SELECT i, 'a' FROM generate_series(1, 20) i"""


def opened(replication: Replication, spark: SparkSession) -> tuple[Lake, LakeTable]:
    definition, query = sink_query(replication)
    lake = definition.format().open(spark, definition.own_options(query.config))
    table = lake.table(NAME)
    assert table is not None
    return lake, table


@pytest.mark.parametrize("replication", ["delta"], indirect=True)
def test_rows_that_spark_changed_stop_a_table_that_was_maintained_afterwards(
    replication: Replication, spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    require_delta(spark)
    replication.database.execute(ROWS)
    replication.run()
    table = f"delta.`{replication.lake.path('public', 't')}`"
    spark.sql(f"DELETE FROM {table} WHERE id <= 8").collect()
    spark.sql(f"UPDATE {table} SET v = 'theirs' WHERE id = 12").collect()
    lake, _ = opened(replication, spark)
    with caplog.at_level(logging.WARNING):
        (upkeep,) = maintain(lake, replication.state, [NAME], HereRunner(), dt.datetime.now(dt.UTC))
    lake.close()
    assert upkeep.merged
    assert "public.t: its former versions are kept, because somebody else" in caplog.text

    replication.database.execute("UPDATE t SET v = 'b' WHERE id = 20")
    replication.run()
    assert replication.stopped == ["public.t"]


@pytest.mark.parametrize("replication", ["iceberg"], indirect=True)
def test_rows_that_somebody_else_deleted_are_not_hidden_by_an_erasure(
    replication: Replication, spark: SparkSession
) -> None:
    replication.database.execute(ROWS)
    replication.run()
    lake, table = opened(replication, spark)
    others = table.begin(ColumnChange())
    vector = new_vector(others.storage, others.files[0], BitMap([2, 3, 4]), "of-others")
    assert vector is not None
    others.commit(TableChange(vectors=[vector]), {})
    with pytest.raises(HeadraceError, match=r"replicas\.changed_by_others"):
        erase(table, {"id": 15}, HereRunner())
    released: list[TableName] = []

    def release(name: TableName) -> int:
        released.append(name)
        return 1

    state = replication.state / replication.lake.name
    with pytest.raises(HeadraceError, match=r"replicas\.changed_by_others"):
        list(erase_from(lake, state, "public.t", '{"id": 15}', HereRunner(), release))
    assert not released
    lake.close()

    replication.database.execute("UPDATE t SET v = 'b' WHERE id = 20")
    replication.run()
    assert replication.stopped == ["public.t"]
