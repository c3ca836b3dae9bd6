"""What is said of tables that are not like the others."""

from __future__ import annotations

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.options import RESYNC
from headrace.sinks.replicas.state.resyncing import Resync
from headrace.spark.sinks.comparison import ComparisonRequest, DifferenceKind, Repair
from tests.sinks.lake.readers import IN_TURN
from tests.sinks.replicas.replication import Replication
from tests.sinks.replicas.verifying.comparing import compare, running, writing

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

of_some_format = pytest.mark.parametrize("replication", IN_TURN, indirect=True)


def begin(replication: Replication, *tables: str, **options: str) -> None:
    """Tables with ten rows are replicated."""
    for table in tables:
        replication.database.execute(
            f"CREATE TABLE {table} (id int PRIMARY KEY, name text);"
            f"INSERT INTO {table} SELECT i, 'name ' || i FROM generate_series(1, 10) i"
        )
    replication.run(**options)


@of_some_format
def test_rows_that_soft_deletes_keep_are_no_rows_and_a_row_with_a_wrong_mark_is_missing(
    replication: Replication,
) -> None:
    begin(replication, "a", deletes="soft")
    replication.database.execute("DELETE FROM a WHERE id IN (3, 4)")
    replication.run(deletes="soft")
    assert compare(replication, deletes="soft")["public.a"].is_equal
    with writing(replication, "a") as a:
        a.change(5, __deleted=True)
        a.change(4, __deleted=False)
    with running(replication, deletes="soft"):
        table = compare(replication, deletes="soft")["public.a"]
    assert {each.key["id"]: each.kind for each in table.differences} == {
        "5": DifferenceKind.MISSING,
        "4": DifferenceKind.SURPLUS,
    }


@of_some_format
def test_several_tables_in_one_replica_are_compared_with_it(replication: Replication) -> None:
    source = {
        "transforms": "one",
        "transforms.one.type": "io.debezium.transforms.ByLogicalTableRouter",
        "transforms.one.topic.regex": "(.*)part_.*",
        "transforms.one.topic.replacement": "$1parts",
        "transforms.one.key.field.name": "part",
    }
    for table in ("part_1", "part_2"):
        replication.database.execute(
            f"CREATE TABLE {table} (id int PRIMARY KEY, name text);"
            f"INSERT INTO {table} SELECT i, '{table} ' || i FROM generate_series(1, 10) i"
        )
    replication.run(source)
    compared = compare(replication, source)
    assert compared["public.parts"].is_equal
    assert compared["public.parts"].rows == 20
    with writing(replication, "parts") as parts:
        parts.lose(3, "headrace.public.part_2")
    with running(replication, source):
        table = compare(replication, source)["public.parts"]
    (lost,) = table.differences
    assert lost.kind is DifferenceKind.MISSING
    assert lost.key == {"part": "'headrace.public.part_2'", "id": "3"}
    assert table.repairs == (Repair(("public.part_1", "public.part_2")),)


@of_some_format
def test_tables_that_cannot_be_compared_are_named_with_the_reason(
    replication: Replication,
) -> None:
    begin(replication, "a", "b", "c")
    replication.database.execute("ALTER TABLE a ALTER name TYPE int USING id; TRUNCATE a, b")
    replication.run(truncates="fail")
    assert replication.stopped
    compared = compare(replication, truncates="fail")
    assert "it has stopped" in compared["public.a"].why
    assert "it has stopped" in compared["public.b"].why
    assert compared["public.c"].is_equal
    chosen = ComparisonRequest(is_chosen=lambda name: name == "public.c")
    assert [*compare(replication, request=chosen)] == ["public.c"]
    left_out = {"table.exclude.list": "public.c"}
    assert "not captured" in compare(replication, left_out)["public.c"].why
    folder = replication.state / replication.lake.name / RESYNC
    request = Resync(folder, TableName(("public",), "c"), "a-signal")
    request.write()
    assert "was requested and has not begun" in compare(replication, request=chosen)["public.c"].why
    request.begin([])
    assert "is being copied again" in compare(replication, request=chosen)["public.c"].why


@of_some_format
def test_columns_of_others_and_columns_that_did_not_arrive_yet_are_named(
    replication: Replication,
) -> None:
    begin(replication, "a")
    replication.lake.add_column("public", "a", "own")
    replication.database.execute("ALTER TABLE a ADD COLUMN late int")
    table = compare(replication)["public.a"]
    assert table.is_equal
    assert table.notes == (
        "the column own is not compared: the source has none",
        "the column late is not in the replica yet",
    )


@of_some_format
def test_a_difference_that_no_running_query_confirms_is_an_error_and_no_difference(
    replication: Replication,
) -> None:
    begin(replication, "a")
    with writing(replication, "a") as a:
        a.lose(3)
    replication.database.execute("INSERT INTO a VALUES (11, 'new')")
    with pytest.raises(HeadraceError) as caught:
        compare(replication, request=ComparisonRequest(wait_seconds=0.5))
    assert caught.value.code == "replicas.query_behind"


@of_some_format
def test_before_their_first_copy_tables_are_not_compared(replication: Replication) -> None:
    replication.database.execute("CREATE TABLE a (id int PRIMARY KEY)")
    with pytest.raises(HeadraceError) as caught:
        compare(replication)
    assert caught.value.code == "replicas.not_copied_yet"


def test_a_sink_without_tables_has_nothing_to_compare() -> None:
    from headrace.spark.sinks.registry import find_sink

    console = find_sink("console")
    with pytest.raises(HeadraceError) as caught:
        console.require_comparison(None)  # type: ignore[arg-type]
    assert caught.value.code == "cli.nothing_to_verify"
