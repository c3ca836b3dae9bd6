"""Replicas of documents, of an Oracle and of a Db2 are compared with their source."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.spark.sinks.comparison import ComparedTable, DifferenceKind
from tests.servers.db2 import Db2Database
from tests.servers.mongodb import MongoDatabase
from tests.servers.oracle import OracleDatabase
from tests.sinks.lake.readers import IN_TURN, LAKES
from tests.sinks.replicas.replication import Replication
from tests.sinks.replicas.verifying.comparing import compare, running, writing


def replication_of(kind: str, spark: SparkSession, database: object, folder: Path) -> Replication:
    return Replication(spark, database, LAKES[kind](folder / "lake"), folder / "state")  # type: ignore[arg-type]


def kinds_of(table: ComparedTable) -> dict[str, DifferenceKind]:
    (name, *_) = table.differences[0].key
    return {each.key[name]: each.kind for each in table.differences}


@pytest.mark.mongodb
@pytest.mark.spark
@pytest.mark.parametrize("kind", IN_TURN)
def test_documents(
    kind: str, spark: SparkSession, ticking_database: MongoDatabase, tmp_path: Path
) -> None:
    orders = ticking_database.collections["orders"]
    orders.insert_many({"_id": number, "name": f"é {number}"} for number in range(1, 200))
    declared = ticking_database.collections["declared"]
    declared.insert_many({"_id": number, "name": f"é {number}"} for number in range(1, 20))
    replication = replication_of(kind, spark, ticking_database, tmp_path)
    source = {"headrace.sink.target.schema.*.declared": "_id BIGINT, name STRING"}
    replication.run(source)
    name = f"{ticking_database.name}."
    assert [table.is_equal for table in compare(replication, source).values()] == [True, True]
    with writing(replication, "orders", ticking_database.name) as replica:
        replica.lose("3")
        replica.change("4", document="{}")
        replica.change("5", _id="1000")
    with writing(replication, "declared", ticking_database.name) as replica:
        replica.change(6, name=None)
    orders.update_one({"_id": 7}, {"$set": {"name": "later"}})
    with running(replication, source):
        compared = compare(replication, source)
    table = compared[f"{name}orders"]
    assert kinds_of(table) == {
        "'3'": DifferenceKind.MISSING,
        "'4'": DifferenceKind.DIFFERENT,
        "'5'": DifferenceKind.MISSING,
        "'1000'": DifferenceKind.SURPLUS,
    }
    assert [repair.condition for repair in table.repairs] == [None]
    assert kinds_of(compared[f"{name}declared"]) == {"6": DifferenceKind.DIFFERENT}


@pytest.mark.oracle
@pytest.mark.spark
@pytest.mark.parametrize("kind", IN_TURN)
def test_rows_of_an_oracle(
    kind: str, spark: SparkSession, oracle_database: OracleDatabase, tmp_path: Path
) -> None:
    columns = ("ID NUMBER(9,0) NOT NULL", "NAME VARCHAR2(40)", "PRICE NUMBER(8,2)")
    rows = [[i, f"name {i}", f"{i}.25"] for i in range(50)]
    oracle_database.create_table("A", *columns, key=["ID"], rows=rows)
    replication = replication_of(kind, spark, oracle_database, tmp_path)
    replication.run()
    assert compare(replication)["INV.A"].is_equal
    with writing(replication, "A", "INV") as a:
        a.lose(3)
        a.change(4, PRICE=None)
        a.double(5)
    with oracle_database.transaction() as transaction:
        transaction.update("INV.A", {"ID": 6}, NAME="later")
    with running(replication):
        table = compare(replication)["INV.A"]
    assert kinds_of(table) == {
        "3": DifferenceKind.MISSING,
        "4": DifferenceKind.DIFFERENT,
        "5": DifferenceKind.REPEATED,
    }
    assert table.rows == 50
    assert table.position.startswith("SCN ")


@pytest.mark.db2
@pytest.mark.spark
@pytest.mark.parametrize("kind", IN_TURN)
def test_rows_of_a_db2(
    kind: str, spark: SparkSession, db2_database: Db2Database, tmp_path: Path
) -> None:
    db2_database.create_table("A", "ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(40), DAY DATE")
    for number in range(20):
        db2_database.execute(
            f"INSERT INTO INV.A VALUES ({number}, 'name {number}', '2026-01-0{number % 9 + 1}')"
        )
    replication = replication_of(kind, spark, db2_database, tmp_path)
    replication.run()
    assert compare(replication)["INV.A"].is_equal
    with writing(replication, "A", "INV") as a:
        a.lose(3)
        a.change(4, NAME="other")
        a.change(5, ID=-5)
    db2_database.execute("UPDATE INV.A SET NAME = 'later' WHERE ID = 6")
    with running(replication):
        table = compare(replication)["INV.A"]
    assert kinds_of(table) == {
        "3": DifferenceKind.MISSING,
        "4": DifferenceKind.DIFFERENT,
        "5": DifferenceKind.MISSING,
        "-5": DifferenceKind.SURPLUS,
    }


def test_a_connector_that_reads_no_rows_beside_its_stream_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from headrace.connectors.registry import current_rows, definition_of

    config = parse_configuration(
        {
            "connector.class": "postgresql",
            "topic.prefix": "shop",
            "database.hostname": "localhost",
            "database.user": "u",
            "database.dbname": "d",
        }
    )
    monkeypatch.setattr(type(definition_of(config)), "rows_function", "")
    with pytest.raises(HeadraceError) as caught:
        current_rows(config)
    assert caught.value.code == "connectors.no_current_rows"
