"""Comments of the source's tables and columns in replicas."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable as DeltaReader
from pyspark.sql import SparkSession

from headrace.errors import HeadraceError
from headrace.sinks.replicas.comments import SourceComments
from headrace.sinks.replicas.lake import TableSchema
from tests.servers.oracle import OracleDatabase
from tests.sinks.lake.readers import IN_TURN, DeltaLake, IcebergLake, ReadLake
from tests.sinks.replicas.replication import Replication

Comments = tuple[str | None, dict[str, str | None]]


def comments(lake: ReadLake, namespace: str, name: str) -> Comments:
    """Comments of a table and of its columns, as a reader finds them."""
    if isinstance(lake, IcebergLake):
        table = lake.catalog.load_table((namespace, name))
        return table.properties.get("comment"), {
            field.name: field.doc for field in table.schema().fields
        }
    assert isinstance(lake, DeltaLake)
    table = DeltaReader(lake.path(namespace, name))
    return table.metadata().configuration.get("comment"), {
        field.name: field.metadata.get("comment") for field in table.schema().fields
    }


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.parametrize("replication", IN_TURN, indirect=True)
def test_comments_of_tables_and_columns_are_there_and_follow_those_of_the_source(
    replication: Replication,
) -> None:
    database, lake = replication.database, replication.lake
    database.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, total numeric(10,2), note text);"
        "COMMENT ON TABLE orders IS 'what was ordered';"
        "COMMENT ON COLUMN orders.total IS 'with taxes';"
        "CREATE TABLE plain (id int PRIMARY KEY)"
    )
    replication.run()
    assert comments(lake, "public", "orders") == (
        "what was ordered",
        {"id": None, "total": "with taxes", "note": None},
    )
    assert comments(lake, "public", "plain") == (None, {"id": None})

    database.execute(
        "COMMENT ON TABLE orders IS 'it''s \u00e9'; COMMENT ON TABLE plain IS 'of numbers';"
        "COMMENT ON COLUMN orders.total IS NULL; COMMENT ON COLUMN orders.note IS 'by the buyer';"
        "INSERT INTO orders VALUES (1, 2, 'x'); INSERT INTO plain VALUES (1);"
        "CREATE TABLE later (id int PRIMARY KEY); COMMENT ON TABLE later IS 'a new one'"
    )
    replication.run()
    assert comments(lake, "public", "orders") == (
        "it's \u00e9",
        {"id": None, "total": None, "note": "by the buyer"},
    )
    assert comments(lake, "public", "plain") == ("of numbers", {"id": None})
    assert comments(lake, "public", "later") == ("a new one", {"id": None})

    # A comment alone makes no commit, and the next change of a row brings it.
    database.execute("COMMENT ON TABLE orders IS NULL")
    before = lake.version("public", "orders")
    replication.run()
    assert lake.version("public", "orders") == before
    database.execute("INSERT INTO orders VALUES (2, 3, 'y')")
    replication.run()
    assert comments(lake, "public", "orders")[0] is None
    assert replication.rows("orders", "id") == [(1,), (2,)]


@pytest.mark.oracle
@pytest.mark.spark
def test_comments_of_oracles_tables_and_columns_are_there(
    spark: SparkSession, oracle_database: OracleDatabase, tmp_path: Path
) -> None:
    oracle_database.create_table(
        "T", "ID NUMBER(9,0) NOT NULL COMMENT 'the key'", key=["ID"], comment="all"
    )
    oracle_database.create_table("U", "ID NUMBER(9,0) NOT NULL", key=["ID"])
    lake = IcebergLake(tmp_path / "lake")
    database: Any = oracle_database
    Replication(spark, database, lake, tmp_path / "state").run()
    assert comments(lake, "INV", "T") == ("all", {"ID": "the key"})
    assert comments(lake, "INV", "U") == (None, {"ID": None})


def test_a_table_that_comes_later_is_asked_for_once_and_no_change_waits_for_its_comment() -> None:
    calls: list[int] = []
    answers: list[dict[str, str] | HeadraceError] = [
        {"s.t": "of t"},
        {"s.t": "of t", "s.u": "of u"},
        HeadraceError("x.y", "the database is away", "Wait."),
    ]

    def ask() -> dict[str, str]:
        answer = answers[len(calls)]
        calls.append(1)
        if isinstance(answer, HeadraceError):
            raise answer
        return answer

    known = SourceComments(ask)
    assert known.added_to(TableSchema((), (), source="s.t")).comment is None
    known.read()
    for name, comment in (("t", "of t"), ("u", "of u"), ("u", "of u"), ("v", None), ("v", None)):
        assert known.added_to(TableSchema((), (), source=f"s.{name}")).comment == comment
    assert len(calls) == 3
    commented_schema = TableSchema((), (), "its own", source="s.t")
    assert known.added_to(commented_schema) == commented_schema


def test_a_database_without_comments_is_asked_once() -> None:
    calls: list[int] = []
    known = SourceComments(lambda: calls.append(1))
    known.read()
    assert known.added_to(TableSchema((), (), source="s.t")).comment is None
    assert len(calls) == 1


def test_a_table_does_not_wait_while_the_comment_of_another_one_is_asked_for() -> None:
    asks, answers = threading.Event(), threading.Event()

    def ask() -> dict[str, str]:
        if threading.current_thread() is not threading.main_thread():
            asks.set()
            assert answers.wait(30)
        return {"s.t": "of t"}

    known = SourceComments(ask)
    known.read()
    later = threading.Thread(target=known.added_to, args=(TableSchema((), (), source="s.u"),))
    later.start()
    try:
        assert asks.wait(30)
        first_comments = list[str | None]()
        first = TableSchema((), (), source="s.t")
        other = threading.Thread(
            target=lambda: first_comments.append(known.added_to(first).comment)
        )
        other.start()
        other.join(5)
        assert first_comments == ["of t"]
    finally:
        answers.set()
        later.join()
