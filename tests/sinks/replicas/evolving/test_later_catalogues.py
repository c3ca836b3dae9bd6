"""Replicas of PostgreSQL's tables whose columns had changed again before headrace read a change of
them: they equal the source, or stop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.servers.postgresql import Database
from tests.sinks.lake.readers import IcebergLake
from tests.sinks.replicas.replication import Replication

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

UNKNOWN = "replicas.default_unknown"
AMBIGUOUS = "replicas.column_ambiguous"


def autocommitted(database: Database, *statements: str) -> None:
    with database.connect() as connection:
        for statement in statements:
            connection.execute(statement.encode())


class Tables:
    """Tables t of (id, a, b) with three rows, whose statements are run between two runs. A text of
    several statements is one transaction."""

    def __init__(self, spark: SparkSession, database: Database, folder: Path) -> None:
        self.database = database
        self.lake = IcebergLake(folder / "lake")
        self.replication = Replication(spark, database, self.lake, folder / "state")
        self.columns: dict[str, tuple[str, ...]] = {}

    def run(self, **statements: tuple[str, ...]) -> None:
        for table, each in statements.items():
            autocommitted(self.database, *(text.replace("{0}", table) for text in each))
        self.replication.run()

    def add(self, *tables: str, before: str = "") -> None:
        for table in tables:
            self.database.execute(
                f"CREATE TABLE {table} (id int PRIMARY KEY, a int, b int); "
                f"INSERT INTO {table} SELECT i, i, i * 10 FROM generate_series(1, 3) i; "
            )
            if before:
                autocommitted(self.database, before.replace("{0}", table))

    def codes(self) -> dict[str, str]:
        """Codes of the stopped tables, and `different` for one that differs from its source."""
        code_by_table = {
            json.loads(path.read_text())["name"]: json.loads(path.read_text())["code"]
            for path in self.replication.state.rglob("stopped/*/error.json")
        }
        for (table,) in self.database.execute(
            "SELECT relname::text FROM pg_class WHERE relkind = 'r' "
            "AND relnamespace = 'public'::regnamespace"
        ):
            if table not in code_by_table:
                rows = {
                    tuple(sorted(row.items(), key=str)) for row in self.lake.rows("public", table)
                }
                source_rows = {
                    tuple(sorted(row.items(), key=str))
                    for (row,) in self.database.execute(f"SELECT to_jsonb(t) FROM {table} t")
                }
                if rows != source_rows:
                    code_by_table[table] = f"different: {rows ^ source_rows}"
        return code_by_table


@pytest.fixture
def tables(spark: SparkSession, database: Database, tmp_path: Path) -> Tables:
    return Tables(spark, database, tmp_path)


def test_a_column_of_another_type_with_the_name_of_a_dropped_one_stops_only_its_table(
    tables: Tables,
) -> None:
    tables.add("t", "other")
    tables.run()
    tables.run(
        t=(
            "ALTER TABLE {0} ADD c int DEFAULT 7",
            "INSERT INTO {0} VALUES (4, 4, 4, 4)",
            "ALTER TABLE {0} DROP c",
            "ALTER TABLE {0} ADD c text DEFAULT 'again'",
            "INSERT INTO {0} VALUES (5, 5, 5, 'z')",
        ),
        other=("INSERT INTO {0} VALUES (4, 4, 4)",),
    )
    assert tables.codes() == {"t": UNKNOWN}


def test_older_rows_get_the_value_of_a_column_whose_default_is_gone_or_the_table_stops(
    tables: Tables,
) -> None:
    insert = "INSERT INTO {0} VALUES (4, 4, 4, 4)"
    stopped: dict[str, tuple[str, ...]] = {
        "random": ("ALTER TABLE {0} ADD c float8 DEFAULT random()", "ALTER {0} c DROP DEFAULT"),
        "random_at_once": (
            "ALTER TABLE {0} ADD c float8 DEFAULT random(); "
            "ALTER TABLE {0} ALTER c DROP DEFAULT; " + insert,
        ),
        "serial": ("ALTER TABLE {0} ADD c serial", "ALTER {0} c DROP DEFAULT"),
        "identity": (
            "ALTER TABLE {0} ADD c int GENERATED ALWAYS AS IDENTITY",
            "ALTER {0} c DROP IDENTITY",
        ),
        "vacuumed": (
            "ALTER TABLE {0} ADD c int DEFAULT 5",
            "VACUUM FULL {0}",
            "ALTER {0} c DROP DEFAULT",
        ),
        "rewritten": (
            "ALTER TABLE {0} ADD c int NOT NULL DEFAULT 5",
            "ALTER {0} a TYPE bigint",
            "ALTER {0} c DROP DEFAULT",
        ),
        "rewritten_later": (
            "ALTER TABLE {0} ADD c int NOT NULL DEFAULT 5",
            insert.replace("(4", "(6"),
            "ALTER {0} a TYPE bigint",
            "ALTER {0} c DROP DEFAULT",
        ),
        "computed": (
            "ALTER TABLE {0} ADD c int GENERATED ALWAYS AS (a * 2) STORED",
            "UPDATE {0} SET a = 9 WHERE id = 1",
            "ALTER {0} c DROP EXPRESSION",
        ),
    }
    equal: dict[str, tuple[str, ...]] = {
        "plain": ("ALTER TABLE {0} ADD c int",),
        "constant": ("ALTER TABLE {0} ADD c int DEFAULT 5",),
        "constant_gone": ("ALTER TABLE {0} ADD c int DEFAULT 5", "ALTER {0} c DROP DEFAULT"),
        "filled": ("ALTER TABLE {0} ADD c int; UPDATE {0} SET c = id",),
        "filled_later": ("ALTER TABLE {0} ADD c int", "UPDATE {0} SET c = id"),
        "required": (
            "ALTER TABLE {0} ADD c int",
            "UPDATE {0} SET c = id",
            "ALTER {0} c SET NOT NULL",
        ),
    }
    vacuumed = {
        "vacuumed_plain": equal["plain"],
        "vacuumed_constant": equal["constant"],
        "vacuumed_later": ("UPDATE {0} SET a = 8", *equal["filled_later"]),
    }
    tables.add(*stopped, *equal)
    tables.add(*vacuumed, before="VACUUM FULL {0}")
    tables.run()
    statements = {
        name: (
            *(text.replace("ALTER {0}", "ALTER TABLE {0} ALTER") for text in each),
            *(() if "INSERT" in each[-1] else (insert,)),
        )
        for name, each in (stopped | equal | vacuumed).items()
    }
    tables.run(**statements)
    assert tables.codes() == dict.fromkeys(stopped, UNKNOWN)


def test_a_column_that_was_left_out_before_stops_its_table(tables: Tables) -> None:
    tables.add("t")
    tables.replication.run({"column.exclude.list": "public.t.b"})
    tables.run(t=("INSERT INTO {0} VALUES (4, 4, 4)",))
    assert tables.codes() == {"t": UNKNOWN}


def test_columns_that_change_in_one_transaction_or_before_they_are_read_are_distinguished(
    tables: Tables,
) -> None:
    exchange = (
        "ALTER TABLE {0} RENAME a TO x; ALTER TABLE {0} RENAME b TO a; "
        "ALTER TABLE {0} RENAME x TO b; "
    )
    insert = "INSERT INTO {0} VALUES (9, 9, 9)"
    changes: dict[str, tuple[str, ...]] = {
        "migrated": (
            "ALTER TABLE {0} ADD n bigint; UPDATE {0} SET n = a * 100; ALTER TABLE {0} DROP a; "
            "ALTER TABLE {0} RENAME n TO a",
            insert,
        ),
        "migrated_later": (
            "ALTER TABLE {0} ADD n bigint",
            "UPDATE {0} SET n = a * 100",
            "ALTER TABLE {0} DROP a",
            "ALTER TABLE {0} RENAME n TO a",
            insert,
        ),
        "exchanged": (
            "UPDATE {0} SET a = 77 WHERE id = 1; " + exchange + "UPDATE {0} SET a = 78 "
            "WHERE id = 2; INSERT INTO {0} VALUES (9, 9, 99)",
        ),
        "exchanged_later": (
            "UPDATE {0} SET a = 77 WHERE id = 1",
            *exchange.strip().split("; "),
            "UPDATE {0} SET a = 78 WHERE id = 2",
        ),
        "renamed": ("UPDATE {0} SET a = 77 WHERE id = 1; ALTER TABLE {0} RENAME b TO c", insert),
        "renamed_later": (insert, "ALTER TABLE {0} RENAME b TO c", "UPDATE {0} SET c = 5"),
        "replaced_later": (
            insert,
            "ALTER TABLE {0} DROP b, ADD c int DEFAULT 5",
            "UPDATE {0} SET a = 5 WHERE id = 1",
        ),
        "dropped_later": (insert, "ALTER TABLE {0} DROP a", "UPDATE {0} SET b = 5"),
        "again": (
            "ALTER TABLE {0} ADD c int DEFAULT 7; UPDATE {0} SET c = 8 WHERE id = 1; "
            "ALTER TABLE {0} DROP c; ALTER TABLE {0} ADD c int DEFAULT 9",
        ),
        "another_default": (
            "ALTER TABLE {0} ADD c int DEFAULT 7",
            "INSERT INTO {0} VALUES (4, 4, 4, 4)",
            "ALTER TABLE {0} RENAME c TO d",
            "ALTER TABLE {0} ADD c int DEFAULT 8",
            "INSERT INTO {0} VALUES (5, 5, 5, 5, 55)",
        ),
        "added_again_later": (
            insert,
            "ALTER TABLE {0} DROP b",
            "ALTER TABLE {0} ADD b int",
            "UPDATE {0} SET b = 5 WHERE id = 1",
        ),
        "dropped_again": (
            "ALTER TABLE {0} ADD c int DEFAULT 7",
            "UPDATE {0} SET a = 5 WHERE id = 1",
            "ALTER TABLE {0} DROP c",
        ),
    }
    tables.add(*changes)
    tables.run()
    tables.run(**changes)
    assert tables.codes() == {"again": AMBIGUOUS, "dropped_again": UNKNOWN}
