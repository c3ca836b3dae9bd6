"""Several tables of the source that a transform routes into one replica."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.servers.mongodb import MongoDatabase
from tests.sinks.lake.readers import IN_TURN, LAKES
from tests.sinks.replicas.replication import Replication

pytestmark = [pytest.mark.spark]

of_every_format = pytest.mark.parametrize("replication", IN_TURN, indirect=True)
FIELD = "__dbz__physicalTableIdentifier"
ROUTER = {
    "transforms": "shards",
    "transforms.shards.type": "io.debezium.transforms.ByLogicalTableRouter",
    "transforms.shards.topic.regex": r"(.*)orders_\d",
    "transforms.shards.topic.replacement": "$1orders",
    "transforms.shards.key.field.regex": r".*(orders_\d)",
    "transforms.shards.key.field.replacement": "$1",
}


def begin(replication: Replication) -> None:
    """Two tables with rows of the same keys are one replica."""
    for shard in (1, 2):
        replication.database.execute(
            f"CREATE TABLE orders_{shard} (id int PRIMARY KEY, n int, large text);"
            f"ALTER TABLE orders_{shard} ALTER COLUMN large SET STORAGE EXTERNAL;"
            f"INSERT INTO orders_{shard} SELECT i, {shard} * 100 + i, repeat('{shard}', 9000) "
            "FROM generate_series(1, 10) i"
        )
    replication.run(ROUTER)


def stored(replication: Replication) -> list[tuple[object, ...]]:
    """The rows of both tables."""
    rows = replication.database.execute(
        " UNION ALL ".join(f"SELECT 'orders_{n}', id, n, large FROM orders_{n}" for n in (1, 2))
    )
    return sorted(rows)


def found(replication: Replication) -> list[tuple[object, ...]]:
    return replication.rows("orders", FIELD, "id", "n", "large")


@pytest.mark.postgres
@of_every_format
def test_rows_of_several_tables_stay_apart_by_the_field_that_the_router_adds_to_keys(
    replication: Replication,
) -> None:
    begin(replication)
    assert found(replication) == stored(replication)
    assert len(stored(replication)) == 20

    replication.database.execute(
        "UPDATE orders_1 SET n = -1 WHERE id = 3; UPDATE orders_2 SET n = -2 WHERE id = 3;"
        "DELETE FROM orders_1 WHERE id = 4; DELETE FROM orders_2 WHERE id = 5;"
        "UPDATE orders_2 SET id = 77 WHERE id = 6; INSERT INTO orders_1 VALUES (11, 1, NULL)"
    )
    replication.run(ROUTER)
    assert found(replication) == stored(replication)

    for shard in (1, 2):
        replication.database.execute(
            f"ALTER TABLE orders_{shard} ADD COLUMN late int DEFAULT 7;"
            f"UPDATE orders_{shard} SET late = {shard} WHERE id = 2"
        )
    replication.run(ROUTER)
    assert found(replication) == stored(replication)
    assert sorted(late for (late,) in replication.rows("orders", "late")) == [1, 2] + [7] * 17
    assert replication.stopped == []


@pytest.mark.postgres
@of_every_format
def test_a_truncate_of_one_of_several_tables_removes_no_row_and_stops_their_replica(
    replication: Replication,
) -> None:
    begin(replication)
    before = stored(replication)
    replication.database.execute("TRUNCATE orders_1; INSERT INTO orders_2 VALUES (12, 1, NULL)")
    replication.run(ROUTER)
    assert replication.stopped == ["public.orders"]
    assert found(replication) == before
    # Not by a start either: only a copy says which rows are left.
    replication.run(ROUTER)
    assert replication.stopped == ["public.orders"]
    assert found(replication) == before


@pytest.mark.mongodb
@pytest.mark.parametrize("name", IN_TURN)
def test_documents_of_several_collections_stay_apart(
    name: str, spark: SparkSession, mongo_database: MongoDatabase, tmp_path: Path
) -> None:
    shards = [mongo_database.collections[f"orders_{number}"] for number in (1, 2)]
    for shard in shards:
        shard.insert_many({"_id": number, "shard": shard.name} for number in (1, 2, 3))
    lake = LAKES[name](tmp_path / "lake")
    replication = Replication(spark, mongo_database, lake, tmp_path / "state")
    source = {**ROUTER, "headrace.sink.target.schema.*.orders": "_id INT, shard STRING, n INT"}
    replication.run(source)
    shards[0].update_one({"_id": 1}, {"$set": {"n": 5}})
    shards[1].delete_one({"_id": 2})
    replication.run(source)
    rows = replication.lake.rows(mongo_database.name, "orders")
    assert sorted((row[FIELD], row["_id"], row["shard"], row["n"]) for row in rows) == [
        ("orders_1", 1, "orders_1", 5),
        ("orders_1", 2, "orders_1", None),
        ("orders_1", 3, "orders_1", None),
        ("orders_2", 1, "orders_2", None),
        ("orders_2", 3, "orders_2", None),
    ]
