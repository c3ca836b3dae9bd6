"""Replicas when the tables of an Oracle change: they equal the source, or stop with an error and
are copied again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.servers.oracle import SCHEMA, OracleDatabase
from tests.sinks.lake.readers import LAKES, Row
from tests.sinks.replicas.evolving.following import EvolvingSource, following

pytestmark = [pytest.mark.oracle, pytest.mark.spark]

COLUMNS = ("ID NUMBER(9,0) NOT NULL", "NAME VARCHAR2(40)", "N NUMBER(4,0)", "PRICE NUMBER(8,2)")
NOT_TAKEN, OTHER = "replicas.column_not_taken", "replicas.table_replaced"


@dataclass(frozen=True)
class Change:
    """Statements of a table, the row that is inserted after them, and the code of the error that
    stops the table (empty: it goes on)."""

    statements: tuple[str, ...]
    stops: str = ""
    row: Mapping[str, object] = field(default_factory=dict)


CHANGES = {
    "ADDED": Change(("ALTER TABLE INV.ADDED ADD (MORE NUMBER(5))",), row={"MORE": 5}),
    "FILLED": Change(
        ("ALTER TABLE INV.FILLED ADD (MORE NUMBER(5) DEFAULT 7 NOT NULL)",), row={"MORE": 8}
    ),
    "DROPPED": Change(("ALTER TABLE INV.DROPPED DROP COLUMN N",)),
    "MOVED": Change(("ALTER TABLE INV.MOVED RENAME COLUMN NAME TO TITLE",), row={"TITLE": "new"}),
    "LAST": Change(
        ("ALTER TABLE INV.LAST RENAME COLUMN PRICE TO COST",), "replicas.column_ambiguous"
    ),
    "WIDER": Change(("ALTER TABLE INV.WIDER MODIFY (N NUMBER(9,0))",), row={"N": 123456789}),
    "DIGITS": Change(("ALTER TABLE INV.DIGITS MODIFY (PRICE NUMBER(12,2))",), row={"PRICE": "1.5"}),
    "SCALED": Change(("ALTER TABLE INV.SCALED MODIFY (PRICE NUMBER(12,4))",), NOT_TAKEN),
    "LONGER": Change(
        ("ALTER TABLE INV.LONGER MODIFY (NAME VARCHAR2(400))",), row={"NAME": "x" * 99}
    ),
    "KEYED": Change(
        (
            "ALTER TABLE INV.KEYED DROP PRIMARY KEY",
            "ALTER TABLE INV.KEYED ADD PRIMARY KEY (ID, N)",
        ),
        "replicas.key_changed",
        {"N": 1},
    ),
    "ADDED_AGAIN": Change(
        (
            "ALTER TABLE INV.ADDED_AGAIN DROP COLUMN N",
            "ALTER TABLE INV.ADDED_AGAIN ADD (N NUMBER(4,0))",
        ),
        "replicas.column_ambiguous",
    ),
    "EMPTIED": Change(("TRUNCATE TABLE INV.EMPTIED",)),
    "AGAIN": Change(
        (
            "DROP TABLE INV.AGAIN",
            f"CREATE TABLE INV.AGAIN ({', '.join(COLUMNS)}, PRIMARY KEY (ID))",
        ),
        OTHER,
    ),
}
"""Statements by table."""


class EvolvingOracle(EvolvingSource):
    """See EvolvingSource."""

    namespace, marks = SCHEMA, "MARKS"

    def __init__(self, database: OracleDatabase) -> None:
        self.database = database
        database.create_table("MARKS", "ID NUMBER(9,0) NOT NULL", key=["ID"])

    def properties(self) -> Mapping[str, str]:
        return self.database.properties()

    def mark(self, number: int) -> None:
        self.insert("MARKS", ID=number)

    def insert(self, table: str, **row: object) -> None:
        """A row, in a transaction of its own."""
        with self.database.transaction() as transaction:
            transaction.insert(f"{SCHEMA}.{table}", **row)

    def change_key(self, table: str) -> None:
        """Changes the key of one row; another one is deleted."""
        with self.database.transaction() as transaction:
            transaction.update(f"{SCHEMA}.{table}", {"ID": 2}, ID=20)
            transaction.delete(f"{SCHEMA}.{table}", ID=1)

    def marked(self, row: Row) -> int:
        return int(row["ID"])

    def full_name(self, table: str) -> str:
        return f"{SCHEMA}.{table}"

    def rows(self, table: str) -> list[Row]:
        return [dict(row) for row in self.database.server.rows(f"{SCHEMA}.{table}")]

    def shown(self, row: Row) -> Row:
        """Values as texts, as the stand-in keeps them."""
        return {name: _text(value) for name, value in row.items()}


def _text(value: object) -> str | None:
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return None if value is None else str(value)


@pytest.mark.chaos
@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_tables_that_change_are_equal_or_stop_and_are_copied_again(
    spark: SparkSession, oracle_database: OracleDatabase, tmp_path: Path, kind: str
) -> None:
    source = EvolvingOracle(oracle_database)
    for table in (*CHANGES, "FORMER", "GONE"):
        rows = [[i, f"name {i}", str(i), f"{i}.25"] for i in range(5)]
        oracle_database.create_table(table, *COLUMNS, key=["ID"], rows=rows)
    with following(spark, source, LAKES[kind](tmp_path / "lake"), tmp_path) as run:
        run.catch_up()
        run.assert_equal(*CHANGES, "FORMER", "GONE")
        for table, change in CHANGES.items():
            for statement in change.statements:
                oracle_database.server.ddl(statement)
            source.insert(table, ID=10, **change.row)
            if table not in ("EMPTIED", "AGAIN"):
                source.change_key(table)
        oracle_database.server.ddl("ALTER TABLE INV.FORMER RENAME TO LATER")
        source.insert("LATER", ID=10)
        oracle_database.server.ddl("DROP TABLE INV.GONE")
        columns = ", ".join(COLUMNS)
        oracle_database.server.ddl(f"CREATE TABLE INV.NEW ({columns}, PRIMARY KEY (ID))")
        source.insert("NEW", ID=1, NAME="new")
        run.catch_up()
        stopped = {table: change.stops for table, change in CHANGES.items() if change.stops}
        assert run.stopped() == stopped | {"LATER": "replicas.table_renamed"}
        run.assert_equal("NEW", *(table for table in CHANGES if table not in stopped))
        run.resync(*stopped, "LATER")
        source.insert("LATER", ID=11)
        run.catch_up()
        run.assert_equal("NEW", "LATER", *CHANGES)


@pytest.mark.chaos
def test_tables_that_took_a_name_while_the_query_was_stopped_are_not_taken_for_the_former_ones(
    spark: SparkSession, oracle_database: OracleDatabase, tmp_path: Path
) -> None:
    source, server = EvolvingOracle(oracle_database), oracle_database.server
    for table in ("AGAIN", "FORMER", "ONE", "TWO"):
        rows = [[i, f"name {i}", str(i), f"{i}.25"] for i in range(5)]
        oracle_database.create_table(table, *COLUMNS, key=["ID"], rows=rows)
    with following(spark, source, LAKES["iceberg"](tmp_path / "lake"), tmp_path) as run:
        run.catch_up()
        run.stop()
        for table in ("AGAIN", "FORMER", "ONE", "TWO"):
            source.insert(table, ID=9, NAME=table)
        server.ddl("DROP TABLE INV.AGAIN")
        server.ddl(f"CREATE TABLE INV.AGAIN ({', '.join(COLUMNS)}, PRIMARY KEY (ID))")
        server.ddl("ALTER TABLE INV.FORMER RENAME TO LATER")
        for before, after in (("ONE", "AWAY"), ("TWO", "ONE"), ("AWAY", "TWO")):
            server.ddl(f"ALTER TABLE INV.{before} RENAME TO {after}")
        for table in ("AGAIN", "LATER", "ONE", "TWO"):
            source.insert(table, ID=10)
        run.start()
        run.catch_up()
        stopped = run.stopped()
        assert stopped.pop("AGAIN") == "replicas.table_replaced"
        assert stopped.keys() == {"LATER", "ONE", "TWO"}
        assert set(stopped.values()) <= {"replicas.table_renamed", "replicas.table_replaced"}
        run.resync("AGAIN", "LATER", "ONE", "TWO")
        for table in ("AGAIN", "LATER", "ONE", "TWO"):
            source.insert(table, ID=11)
        run.catch_up()
        assert run.stopped() == {}
        run.assert_equal("AGAIN", "LATER", "ONE", "TWO")
