"""Ranges, slices and sequences: the same whenever asked again, in total order, complete."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from tests.contract.changes import (
    EVERYTHING,
    MOVES,
    Delete,
    Transaction,
    workloads,
)
from tests.contract.run import THINGS, Run, repeatable, run_workload
from tests.contract.subject import Feature, Subject

ORDERS = ("key", "position")
CUTS = ((1, "key"), (2, "position"), (5, "key"), (1000, "position"))
"""Rows of a range, and an order of slices: of so few rows there is one slice in any order."""


def whole(subject: Subject) -> tuple[Transaction, ...]:
    return EVERYTHING + (MOVES if Feature.KEY_CHANGES in subject.features else ())


@pytest.mark.parametrize(("inline", "order"), [(False, "key"), (True, "position")])
def test_records_come_in_commit_order_with_distinct_sequences(
    subject: Subject, inline: bool, order: str
) -> None:
    with Run.start(subject, inline=inline, headrace_slice_order=order) as run:
        run_workload(subject, whole(subject))
        run.deliver()
        assert run.collection_events() == subject.events_of(whole(subject))
        sequences = [record["sequence"] for record in run.records]
        assert len(sequences) == len(set(sequences))


@pytest.mark.parametrize(("rows", "order"), CUTS)
def test_a_range_is_the_same_whenever_it_is_planned(
    subject: Subject, rows: int, order: str
) -> None:
    """Again by the same process, and by one that knows only the checkpoint."""
    properties = {"headrace_slice_order": order, "headrace_range_max_rows": rows}
    with Run.start(subject, headrace_slices=3, **properties) as run:
        run_workload(subject, whole(subject))
        while len(run.of(run.records)) < len(subject.events_of(whole(subject))):
            end = run.plan()
            if end == run.offsets[-1]:
                continue
            first = run.slices(end)
            assert repeatable(run.slices(end)) == repeatable(first)
            if len(run.offsets) % 4 == 0:
                run.restart()
                assert repeatable(run.slices(end)) == repeatable(first)
            run.records += [record for records in first for record in records]
            run.offsets.append(end)
        assert run.collection_events() == subject.events_of(whole(subject))


def test_records_of_a_key_are_in_order_over_slices(subject: Subject) -> None:
    """A key's records share a slice; slices by position follow one another."""
    first, second = subject.slices
    fill = Transaction((first,))
    changes = [
        Transaction(tuple(Delete(key) for key in range(first.first, first.last, 7))),
        Transaction((second,)),
    ]
    with ExitStack() as runs:
        started = [
            runs.enter_context(Run.start(subject, headrace_slice_order=order, headrace_slices=3))
            for order in ORDERS
        ]
        run_workload(subject, [fill, *changes])
        for run, order in zip(started, ORDERS, strict=True):
            count = len(subject.events_of([fill, *changes]))
            most = 0
            while len(run.of(run.records)) < count:
                try:
                    end = run.plan()
                    slices = [] if end == run.offsets[-1] else run.slices(end)
                except HeadraceError as error:
                    # Two runs note their places in one table, and a stand-in refuses a row that
                    # a server would wait for.
                    if not error.retriable:
                        raise
                    continue
                if end == run.offsets[-1]:
                    continue
                most = max(most, len(slices))
                check_order(slices, order)
                run.records += [record for records in slices for record in records]
                run.offsets.append(end)
            assert most > 1, "no range had several slices"
            assert run.collection_events() == subject.events_of([fill, *changes])


def check_order(slices: list[list[dict[str, Any]]], order: str) -> None:
    holders: dict[tuple[str, str], int] = {}
    before = ""
    for number, records in enumerate(slices):
        sequences = [record["sequence"] for record in records]
        assert sequences == sorted(sequences)
        if order == "position" and records:
            assert before < sequences[0]
            before = sequences[-1]
        if order == "key":
            for record in records:
                key = (record["topic"], record["key"])
                assert holders.setdefault(key, number) == number, "a key in two slices"


def empty(subject: Subject) -> None:
    if rows := subject.rows(THINGS):
        subject.apply(THINGS, [Delete(key) for key in rows])


@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_workload_cut_anywhere_gives_each_record_once(
    subject: Subject, data: st.DataObject
) -> None:
    moves, rollbacks = (
        feature in subject.features for feature in (Feature.KEY_CHANGES, Feature.ROLLBACKS)
    )
    workload = data.draw(workloads(moves=moves, rollbacks=rollbacks), label="workload")
    empty(subject)
    rows = data.draw(st.sampled_from([1, 2, 3, 7, 1000]), label="rows of a range")
    restarts = data.draw(st.sets(st.integers(0, 20), max_size=3), label="restarts before range")
    with Run.start(subject, headrace_range_max_rows=rows) as run:
        run_workload(subject, workload)
        expected = subject.events_of(workload)
        step = 0
        while len(run.of(run.records)) < len(expected):
            if step in restarts:
                restarts.remove(step)  # once: a step may bring nothing yet
                run.restart()
            step += run.step()
        run.deliver()
        assert run.collection_events() == expected
        assert len({record["sequence"] for record in run.records}) == len(run.records)


def test_a_transaction_larger_than_a_range_comes_in_several(subject: Subject) -> None:
    large = [Transaction((subject.ranges,))]
    limits = {"headrace_range_max_bytes": "2MB", "headrace_spool_max_bytes": "6MB"}
    with Run.start(subject, **limits) as run:
        run_workload(subject, large)
        while len(run.of(run.records)) < subject.ranges.last:
            if run.step() and len(run.offsets) in (3, 6):
                run.restart()
        assert len(run.offsets) > 5
        assert run.collection_events() == subject.events_of(large)


def test_nothing_new_gives_the_same_offset(subject: Subject) -> None:
    with Run.start(subject, headrace_acknowledge_interval="1 h") as run:
        run.deliver()
        assert not run.step(0)
        assert run.slices(run.offsets[-1]) == []
