"""Columns of a source that does not give ids of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.connectors.oracle.reading import ID_AND_NAME
from tests.servers.oracle import OracleDatabase
from tests.sinks.lake.readers import IcebergLake
from tests.sinks.replicas.replication import Replication

pytestmark = [pytest.mark.spark, pytest.mark.oracle, pytest.mark.chaos]


def add(database: OracleDatabase, **row: object) -> None:
    with database.transaction() as transaction:
        transaction.insert("INV.T", **row)


@pytest.mark.parametrize(("choice", "first"), [("rename", "one"), ("replace", None)])
def test_a_last_column_with_another_name_stops_the_table_until_the_configuration_says_what_it_is(
    spark: SparkSession, oracle_database: OracleDatabase, tmp_path: Path, choice: str, first: str
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    add(oracle_database, ID=1, NAME="one")
    lake = IcebergLake(tmp_path / "lake")
    database: Any = oracle_database
    replication = Replication(spark, database, lake, tmp_path / "state")
    replication.run()
    for statement in ("ADD (MORE NUMBER(5))", "DROP COLUMN MORE"):
        oracle_database.server.ddl(f"ALTER TABLE INV.T {statement}")
    add(oracle_database, ID=2, NAME="two")
    replication.run()
    assert replication.stopped == []

    oracle_database.server.ddl("ALTER TABLE INV.T RENAME COLUMN NAME TO LATE")
    add(oracle_database, ID=3, LATE="three")
    replication.run()
    assert replication.stopped == ["INV.T"]
    assert len(lake.rows("INV", "T")) == 2
    replication.run(ambiguous_columns=choice)
    assert replication.stopped == []
    add(oracle_database, ID=4, LATE="four")
    replication.run()
    rows = {row["ID"]: row["LATE"] for row in lake.rows("INV", "T")}
    assert rows == {1: first, 2: first and "two", 3: "three", 4: "four"}
