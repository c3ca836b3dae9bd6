"""Deleted rows that a replica keeps, and what becomes of them when the option changes."""

from __future__ import annotations

import pytest

from tests.sinks.lake.readers import IN_TURN
from tests.sinks.replicas.replication import Replication

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

of_every_format = pytest.mark.parametrize("replication", IN_TURN, indirect=True)


def begin(replication: Replication, deletes: str) -> None:
    """Two tables with rows are replicated."""
    for table in ("a", "b"):
        replication.database.execute(
            f"CREATE TABLE {table} (id int PRIMARY KEY, n int);"
            f"INSERT INTO {table} SELECT i, i FROM generate_series(1, 10) i"
        )
    replication.run(deletes=deletes)


def columns(replication: Replication, table: str) -> list[str]:
    return list(replication.lake.table("public", table).column_names)


@of_every_format
def test_rows_that_are_there_when_deletes_become_soft_are_marked_as_not_deleted(
    replication: Replication,
) -> None:
    begin(replication, "hard")
    replication.database.execute("DELETE FROM a WHERE id = 1")
    replication.run(deletes="hard")
    replication.database.execute("UPDATE a SET n = 0 WHERE id = 3; DELETE FROM a WHERE id = 4")
    replication.run(deletes="soft")
    assert replication.rows("a", "id", "n", "__deleted") == [
        (number, 0 if number == 3 else number, number == 4) for number in range(2, 11)
    ]
    # A table without a change has the column with the same micro-batch.
    assert replication.rows("b", "id", "__deleted") == [(n, False) for n in range(1, 11)]
    replication.database.execute("ALTER TABLE b ADD COLUMN late int DEFAULT 7; DELETE FROM b")
    replication.run(deletes="soft")
    assert replication.rows("b", "id", "late", "__deleted") == [
        (number, 7, True) for number in range(1, 11)
    ]
    assert replication.stopped == []


@of_every_format
def test_rows_that_are_marked_as_deleted_leave_the_table_when_deletes_become_hard(
    replication: Replication,
) -> None:
    begin(replication, "soft")
    replication.database.execute("DELETE FROM a WHERE id < 6; DELETE FROM b")
    replication.run(deletes="soft")
    assert len(replication.rows("a", "id")) == len(replication.rows("b", "id")) == 10
    replication.database.execute("INSERT INTO a VALUES (2, 2)")
    replication.run(deletes="soft")
    assert sorted(id_ for id_, gone in replication.rows("a", "id", "__deleted") if gone) == [
        1, 3, 4, 5,
    ]  # fmt: skip

    replication.database.execute("DELETE FROM a WHERE id = 7")
    replication.run(deletes="hard")
    replication.assert_equal("a", "id", "n")
    assert columns(replication, "a") == columns(replication, "b") == ["id", "n"]
    assert replication.rows("b", "id") == []

    replication.database.execute("DELETE FROM a WHERE id = 8; INSERT INTO b VALUES (1, 1)")
    replication.run(deletes="soft")
    assert replication.rows("a", "id", "__deleted") == [(2, False), (6, False), (8, True)] + [
        (number, False) for number in (9, 10)
    ]
    assert replication.rows("b", "id", "n", "__deleted") == [(1, 1, False)]
    assert replication.stopped == []


@of_every_format
def test_a_column_of_that_name_that_the_source_has_removes_no_rows(
    replication: Replication,
) -> None:
    replication.database.execute(
        "CREATE TABLE a (id int PRIMARY KEY, __deleted bool, n int);"
        "INSERT INTO a SELECT i, i < 3, i FROM generate_series(1, 5) i"
    )
    replication.run(deletes="hard")
    replication.assert_equal("a", "id", "__deleted", "n")
    replication.database.execute("UPDATE a SET n = 0 WHERE id = 5")
    replication.run(deletes="hard")
    replication.assert_equal("a", "id", "__deleted", "n")
    replication.database.execute("ALTER TABLE a DROP COLUMN __deleted; DELETE FROM a WHERE id = 4")
    replication.run(deletes="hard")
    replication.assert_equal("a", "id", "n")
    assert len(replication.rows("a", "id")) == 4
