"""A query takes over the tables of another one if its first copy brings all rows, and only then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.sinks.replicas.options import Existing, FirstCopy, ReplicaOptions
from headrace.sinks.replicas.state.taking_over import takes_over
from tests.sinks.replicas.state.pipelines import Pipeline, insert, move

READING = {"snapshot": {"table": 0}}
SIGNALLED = {"snapshot": {"table": 0, "blocking": True}}


def test_a_query_whose_copy_is_over_does_not_empty_a_table_that_another_query_took(
    tmp_path: Path,
) -> None:
    pipeline = Pipeline(tmp_path, ReplicaOptions(existing=Existing.REPLACE))
    pipeline.end(0, insert(1, "a", "x"), insert(2, "b", "x"), is_settled=True)
    rows = pipeline.rows
    pipeline.table.kept["headrace.query"] = "another-query"
    for start in (False, True):
        if start:
            pipeline.start()
        pipeline.end(50 + start, insert(4, "d", "x"), is_settled=True)
        assert pipeline.rows == rows
    (error,) = (pipeline.state / "stopped").glob("*/error.json")
    assert json.loads(error.read_text())["code"] == "replicas.other_keeper"


def test_a_staged_copy_replaces_the_rows_of_another_query_also_before_changes_that_wait(
    tmp_path: Path,
) -> None:
    options = ReplicaOptions(existing=Existing.REPLACE, first_copy=FirstCopy.STAGED)
    pipeline = Pipeline(tmp_path, options)
    pipeline.end(0, insert(9, "of another query", "x"), is_settled=True)
    pipeline.table.kept["headrace.query"] = "another-query"
    pipeline.sink._takes_over = True
    pipeline.end(1, insert(1, "a", "x"), copies=True)
    assert pipeline.rows == {9: ("of another query", "x")}
    pipeline.end(2, *move(1, 2, "b"))
    assert pipeline.rows == {1: ("a", "x")}
    pipeline.end(3, is_settled=True)
    assert pipeline.rows == {2: ("b", "x")}


@pytest.mark.parametrize(
    ("offsets", "finished", "first_copy", "expected"),
    [
        ([], [], FirstCopy.VISIBLE, True),
        ([READING], [], FirstCopy.VISIBLE, True),
        ([READING, READING], [0], FirstCopy.VISIBLE, False),
        ([READING, READING], [0], FirstCopy.STAGED, True),
        ([READING, {}], [0], FirstCopy.STAGED, True),
        ([READING, {}, {}], [0, 1], FirstCopy.STAGED, False),
        ([READING, {}, SIGNALLED], [0, 1, 2], FirstCopy.STAGED, False),
    ],
)
def test_a_query_takes_tables_over_until_they_have_rows_of_its_first_copy(
    tmp_path: Path,
    offsets: list[dict[str, object]],
    finished: list[int],
    first_copy: FirstCopy,
    expected: bool,
) -> None:
    for log in ("offsets", "commits"):
        (tmp_path / log).mkdir()
    for number, offset in enumerate(offsets):
        (tmp_path / "offsets" / str(number)).write_text(f"v1\n{{}}\n{json.dumps(offset)}")
    for number in finished:
        (tmp_path / "commits" / str(number)).write_text("v1\n{}")
    replaces = ReplicaOptions(existing=Existing.REPLACE, first_copy=first_copy)
    assert takes_over(replaces, tmp_path) is expected
    assert not takes_over(ReplicaOptions(first_copy=first_copy), tmp_path)
