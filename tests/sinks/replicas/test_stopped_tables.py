"""A table that cannot take its changes stops alone, keeps them, and takes them later."""

from __future__ import annotations

import json

import pytest

from tests.sinks.lake.readers import IN_TURN
from tests.sinks.replicas.replication import Replication

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

of_every_format = pytest.mark.parametrize("replication", IN_TURN, indirect=True)


def begin(replication: Replication) -> None:
    """Two tables with rows are replicated."""
    for table in ("a", "b"):
        replication.database.execute(
            f"CREATE TABLE {table} (id int PRIMARY KEY, n int, late text);"
            f"INSERT INTO {table} SELECT i, i, 'x' FROM generate_series(1, 10) i"
        )
    replication.run()
    assert replication.stopped == []


def change(replication: Replication) -> None:
    """Both tables change."""
    for table in ("a", "b"):
        replication.database.execute(
            f"UPDATE {table} SET n = NULL WHERE id = 3; DELETE FROM {table} WHERE id = 4;"
            f"INSERT INTO {table} (id) SELECT coalesce(max(id), 0) + 1 FROM {table}"
        )


@of_every_format
def test_columns_that_are_dropped_added_and_renamed_at_once_are_distinguished(
    replication: Replication,
) -> None:
    begin(replication)
    replication.database.execute(
        "ALTER TABLE a DROP COLUMN late, ADD COLUMN later text DEFAULT 'y';"
        "ALTER TABLE b RENAME COLUMN late TO later;"
        "ALTER TABLE b DROP COLUMN n, ADD COLUMN n int DEFAULT 9"
    )
    for _ in range(2):
        change(replication)
        replication.run()
        assert replication.stopped == []
        replication.assert_equal("a", "id", "n", "later")
        replication.assert_equal("b", "id", "n", "later")
    replication.database.execute(
        "ALTER TABLE a RENAME COLUMN later TO temp; ALTER TABLE a RENAME COLUMN n TO later;"
        "ALTER TABLE a RENAME COLUMN temp TO n; UPDATE a SET later = 5 WHERE id = 5"
    )
    replication.run()
    replication.assert_equal("a", "id", "n", "later")


@of_every_format
def test_a_value_that_its_column_cannot_hold_stops_the_table_and_its_changes_are_left_out(
    replication: Replication,
) -> None:
    begin(replication)
    for table in ("a", "b"):
        replication.database.execute(
            f"ALTER TABLE {table} ADD COLUMN price numeric(10, 2) NOT NULL DEFAULT 1.5"
        )
    change(replication)
    replication.run()
    replication.database.execute("UPDATE a SET price = 'NaN' WHERE id = 5")
    assert replication.error(errors="fail").code == "replicas.value_not_taken"
    for _ in range(2):
        change(replication)
        replication.run()
        assert replication.stopped == ["public.a"]
        replication.assert_equal("b", "id", "n", "late", "price")


@of_every_format
def test_a_type_that_the_column_cannot_become_stops_the_table_and_the_bound_ends_the_query(
    replication: Replication,
) -> None:
    begin(replication)
    replication.database.execute("ALTER TABLE a ALTER COLUMN n TYPE text")
    change(replication)
    replication.run()
    assert replication.stopped == ["public.a"]
    replication.assert_equal("b", "id", "n", "late")
    change(replication)
    error = replication.error(kept_max_bytes="100")
    assert error.code == "replicas.kept_too_much", error
    assert "public.a" in error.message
    assert "headrace.sink.kept.max.bytes" in error.remedy
    # Nothing is lost: with more room the micro-batch comes again.
    replication.run()
    assert replication.stopped == ["public.a"]
    replication.assert_equal("b", "id", "n", "late")


@of_every_format
def test_a_truncate_that_is_refused_stops_the_table_until_it_is_allowed(
    replication: Replication,
) -> None:
    begin(replication)
    replication.database.execute("TRUNCATE a; INSERT INTO a VALUES (7, 7, 'z')")
    change(replication)
    replication.run(truncates="fail")
    assert replication.stopped == ["public.a"]
    replication.assert_equal("b", "id", "n", "late")
    assert len(replication.rows("a", "id")) == 10
    replication.run(truncates="apply")
    assert replication.stopped == []
    replication.assert_equal("a", "id", "n", "late")


@of_every_format
def test_an_error_of_a_table_ends_the_query_where_that_is_wanted(replication: Replication) -> None:
    begin(replication)
    replication.database.execute("TRUNCATE a")
    change(replication)
    error = replication.error(truncates="fail", errors="fail")
    assert error.code == "replicas.truncated", error
    assert replication.stopped == []
    replication.run()
    for table in ("a", "b"):
        replication.assert_equal(table, "id", "n", "late")


@pytest.mark.parametrize("replication", ["delta"], indirect=True)
def test_a_table_without_a_key_that_comes_later_stops_alone_and_is_refused_at_the_beginning(
    replication: Replication,
) -> None:
    begin(replication)
    replication.database.execute("CREATE TABLE c (n int); INSERT INTO c VALUES (1)")
    change(replication)
    replication.run()
    assert replication.stopped == ["public.c"]
    for table in ("a", "b"):
        replication.assert_equal(table, "id", "n", "late")
    assert replication.copy("second").error(existing="replace").code == "replicas.no_key"


@pytest.mark.parametrize("replication", ["delta"], indirect=True)
def test_a_table_whose_rows_can_exchange_keys_stops_until_it_is_copied_again(
    replication: Replication,
) -> None:
    begin(replication)
    replication.database.execute(
        "ALTER TABLE a DROP CONSTRAINT a_pkey, ADD PRIMARY KEY (id) DEFERRABLE,"
        "REPLICA IDENTITY FULL;"
        "UPDATE a SET id = CASE id WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE id END;"
        "CREATE TABLE c (n int UNIQUE, v int); ALTER TABLE c REPLICA IDENTITY FULL;"
        "INSERT INTO c VALUES (NULL, 1), (NULL, 2)"
    )
    for _ in range(2):
        replication.run()
        assert replication.stopped == ["public.a", "public.c"]
        replication.database.execute("UPDATE a SET n = 5 WHERE id = 1; UPDATE b SET n = 5")
    for path in (replication.state / replication.lake.name / "stopped").glob("*/*"):
        assert path.name == "error.json"  # no change is kept
        assert json.loads(path.read_text())["code"] == "replicas.no_key"
    replication.run()
    replication.assert_equal("b", "id", "n", "late")
    assert replication.copy("second").error(existing="replace").code == "replicas.no_key"


@of_every_format
def test_a_table_that_no_replica_can_be_of_stops_alone_and_is_refused_at_the_beginning(
    replication: Replication,
) -> None:
    begin(replication)
    replication.database.execute(
        """ALTER TABLE a ADD "N" int; CREATE TABLE ".." (id int PRIMARY KEY);"""
        """CREATE TABLE "c/d" (id int PRIMARY KEY); INSERT INTO ".." VALUES (1);"""
        """INSERT INTO "c/d" VALUES (1)"""
    )
    for number in range(2):
        change(replication)
        replication.database.execute("""INSERT INTO ".." VALUES (%s)""", (number + 2,))
        replication.run()
        assert replication.stopped == ["public.a", "public__."]
        replication.assert_equal("b", "id", "n", "late")
        assert replication.rows("c_d", "id") == [(1,)]
    errors = {}
    for path in (replication.state / replication.lake.name / "stopped").glob("*/*"):
        assert path.name == "error.json"  # no change is kept
        error = json.loads(path.read_text())
        errors[error["code"]] = error["message"]
    assert set(errors) == {"replicas.columns_alike", "replicas.table_name_not_taken"}
    assert "the columns n and N of" in errors["replicas.columns_alike"]
    assert "The replica of public...: The table public__. cannot be" in str(errors)
    assert replication.copy("second").error(existing="replace").code in errors
