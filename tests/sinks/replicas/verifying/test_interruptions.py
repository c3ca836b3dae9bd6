"""A comparison that was interrupted continues, reads no faster than it may, and begins again where
files are gone."""

from __future__ import annotations

import time
from typing import Any

import pytest

from headrace.sinks.replicas.maintaining import merge_small_files
from headrace.sinks.replicas.runners import HereRunner
from headrace.sinks.replicas.verifying.row_index import RowIndex
from headrace.sinks.replicas.verifying.source_rows import SourceRows
from headrace.spark.sinks.comparison import ComparisonRequest, DifferenceKind
from tests.sinks.lake.readers import IN_TURN
from tests.sinks.replicas.replication import Replication
from tests.sinks.replicas.verifying.comparing import compare, running, writing

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

of_some_format = pytest.mark.parametrize("replication", IN_TURN, indirect=True)
ROWS = 3000
SMALL = {"incremental.snapshot.chunk.size": "100", "headrace.range.max.bytes": "4096"}


class Interrupted(Exception):
    """Ends a comparison."""


class Interruption:
    """Ends a comparison once it has looked up so often whether it should go on."""

    def __init__(self, calls: int) -> None:
        self._calls = calls

    def __call__(self) -> None:
        self._calls -= 1
        if self._calls < 0:
            raise Interrupted


def begin(replication: Replication) -> None:
    replication.database.execute(
        "CREATE TABLE a (id int PRIMARY KEY, name text);"
        "CREATE TABLE b (id int PRIMARY KEY, name text);"
        f"INSERT INTO a SELECT i, 'name ' || i FROM generate_series(1, {ROWS}) i;"
        f"INSERT INTO b SELECT i, 'name ' || i FROM generate_series(1, {ROWS}) i"
    )
    replication.run()


@of_some_format
def test_a_comparison_continues_where_it_was_interrupted(
    replication: Replication, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.sinks.replicas.verifying.comparison._KEEP_SECONDS", 0.0)
    begin(replication)
    with writing(replication, "b") as b:
        b.lose(20)
        b.change(2900, name="other")
        b.change(30, id=-30)
    reported: list[str] = []
    with running(replication):
        for calls in (30, 40, 40):
            interruption = Interruption(calls)
            with pytest.raises(Interrupted):
                compare(
                    replication,
                    SMALL,
                    ComparisonRequest(check=interruption, report=reported.append, rate=20_000),
                )
        compared = compare(replication, SMALL, ComparisonRequest(report=reported.append))
    assert any("continues" in text for text in reported)
    assert {name: table.rows for name, table in compared.items()} == {
        "public.a": ROWS,
        "public.b": ROWS,
    }
    table = compared["public.b"]
    assert {each.key["id"]: each.kind for each in table.differences} == {
        "20": DifferenceKind.MISSING,
        "2900": DifferenceKind.DIFFERENT,
        "30": DifferenceKind.MISSING,
        "-30": DifferenceKind.SURPLUS,
    }
    assert table.differing == 4
    left = (replication.state / replication.lake.name / "verify").iterdir()
    assert [path.name for path in left] == ["owner"]


@of_some_format
def test_a_restart_and_merged_files_make_a_comparison_begin_again(
    replication: Replication, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.sinks.replicas.verifying.comparison._KEEP_SECONDS", 0.0)
    begin(replication)
    monkeypatch.setattr("headrace.sinks.replicas.files.compacting.SMALL_FILES", 2)
    replication.database.execute(f"INSERT INTO a VALUES ({ROWS + 1}, 'late')")
    replication.run()
    with writing(replication, "a") as a:
        a.change(30, id=-30)
    only_a = ComparisonRequest(is_chosen=lambda name: name == "public.a")
    interrupted = ComparisonRequest(only_a.is_chosen, rate=20_000, check=Interruption(30))
    with pytest.raises(Interrupted):
        compare(replication, SMALL, interrupted)
    with writing(replication, "a") as a:
        merged, _ = merge_small_files(a._table, HereRunner())
        assert merged
    reported: list[str] = []
    with running(replication):
        continued = ComparisonRequest(only_a.is_chosen, report=reported.append)
        table = compare(replication, SMALL, continued)["public.a"]
    assert {each.key["id"]: each.kind for each in table.differences} == {
        "30": DifferenceKind.MISSING,
        "-30": DifferenceKind.SURPLUS,
    }
    assert [each for each in reported if "reading" in each and "replica" in each]
    interrupted = ComparisonRequest(only_a.is_chosen, rate=20_000, check=Interruption(30))
    with pytest.raises(Interrupted):
        compare(replication, SMALL, interrupted)
    reported.clear()
    with running(replication):
        compare(
            replication,
            SMALL,
            ComparisonRequest(only_a.is_chosen, report=reported.append, restart=True),
        )
    assert not any("continues" in text for text in reported)


@of_some_format
def test_rows_of_the_source_are_read_no_faster_than_asked(replication: Replication) -> None:
    begin(replication)
    began = time.monotonic()
    request = ComparisonRequest(lambda name: name == "public.a", rate=1000)
    assert compare(replication, SMALL, request)["public.a"].is_equal
    assert time.monotonic() - began >= ROWS / 1000


@pytest.mark.parametrize("has_queries", [True, False], ids=["by queries", "by all rows"])
@of_some_format
def test_surplus_rows_that_a_compaction_moves_meanwhile_are_found(
    replication: Replication, monkeypatch: pytest.MonkeyPatch, has_queries: bool
) -> None:
    monkeypatch.setattr("headrace.sinks.replicas.files.compacting.SMALL_FILES", 2)
    begin(replication)
    replication.database.execute(f"INSERT INTO a VALUES ({ROWS + 1}, 'late')")
    replication.run()
    unseen, merged = RowIndex.unseen, []
    with writing(replication, "a") as a:
        a.change(30, id=-30)
        a.change(31, id=-31)

        def after_a_merge(index: RowIndex) -> Any:
            merged.append(merge_small_files(a._table, HereRunner()))
            return unseen(index)

        monkeypatch.setattr(RowIndex, "unseen", after_a_merge)
        if not has_queries:
            monkeypatch.setattr(SourceRows, "queries", lambda _self, _keys: None)
        with running(replication):
            # This row is new to the source, and no surplus.
            replication.database.execute("INSERT INTO a VALUES (-31, 'name 31')")
            request = ComparisonRequest(lambda name: name == "public.a")
            table = compare(replication, request=request)["public.a"]
    assert merged[0][0]
    assert {each.key["id"]: each.kind for each in table.differences} == {
        "30": DifferenceKind.MISSING,
        "31": DifferenceKind.MISSING,
        "-30": DifferenceKind.SURPLUS,
    }
    assert table.unsettled == 0
