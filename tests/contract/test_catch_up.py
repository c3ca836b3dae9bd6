"""A stream says that it catches up until it has read what its log held when it was opened."""

from __future__ import annotations

from headrace.connectors.states import Situation, State
from tests.contract.changes import Event, Fill, Insert, Update
from tests.contract.run import THINGS, Run
from tests.contract.subject import Subject


def test_a_stream_catches_up_until_it_has_read_what_was_there_whatever_of_it_is_captured(
    subject: Subject,
) -> None:
    with Run.start(subject, skipped_operations="c", headrace_spool_max_bytes="3MB") as run:
        run.stop()
        subject.apply(THINGS, [Insert(1, "new")])
        for number in range(3):
            subject.apply(THINGS, [Fill(1000 * (number + 1), 1000 * (number + 1) + 800, 300)])
        subject.apply(THINGS, [Update(1, "last")])
        situations: list[Situation] = []
        run.open().watch(situations.append)

        def streams(*, is_catching_up: bool) -> bool:
            return any(
                each.state == State.STREAMING.value and each.is_catching_up is is_catching_up
                for each in situations
            )

        run.step_until(lambda: streams(is_catching_up=False))
        assert streams(is_catching_up=True)
        assert [event for event in run.collection_events() if event.op == "u"] == [
            Event("u", 1, "last")
        ]
        assert situations[-1].is_catching_up is False


def test_a_stream_of_which_nothing_is_captured_catches_up(subject: Subject) -> None:
    with Run.start(subject, skipped_operations="c") as run:
        run.stop()
        subject.apply(THINGS, [Fill(1, 800, 300)])
        situations: list[Situation] = []
        run.open().watch(situations.append)
        run.step_until(
            lambda: (
                situations
                and situations[-1].state == State.STREAMING.value
                and not situations[-1].is_catching_up
            )
        )
        assert run.collection_events() == []
