"""State that survives the process: acknowledged positions, restarts, runs with an end."""

from __future__ import annotations

import threading

import pytest

from tests.connectors.harness import wait_for
from tests.contract.changes import EVERYTHING, Fill, Insert, Transaction, Update, fold
from tests.contract.run import THINGS, Run, run_workload
from tests.contract.subject import Feature, Subject

ROWS = 1000
CHUNK = "13kB"
"""Less than the least rows of a chunk have: all are more than ten chunks."""


@pytest.mark.needs(Feature.ACKNOWLEDGES)
def test_only_delivered_events_are_acknowledged(subject: Subject) -> None:
    with Run.start(subject, headrace_range_max_rows=3) as run:
        run_workload(subject, EVERYTHING)
        while len(run.of(run.records)) < len(subject.events_of(EVERYTHING)):
            run.step()
            # The checkpoint holds the last offset; the one before is acknowledged, which has no
            # place as long as no change came after the start.
            if len(run.offsets) > 2:
                assert subject.acknowledged(run.name) <= subject.place(run.offsets[-2])
        run.deliver()
        connector, last = run.open(), run.offsets[-1]
        connector.acknowledge(last)
        wait_for(lambda: subject.acknowledged(run.name) == subject.place(last))
        for offset in (run.offsets[0], run.offsets[1], last, last):
            connector.acknowledge(offset)
        run.deliver()
        assert subject.acknowledged(run.name) >= subject.place(last)


@pytest.mark.needs(Feature.ACKNOWLEDGES)
def test_a_reader_that_ends_acknowledges_nothing_by_that(subject: Subject) -> None:
    with Run.start(subject) as run:
        run_workload(subject, EVERYTHING)
        end = run.plan()
        run.slices(end)
        before = subject.place(run.offsets[-1])
        run.restart()
        assert subject.acknowledged(run.name) <= before
        run.deliver()
        assert run.collection_events() == subject.events_of(EVERYTHING)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_restart_at_any_record_loses_and_repeats_nothing(
    subject: Subject, restarts: bool
) -> None:
    with Run.start(subject, headrace_range_max_rows=1) as run:
        run_workload(subject, EVERYTHING)
        expected = subject.events_of(EVERYTHING)
        while len(run.of(run.records)) < len(expected):
            if run.step() and restarts:
                run.restart()
        assert run.collection_events() == expected
        assert len(run.offsets) > len(EVERYTHING) * 2


@pytest.mark.needs(Feature.SNAPSHOTS)
@pytest.mark.parametrize("every", [1, 3, 1000])
def test_a_snapshot_continues_after_a_restart(subject: Subject, every: int) -> None:
    """Rows change meanwhile; what is read and what is streamed add up to the rows."""
    subject.apply(THINGS, [Fill(1, ROWS, 300)])
    properties = {"snapshot_mode": "initial", "headrace_snapshot_chunk_bytes": CHUNK}
    with Run.start(subject, headrace_slices=1, **properties) as run:
        for number in range(1, 12):
            run.step()
            subject.apply(
                THINGS, [Update(number * 7, f"change {number}"), Insert(ROWS + number, "new")]
            )
            if number % every == 0:
                run.restart()
        run.deliver()
        events = run.collection_events()
        assert fold(events) == subject.rows(THINGS)
        read = [event.key for event in events if event.op == "r"]
        assert len(read) == len(set(read)) >= ROWS
        sequences = [record["sequence"] for record in run.records]
        assert len(set(sequences)) == len(sequences)
        assert sum(bool(run.of([record])) for record in run.records) >= ROWS


def test_a_bounded_run_ends_after_everything_that_was_there(subject: Subject) -> None:
    """The run ends also while more and more is written."""
    with Run.start(subject, bounded=True) as run:
        run_workload(subject, EVERYTHING)
        run.restart()
        ended = threading.Event()
        writer = threading.Thread(target=keep_writing, args=(subject, ended))
        writer.start()
        try:
            while run.step(0):
                pass
        finally:
            ended.set()
            writer.join()
        expected = subject.events_of(EVERYTHING)
        assert run.collection_events()[: len(expected)] == expected
        assert not run.step(0)


def keep_writing(subject: Subject, ended: threading.Event) -> None:
    number = 1000
    while not ended.is_set():
        subject.apply(THINGS, [Insert(number := number + 1, "later")])


@pytest.mark.needs(Feature.SNAPSHOTS)
def test_a_bounded_run_reads_a_snapshot_to_its_end(subject: Subject) -> None:
    subject.apply(THINGS, [Fill(1, ROWS, 100)])
    properties = {"snapshot_mode": "initial", "headrace_snapshot_chunk_bytes": CHUNK}
    with Run.start(subject, bounded=True, **properties) as run:
        subject.apply(THINGS, [Insert(ROWS + 1, "after")])
        while run.step(0):
            pass
        assert fold(run.collection_events()) == subject.rows(THINGS)


def test_an_empty_log_ends_a_bounded_run_at_once(subject: Subject) -> None:
    with Run.start(subject, bounded=True) as run:
        run.restart()
        for _ in range(3):
            run.step(0)
        assert run.records == []
        assert not run.step(0)


def test_a_large_transaction_is_cut_and_continues_after_restarts(subject: Subject) -> None:
    large = Transaction((Insert(5000, "first"), Fill(1, 700, 50), Insert(5001, "last")))
    with Run.start(subject, headrace_range_max_rows=150) as run:
        run_workload(subject, [large])
        while len(run.of(run.records)) < 702:
            if run.step():
                run.restart()
        assert run.collection_events() == subject.events_of([large])
