"""Replicas when the tables of a Db2 change and are registered again: they equal the source, or stop
with an error and are copied again."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace_demo.db2.control_tables import quoted
from tests.servers.db2 import SCHEMA, Db2Database
from tests.sinks.lake.readers import LAKES, Row
from tests.sinks.replicas.evolving.following import EvolvingSource, following

pytestmark = [pytest.mark.db2, pytest.mark.spark]

COLUMNS = (
    "ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(40), N INTEGER, PRICE DECIMAL(8,2), DAY DATE"
)
KEPT = ("ADDED", "FILLED", "DROPPED", "MOVED", "LONGER", "LATER")
STOPPED = {
    "TAIL": "replicas.column_ambiguous",
    "ADDED_AGAIN": "replicas.column_ambiguous",
    "KEYED": "replicas.key_changed",
}


class EvolvingDb2(EvolvingSource):
    """See EvolvingSource."""

    namespace, marks = SCHEMA, "MARKS"

    def __init__(self, database: Db2Database) -> None:
        self.database = database
        database.create_table("MARKS", "ID INTEGER NOT NULL PRIMARY KEY")

    def properties(self) -> Mapping[str, str]:
        return self.database.properties()

    def mark(self, number: int) -> None:
        self.database.execute(f"INSERT INTO {SCHEMA}.MARKS VALUES ({number})")

    def marked(self, row: Row) -> int:
        return int(row["ID"])

    def full_name(self, table: str) -> str:
        return f"{SCHEMA}.{table}"

    def rows(self, table: str) -> list[Row]:
        names = [
            name
            for (name,) in self.database.execute(
                "SELECT COLUMNNAME FROM SYS.SYSCOLUMNS C, SYS.SYSTABLES T "
                "WHERE C.REFERENCEID = T.TABLEID AND TABLENAME = ? ORDER BY COLUMNNUMBER",
                (table,),
            )
            if not name.startswith("IBMSNAP")
        ]
        rows = self.database.execute(f"SELECT {', '.join(names)} FROM {SCHEMA}.{table}")
        return [dict(zip(names, map(_plain, row), strict=True)) for row in rows]

    def shown(self, row: Row) -> Row:
        return {name: _plain(value) for name, value in row.items()}

    def fill(self, table: str, columns: str = COLUMNS) -> None:
        """A table that is registered, and gets rows."""
        self.database.create_table(table, columns)
        for number in range(5):
            self.database.execute(
                f"INSERT INTO {SCHEMA}.{table} VALUES ({number}, 'name {number}', {number}, "
                f"{number}.25, '2026-01-0{number + 1}')"
            )

    def alter(self, table: str, *clauses: str) -> None:
        """Alter a table together with its change table, as the guide says."""
        capture = self.database.capture
        capture.stop_capturing(f"CDC_{SCHEMA}_{table}")
        for clause in clauses:
            self.database.execute(f"ALTER TABLE {SCHEMA}.{table} {clause}")
            changes = quoted(capture.changes, f"CDC_{SCHEMA}_{table}")
            if "KEY" not in clause:
                self.database.execute(f"ALTER TABLE {changes} {clause}")
        capture.resume_capturing(SCHEMA, table)

    def rename(self, table: str, column: str, late: str) -> None:
        """Rename a column of a table and of its change table."""
        capture = self.database.capture
        capture.stop_capturing(f"CDC_{SCHEMA}_{table}")
        for each in (f"{SCHEMA}.{table}", quoted(capture.changes, f"CDC_{SCHEMA}_{table}")):
            self.database.execute(f"RENAME COLUMN {each}.{column} TO {late}")
        capture.resume_capturing(SCHEMA, table)

    def change(self, table: str) -> None:
        """A row comes, one changes, the key of one changes, and one goes."""
        name = f"{SCHEMA}.{table}"
        self.database.execute(f"INSERT INTO {name} (ID, N) VALUES (10, 10)")
        self.database.execute(f"UPDATE {name} SET N = 30 WHERE ID = 3")
        self.database.execute(f"UPDATE {name} SET ID = 20 WHERE ID = 2")
        self.database.execute(f"DELETE FROM {name} WHERE ID = 1")


def _plain(value: object) -> object:
    return value.normalize() if isinstance(value, Decimal) else value


@pytest.mark.chaos
@pytest.mark.parametrize("kind", ["iceberg", "delta"])
def test_tables_that_change_are_equal_or_stop_and_are_copied_again(
    spark: SparkSession, db2_database: Db2Database, tmp_path: Path, kind: str
) -> None:
    source = EvolvingDb2(db2_database)
    tables = [name for name in (*KEPT, *STOPPED, "GONE") if name != "LATER"]
    for table in tables:
        source.fill(table)
    with following(spark, source, LAKES[kind](tmp_path / "lake"), tmp_path) as run:
        run.catch_up()
        run.assert_equal(*tables)
        source.alter("ADDED", "ADD COLUMN MORE INTEGER")
        source.alter("FILLED", "ADD COLUMN MORE INTEGER NOT NULL DEFAULT 7")
        source.alter("DROPPED", "DROP COLUMN PRICE")
        source.rename("MOVED", "NAME", "TITLE")
        source.rename("TAIL", "DAY", "SINCE")
        source.alter("LONGER", "ALTER COLUMN NAME SET DATA TYPE VARCHAR(400)")
        source.alter("ADDED_AGAIN", "DROP COLUMN N", "ADD COLUMN N INTEGER")
        source.alter(
            "KEYED", "ALTER COLUMN N NOT NULL", "DROP PRIMARY KEY", "ADD PRIMARY KEY (ID, N)"
        )
        source.fill("LATER")
        for table in (*KEPT, *STOPPED):
            source.change(table)
        db2_database.capture.stop_capturing(f"CDC_{SCHEMA}_GONE")
        db2_database.execute(f"DROP TABLE {SCHEMA}.GONE")
        run.catch_up()
        assert run.stopped() == STOPPED
        run.assert_equal(*KEPT)
        run.resync(*STOPPED)
        db2_database.execute(f"UPDATE {SCHEMA}.TAIL SET SINCE = '2026-02-01' WHERE ID = 3")
        run.catch_up()
        run.assert_equal(*KEPT, *STOPPED)


@pytest.mark.chaos
def test_tables_that_are_registered_again_while_the_query_is_stopped_are_equal_or_copied_again(
    spark: SparkSession, db2_database: Db2Database, tmp_path: Path
) -> None:
    source, capture = EvolvingDb2(db2_database), db2_database.capture
    for table in ("ADDED", "WIDER", "AGAIN"):
        source.fill(table)
    with following(spark, source, LAKES["iceberg"](tmp_path / "lake"), tmp_path) as run:
        run.catch_up()
        run.stop()
        for table in ("ADDED", "WIDER", "AGAIN"):
            capture.remove_table(SCHEMA, table)
        db2_database.execute(f"ALTER TABLE {SCHEMA}.ADDED ADD COLUMN MORE INTEGER")
        # Derby gives no column another type, so what is the same table to Db2 is made again.
        wider_rows = source.rows("WIDER")
        for table, number in (("WIDER", "BIGINT"), ("AGAIN", "INTEGER")):
            db2_database.execute(f"DROP TABLE {SCHEMA}.{table}")
            columns = COLUMNS.replace("N INTEGER", f"N {number}")
            db2_database.execute(f"CREATE TABLE {SCHEMA}.{table} ({columns})")
        for row in wider_rows:
            marks = ", ".join("?" * len(row))
            db2_database.execute(f"INSERT INTO {SCHEMA}.WIDER VALUES ({marks})", [*row.values()])
        db2_database.execute(f"INSERT INTO {SCHEMA}.AGAIN (ID, N) VALUES (7, 7)")
        for table in ("ADDED", "WIDER", "AGAIN"):
            capture.add_table(SCHEMA, table)
        capture.await_captured()
        source.change("ADDED")
        source.change("WIDER")
        run.start()
        error = run.error()
        assert error.code == "db2.changes_pruned"
        assert "headrace resync" in error.remedy
        run.start(headrace_change_tables_gap="accept")
        db2_database.execute(f"UPDATE {SCHEMA}.WIDER SET N = {1 << 40} WHERE ID = 4")
        db2_database.execute(f"INSERT INTO {SCHEMA}.AGAIN (ID, N) VALUES (8, 8)")
        run.catch_up()
        run.assert_equal("ADDED", "WIDER")
        assert run.stopped() == {}
        # Only who accepted the gap knows that these rows are other ones.
        assert run.replica("AGAIN") != source.rows("AGAIN")
        run.resync("AGAIN")
        run.assert_equal("ADDED", "WIDER", "AGAIN")
