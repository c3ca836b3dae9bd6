"""`headrace verify` finds what is wrong in a replica, and nothing else."""

from __future__ import annotations

import random

import pytest

from headrace.spark.sinks.comparison import DifferenceKind
from tests.sinks.lake.readers import IN_TURN
from tests.sinks.replicas.replication import Replication
from tests.sinks.replicas.verifying.comparing import compare, running, writing

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

of_some_format = pytest.mark.parametrize("replication", IN_TURN, indirect=True)
ROWS, CORRUPTIONS = 4000, 20


@of_some_format
def test_twenty_corruptions_of_all_kinds_are_found_in_one_pass(replication: Replication) -> None:
    replication.database.execute(
        "CREATE TABLE a (id int, part text, name text, n bigint, PRIMARY KEY (id, part));"
        "CREATE TABLE b (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text);"
        f"INSERT INTO a SELECT i, 'p' || i % 7, 'name ' || i, i FROM generate_series(1, {ROWS}) i;"
        f"INSERT INTO b (name) SELECT 'b' || i FROM generate_series(1, {ROWS}) i"
    )
    replication.run()
    drawn = random.Random(20)
    keys = [(i, f"p{i % 7}") for i in drawn.sample(range(1, ROWS + 1), CORRUPTIONS)]
    # The rows were changed after their first copy, so that there are former ones.
    replication.database.execute(f"UPDATE a SET n = -n WHERE id % {ROWS // 40} = 0")
    replication.run()
    expected_kinds: dict[tuple[str, ...], DifferenceKind] = {}
    with writing(replication, "a") as a:
        for number, (id_, part) in enumerate(keys):
            key = (str(id_), repr(part))
            match number % 5:
                case 0:
                    a.lose(id_, part)
                    expected_kinds[key] = DifferenceKind.MISSING
                case 1:
                    a.double(id_, part)
                    expected_kinds[key] = DifferenceKind.REPEATED
                case 2:
                    a.change(id_, part, name="another name")
                    expected_kinds[key] = DifferenceKind.DIFFERENT
                case 3:  # a stale row: that of before a change which the replica lost
                    a.change(id_, part, n=0)
                    expected_kinds[key] = DifferenceKind.DIFFERENT
                case _:
                    a.change(id_, part, id=id_ + 10 * ROWS)
                    expected_kinds[key] = DifferenceKind.MISSING
                    expected_kinds[(str(id_ + 10 * ROWS), repr(part))] = DifferenceKind.SURPLUS
    with running(replication):
        compared = compare(replication)
    assert compared["public.b"].is_equal
    assert compared["public.b"].rows == ROWS
    table = compared["public.a"]
    assert {
        (each.key["id"], each.key["part"]): each.kind for each in table.differences
    } == expected_kinds
    assert table.differing == len(expected_kinds)
    assert (table.rows, table.unsettled, table.why) == (ROWS, 0, "")


@of_some_format
def test_equal_tables_need_no_query_that_runs(replication: Replication) -> None:
    replication.database.execute(
        "CREATE TABLE a (id int PRIMARY KEY, name text);"
        "CREATE TABLE empty (id int PRIMARY KEY);"
        "INSERT INTO a SELECT i, 'name ' || i FROM generate_series(1, 100) i"
    )
    replication.run()
    compared = compare(replication)
    assert all(table.is_equal for table in compared.values())
    assert {name: table.rows for name, table in compared.items()} == {
        "public.a": 100,
        "public.empty": 0,
    }


@of_some_format
def test_changes_that_the_log_lost_are_found(replication: Replication) -> None:
    replication.database.execute(
        "CREATE TABLE a (id text PRIMARY KEY, n int);"
        "INSERT INTO a SELECT 'k' || i, i FROM generate_series(1, 100) i"
    )
    replication.run()
    replication.database.execute(
        "UPDATE a SET n = -1 WHERE id = 'k5'; DELETE FROM a WHERE id = 'k6';"
        "INSERT INTO a VALUES ('k101', 101); UPDATE a SET id = 'k102' WHERE id = 'k7'"
    )
    replication.database.advance_slot()
    trusting = {"offset.mismatch.strategy": "trust_slot"}
    with running(replication, trusting):
        replication.database.execute("UPDATE a SET n = 8 WHERE id = 'k8'")
        table = compare(replication, trusting)["public.a"]
    assert {each.key["id"]: each.kind for each in table.differences} == {
        "'k5'": DifferenceKind.DIFFERENT,
        "'k6'": DifferenceKind.SURPLUS,
        "'k7'": DifferenceKind.SURPLUS,
        "'k101'": DifferenceKind.MISSING,
        "'k102'": DifferenceKind.MISSING,
    }
    (different,) = [each for each in table.differences if each.kind is DifferenceKind.DIFFERENT]
    assert different.columns == {"n": ("-1", "5")}
