"""Tables whose rows a snapshot read later than the first changes of the log."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.part import Operation
from headrace.sinks.replicas.options import FirstCopy, ReplicaOptions, Transactions
from tests.sinks.replicas.applying.replay import Change
from tests.sinks.replicas.state.pipelines import Pipeline, insert, move


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    """A pipeline whose table has the rows that a snapshot read after two moves of the row x and one
    of the row w."""
    new_pipeline = Pipeline(tmp_path)
    new_pipeline.end(0, insert(3, "x", "large x"), insert(2, "w", "large w"))
    return new_pipeline


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


def test_files_that_a_kill_left_after_the_commit_are_deleted(pipeline: Pipeline) -> None:
    left = pipeline.state / "waiting" / "shop.other"
    left.mkdir(parents=True)
    (left / "1-part.arrow").write_text("rows")
    pipeline.end(1, *move(1, 2, "x"))
    assert not left.exists()
    assert len(list((pipeline.state / "waiting").iterdir())) == 1
    pipeline.end(2, *move(2, 3, "x"))
    pipeline.end(3, *move(4, 2, "w"), is_settled=True)
    assert pipeline.rows == {3: ("x", "large x"), 2: ("w", "large w")}


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


def test_the_pieces_of_a_transaction_are_seen_when_it_has_ended(pipeline: Pipeline) -> None:
    before = dict(pipeline.rows)
    pipeline.end(1, insert(10, "new", "large"), is_settled=True, is_inside=True)
    pipeline.end(2, *move(3, 4, "x"), is_settled=True, is_inside=True)
    pipeline.end(2, *move(3, 4, "x"), is_settled=True, is_inside=True)  # it comes again
    pipeline.end(3, is_settled=True, is_inside=True)
    assert pipeline.rows == before
    assert pipeline.table.kept["headrace.batch"] == "0"
    pipeline.start()
    pipeline.end(4, is_settled=True)
    assert pipeline.rows == {10: ("new", "large"), 4: ("x", "large x"), 2: ("w", "large w")}
    assert pipeline.table.kept["headrace.batch"] == "4"
    assert pipeline.table.kept["headrace.boundary"] == "true"
    assert not list((pipeline.state / "waiting").glob("*"))


def test_a_transaction_without_room_is_committed_in_pieces_and_none_of_them_twice(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = Pipeline(tmp_path, ReplicaOptions(kept_bytes=1))
    pipeline.end(0, insert(3, "x", "large x"), is_settled=True)
    with caplog.at_level(logging.WARNING):
        pipeline.end(1, *move(3, 4, "x"), is_settled=True, is_inside=True)
    assert "topic than headrace.sink.kept.max.bytes=1: they are committed in" in caplog.text
    assert pipeline.rows == {4: ("x", "large x")}
    assert pipeline.table.kept["headrace.boundary"] == "false"
    # A kill after the commit, and a start with another limit: the move comes again.
    pipeline._options = ReplicaOptions()
    pipeline.start()
    pipeline.end(1, *move(3, 4, "x"), is_settled=True, is_inside=True)
    pipeline.end(2, *move(4, 5, "x"), is_settled=True)
    assert pipeline.rows == {5: ("x", "large x")}


def test_transactions_that_may_be_split_are_committed_with_their_micro_batches(
    tmp_path: Path,
) -> None:
    pipeline = Pipeline(tmp_path, ReplicaOptions(transactions=Transactions.SPLIT))
    pipeline.end(0, insert(1, "a", "large"), is_settled=True, is_inside=True)
    assert pipeline.rows == {1: ("a", "large")}
