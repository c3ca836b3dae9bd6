"""Ranges as the source process sees them: planned, pinned, settled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.kafka.bookkeeping import Bookkeeping
from headrace.sinks.kafka.markers import TurnKind
from headrace.sinks.kafka.options import KafkaOptions
from headrace.sinks.kafka.plan import Plan, PlanFolder, Way
from headrace.sinks.kafka.ranges import Ranges, send_range, step_of_slice
from headrace.sinks.kafka.writer import Writer
from tests.servers.kafka import KafkaServer
from tests.sinks.kafka.records import fresh_name, numbered, options_for, read_topic, values


class Query:
    """A query whose source process starts again at each `restart`."""

    def __init__(self, options: KafkaOptions, folder: Path) -> None:
        self.options, self.folder, self.topic = options, PlanFolder(folder), fresh_name()
        self.checkpoint = fresh_name()
        self.folder.open()
        self.restart()

    def restart(self, **changes: object) -> None:
        self.options = replace(self.options, **changes)  # type: ignore[arg-type]
        self.ranges = Ranges(self.options, self.folder, self.checkpoint, lambda _: None, room=2)

    def plan(self, batch: int, slices: int, way: Way, digest: str = "") -> Plan:
        return self.ranges.plan(batch, slices, digest or f"d{batch}", way)

    def run(self, batch: int, slices: int, way: Way, *, only: range | None = None) -> Plan:
        """A micro-batch of ten records a slice; `only` some slices."""
        plan = self.plan(batch, slices, way)
        rows = [
            numbered(self.topic, 100 * batch + 10 * number, 100 * batch + 10 * number + 9)
            for number in range(slices)
        ]
        if plan.way is Way.DIRECT:
            self.ranges.write(plan, lambda: iter(rows))
            return plan
        bookkeeping = Bookkeeping(self.options)
        for number in only if only is not None else range(slices):
            writer = Writer(self.options, str(number))
            is_first = self.ranges.begins(number)
            writer.write(
                plan.turn, number, lambda number=number: iter(rows[number : number + 1]),
                lambda number=number, is_first=is_first: step_of_slice(
                    bookkeeping, plan.turn, number, is_first=is_first
                ),
            )  # fmt: skip
            writer.close()
        return plan

    def markers(self, slices: int) -> list[int | None]:
        slice_markers = Bookkeeping(self.options).read(self.checkpoint, range(slices))
        return [None if marker is None else marker.batch for marker in slice_markers]


@pytest.fixture
def query(kafka: KafkaServer, tmp_path: Path) -> Query:
    return Query(options_for(kafka, fresh_name()), tmp_path / "kafka")


def expected(*parts: tuple[int, int]) -> list[int]:
    """Values of slices, each a micro-batch and a number."""
    return sorted(100 * batch + 10 * number + n for batch, number in parts for n in range(10))


def test_a_range_that_was_half_written_is_ended_by_the_next_run(
    kafka: KafkaServer, query: Query
) -> None:
    query.run(0, 0, Way.DIRECT)
    query.run(1, 3, Way.SLICES, only=range(1, 2))
    query.restart()
    query.run(1, 3, Way.SLICES)
    assert values(read_topic(kafka, query.topic)) == expected((1, 0), (1, 1), (1, 2))
    assert query.markers(3) == [1, 1, 1]


def test_slices_may_be_more_and_fewer_from_one_micro_batch_to_the_next(
    kafka: KafkaServer, query: Query
) -> None:
    sizes = [0, 1, 4, 2, 0, 5]
    for batch, slices in enumerate(sizes):
        query.run(batch, slices, Way.SLICES if slices else Way.DIRECT)
        query.run(batch, slices, Way.SLICES if slices else Way.DIRECT)
        if batch % 2:
            query.restart()
    parts = [(batch, n) for batch, slices in enumerate(sizes) for n in range(slices)]
    assert values(read_topic(kafka, query.topic)) == expected(*parts)
    assert query.markers(5) == [5] * 5


def test_what_was_begun_as_slices_is_ended_as_slices(kafka: KafkaServer, query: Query) -> None:
    query.run(0, 2, Way.SLICES, only=range(1))
    query.restart()
    assert query.run(0, 2, Way.DIRECT).way is Way.SLICES
    assert values(read_topic(kafka, query.topic)) == expected((0, 0), (0, 1))


def test_a_range_without_slices_is_marked_without_tasks(kafka: KafkaServer, query: Query) -> None:
    assert query.run(0, 0, Way.SLICES).way is Way.DIRECT
    query.run(1, 2, Way.SLICES)
    assert query.run(2, 0, Way.SLICES).way is Way.DIRECT
    query.restart()
    query.run(3, 2, Way.SLICES)
    assert query.markers(2) == [3, 3]
    assert values(read_topic(kafka, query.topic)) == expected((1, 0), (1, 1), (3, 0), (3, 1))


def test_a_range_that_is_written_is_not_written_again(kafka: KafkaServer, query: Query) -> None:
    for _ in range(2):
        query.run(0, 2, Way.DIRECT)
        query.restart()
    assert values(read_topic(kafka, query.topic)) == expected((0, 0), (0, 1))


def refused(code: str, query: Query, batch: int, digest: str = "") -> None:
    query.restart()
    with pytest.raises(HeadraceError) as raised:
        query.plan(batch, 2, Way.DIRECT, digest)
    assert (raised.value.code, raised.value.retriable) == (code, False)


def test_a_lost_bookkeeping_topic_is_an_error_until_the_user_lets_it_begin(
    kafka: KafkaServer, query: Query
) -> None:
    query.run(0, 2, Way.DIRECT)
    kafka.delete_topic(query.options.bookkeeping)
    refused("kafka.bookkeeping_lost", query, 1)
    assert query.options.bookkeeping not in kafka.topics()
    query.restart(begins_without_markers=True)
    query.run(1, 2, Way.DIRECT)
    assert query.markers(2) == [1, 1]


def test_an_older_checkpoint_is_an_error(query: Query) -> None:
    for batch in range(3):
        query.run(batch, 2, Way.DIRECT)
    refused("kafka.older_checkpoint", query, 1)


def test_another_range_under_the_same_number_is_an_error(query: Query) -> None:
    query.run(0, 2, Way.DIRECT)
    refused("kafka.batch_changed", query, 0, "other")


def test_a_new_checkpoint_begins_and_the_old_run_cannot_continue(
    kafka: KafkaServer, query: Query, tmp_path: Path
) -> None:
    query.run(0, 1, Way.DIRECT)
    other = Query(query.options, tmp_path / "other")
    other.run(0, 1, Way.DIRECT)
    assert values(read_topic(kafka, other.topic)) == expected((0, 0))
    assert other.markers(1) == query.markers(1) == [0]


def test_a_bookkeeping_topic_that_would_forget_is_refused(kafka: KafkaServer, query: Query) -> None:
    kafka.create_topic(query.options.bookkeeping, 2)
    refused("kafka.bookkeeping_not_compacted", query, 0)


def test_a_plan_comes_back_from_its_file(query: Query) -> None:
    plan = query.plan(0, 3, Way.PARTS)
    assert plan.turn.kind is TurnKind.WHOLE
    assert PlanFolder(query.folder.folder).last() == plan


def test_a_micro_batch_of_a_frame_is_sent_once(kafka: KafkaServer, query: Query) -> None:
    rows = [numbered(query.topic, 0, 9)]
    for batch, sent in ((0, 10), (0, None), (1, 10)):
        assert send_range(query.options, "c", batch, "", lambda: iter(rows)) == sent
    with pytest.raises(HeadraceError) as raised:
        send_range(query.options, "c", 4, "", lambda: iter(rows))
    assert raised.value.code == "kafka.bookkeeping_gap"
    assert values(read_topic(kafka, query.topic)) == sorted(2 * list(range(10)))
