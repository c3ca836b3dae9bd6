"""Tables whose rows a snapshot read later than the first changes of the log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.part import Operation
from headrace.sinks.replicas.options import FirstCopy, ReplicaOptions
from tests.sinks.replicas.applying.replay import Change
from tests.sinks.replicas.state.pipelines import Pipeline, insert, move


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    """A pipeline whose table has the rows that a snapshot read after two moves of the row x and one
    of the row w."""
    made = Pipeline(tmp_path)
    made.end(0, insert(3, "x", "large x"), insert(2, "w", "large w"))
    return made


def test_moves_that_the_snapshot_has_already_lose_no_value(pipeline: Pipeline) -> None:
    pipeline.end(1, *move(1, 2, "x"))
    pipeline.end(2, *move(2, 3, "x"))
    pipeline.end(2, *move(2, 3, "x"))  # it comes again
    pipeline.end(3, *move(4, 2, "w"))
    assert pipeline.rows == {3: ("x", "large x"), 2: ("w", "large w")}
    assert pipeline.table.kept["headrace.batch"] == "0"
    pipeline.end(4, is_settled=True)
    assert pipeline.rows == {3: ("x", "large x"), 2: ("w", "large w")}
    assert pipeline.table.kept["headrace.batch"] == "4"
    assert list((pipeline.state / "waiting").iterdir()) == []
    pipeline.end(5, Change(Operation.UPDATE, (2,), {"name": "later"}), is_settled=True)
    assert pipeline.rows[2] == ("later", "large w")


def test_a_row_that_was_deleted_before_the_snapshot_is_not_missed(pipeline: Pipeline) -> None:
    pipeline.end(1, Change(Operation.UPDATE, (9,), {"name": "gone"}))
    pipeline.end(2, Change(Operation.DELETE, (9,)), insert(10, "new", "large"), is_settled=True)
    assert pipeline.rows == {
        3: ("x", "large x"), 2: ("w", "large w"), 10: ("new", "large")
    }  # fmt: skip


def test_changes_with_all_values_do_not_wait(pipeline: Pipeline) -> None:
    pipeline.end(1, insert(10, "new", "large"), Change(Operation.DELETE, (2,)))
    assert pipeline.rows == {3: ("x", "large x"), 10: ("new", "large")}


def test_a_row_that_is_missing_for_good_stops_the_table_with_all_that_waited(
    pipeline: Pipeline,
) -> None:
    pipeline.end(1, Change(Operation.UPDATE, (9,), {"name": "lost"}))
    pipeline.end(2, Change(Operation.DELETE, (2,)), is_settled=True)
    (error,) = (pipeline.state / "stopped").glob("*/error.json")
    assert json.loads(error.read_text())["code"] == "replicas.value_unknown"
    assert {path.name for path in error.parent.glob("[0-9].json")} == {"1.json", "2.json"}
    assert not list((pipeline.state / "waiting").glob("*"))


def test_a_staged_first_copy_is_seen_when_it_is_whole(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, ReplicaOptions(first_copy=FirstCopy.STAGED))
    pipeline.end(0, insert(1, "a", "large"), is_settled=True, copies=True)
    pipeline.end(1, insert(2, "b", "large"), is_settled=True, copies=True)
    pipeline.end(1, insert(2, "b", "large"), is_settled=True, copies=True)  # it comes again
    assert pipeline.rows == {}
    assert "headrace.batch" not in pipeline.table.kept
    pipeline.end(2, is_settled=True)
    assert pipeline.rows == {1: ("a", "large"), 2: ("b", "large")}
    assert pipeline.table.kept["headrace.batch"] == "2"
    # A snapshot that a signal asks for is no first copy.
    pipeline.end(3, insert(3, "c", "large"), is_settled=True, copies=True)
    assert set(pipeline.rows) == {1, 2, 3}


def test_rows_of_a_snapshot_that_began_again_keep_their_values_in_a_staged_copy(
    tmp_path: Path,
) -> None:
    pipeline = Pipeline(tmp_path, ReplicaOptions(first_copy=FirstCopy.STAGED))
    # The key 1 was changed to 3 before the rows were read, and is another row's by now.
    pipeline.end(0, insert(3, "x", "large x"), insert(1, "new", "large new"), copies=True)
    pipeline.end(1, *move(1, 3, "x"), copies=True)
    pipeline.end(2, insert(1, "new", "large new"))
    assert pipeline.rows == {3: ("x", "large x"), 1: ("new", "large new")}
    pipeline.end(3, is_settled=True)
    assert pipeline.rows == {3: ("x", "large x"), 1: ("new", "large new")}
    assert pipeline.table.kept["headrace.batch"] == "3"
    assert not [*pipeline.state.glob("staged/*"), *pipeline.state.glob("waiting/*")]


def test_a_first_copy_that_has_no_room_ends_the_query_and_continues_with_other_options(
    tmp_path: Path,
) -> None:
    pipeline = Pipeline(tmp_path, ReplicaOptions(first_copy=FirstCopy.STAGED, kept_bytes=10))
    with pytest.raises(HeadraceError, match=r"headrace\.sink\.first\.copy=visible") as caught:
        pipeline.end(0, insert(1, "a", "large"), is_settled=True, copies=True)
    assert caught.value.code == "replicas.staged_too_much"
    assert not list(pipeline.state.glob("stopped/*"))
    pipeline.sink._options = ReplicaOptions()
    pipeline.end(0, insert(1, "a", "large"), is_settled=True, copies=True)
    assert pipeline.rows == {1: ("a", "large")}
