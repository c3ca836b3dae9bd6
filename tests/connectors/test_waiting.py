from __future__ import annotations

import time

import pytest

from headrace.connect.deadline import Deadline
from headrace.connectors.waiting import DRIVER_GONE, Waiting
from headrace.errors import HeadraceError


def test_a_deadline_is_over_when_its_moment_has_come() -> None:
    now = [100.0]
    deadline = Deadline(5, lambda: now[0])
    assert (deadline.remaining(), deadline.is_over) == (5, False)
    now[0] = 105
    assert (deadline.remaining(), deadline.is_over) == (0, True)
    deadline.restart()
    assert deadline.remaining() == 5
    deadline.restart(2)
    now[0] = 108
    assert (deadline.remaining(), deadline.is_over) == (0, True)


def test_nobody_sleeps_beyond_a_deadline() -> None:
    begun = time.monotonic()
    Deadline(0.01).pause(60)
    Deadline(60).pause(0.01)
    Deadline(0).pause(60)
    assert time.monotonic() - begun < 30


def test_waiting_ends_when_nobody_reads_on() -> None:
    looks: list[int] = []

    def orphaned() -> bool:
        looks.append(1)
        return len(looks) > 2

    waiting = Waiting(orphaned)
    waiting.check()
    waiting.pause(0.001)
    with pytest.raises(HeadraceError) as raised:
        waiting.pause(600)
    assert raised.value.code == DRIVER_GONE
    waiting.pause(0)
