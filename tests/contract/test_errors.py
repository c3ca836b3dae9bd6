"""Errors are headrace's own, with a remedy; what was interrupted goes on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace.connectors.connector import Connector, OffsetObject
from headrace.errors import HeadraceError
from tests.contract.changes import Fill, Insert, fold
from tests.contract.run import THINGS, Run
from tests.contract.subject import Feature, Subject

MOMENT = timedelta(milliseconds=100)


def refused(action: Callable[[], Any]) -> HeadraceError:
    """The error of `action`, which must be one for an operator."""
    with pytest.raises(HeadraceError) as caught:
        action()
    error = caught.value
    assert "." in error.code
    assert error.message
    assert error.remedy
    return error


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"server": "elsewhere"}, "offset.other_server"),
    ({"v": 99}, "offset.newer"),
    ({"v": 0}, "offset.broken"),
    ({"v": "one"}, "offset.broken"),
)


def test_an_offset_that_is_not_this_connectors_is_refused(subject: Subject) -> None:
    with Run.start(subject) as run:
        for change, code in REFUSED:
            offset = run.offsets[-1] | change
            for call in uses(run.open(), offset, run.offsets[-1]):
                assert refused(call).code == code, change


def uses(connector: Connector, offset: OffsetObject, last: OffsetObject) -> list[Callable[[], Any]]:
    return [
        lambda: connector.validate(offset),
        lambda: connector.poll(offset, MOMENT),
        lambda: connector.slices(offset, last),
        lambda: connector.slices(last, offset),
        lambda: connector.acknowledge(offset),
    ]


def calls(connector: Connector, last: OffsetObject, end: OffsetObject) -> list[Callable[[], Any]]:
    return [
        lambda: connector.validate(None),
        lambda: connector.validate(last),
        lambda: connector.poll(last, MOMENT),
        lambda: connector.slices(last, end),
    ]


def test_a_database_that_does_not_answer_is_named_and_tried_again(subject: Subject) -> None:
    with Run.start(subject) as run:
        subject.apply(THINGS, [Insert(1, "before")])
        end = run.plan()
        while end == run.offsets[-1]:
            end = run.plan()
        run.stop()
        connector = run.open()
        with subject.stopped():
            for call in calls(connector, run.offsets[-1], end):
                assert refused(call).retriable
            connector.acknowledge(run.offsets[-1])
            connector.latest()
            connector.metrics()
        # The same process goes on when the database is back.
        run.deliver()
        assert fold(run.collection_events()) == {1: "before"}


def test_a_stream_that_breaks_is_named_and_continues(subject: Subject) -> None:
    with Run.start(subject) as run:
        subject.apply(THINGS, [Insert(1, "before")])
        run.deliver()
        with subject.stopped():
            error = refused(lambda: run.step_until(lambda: False, 60))
            assert error.retriable
        subject.apply(THINGS, [Insert(2, "after")])
        run.deliver()
        assert fold(run.collection_events()) == {1: "before", 2: "after"}


@pytest.mark.needs(Feature.SNAPSHOTS)
def test_a_snapshot_that_breaks_is_named_and_continues(subject: Subject) -> None:
    subject.apply(THINGS, [Fill(1, 2000, 300)])
    properties = {"snapshot_mode": "initial", "headrace_snapshot_chunk_bytes": "40kB"}
    with Run.start(subject, headrace_slices=1, **properties) as run:
        for _ in range(3):
            run.step()
        with subject.stopped():
            refused(lambda: run.step_until(lambda: False, 60))
        subject.apply(THINGS, [Insert(3000, "after")])
        run.deliver()
        assert fold(run.collection_events()) == subject.rows(THINGS)


@pytest.mark.needs(Feature.LOSES)
def test_a_log_that_is_gone_is_an_error_that_no_retry_repairs(subject: Subject) -> None:
    with Run.start(subject) as run:
        run.deliver()
        run.stop()
        subject.apply(THINGS, [Insert(1, "lost")])
        subject.lose(run.name)
        connector = run.open()
        assert not refused(lambda: connector.validate(run.offsets[-1])).retriable
        assert not refused(lambda: connector.poll(run.offsets[-1], MOMENT)).retriable


def test_validate_changes_nothing(subject: Subject) -> None:
    with Run.start(subject, begins=False) as run:
        run.open().validate(None)
        run.restart()
        # The first range begins here, as if nothing had been before.
        subject.apply(THINGS, [Insert(1, "before the beginning")])
        run.step_until(lambda: len(run.offsets) > 1)
        subject.apply(THINGS, [Insert(2, "after it")])
        run.open().validate(run.offsets[-1])
        run.deliver()
        assert fold(run.collection_events()) == {2: "after it"}
