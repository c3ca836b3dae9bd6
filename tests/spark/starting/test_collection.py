"""Garbage collection of a process that starts."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from headrace.spark.starting.collection import collection_paused


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


class Cycle:
    """Is garbage when it is left alone."""

    def __init__(self) -> None:
        self.me = self


def test_garbage_is_collected_again_after_a_start_and_what_the_start_left_is_not_looked_at() -> (
    None
):
    had = gc.get_freeze_count()
    with collection_paused():
        assert not gc.isenabled()
        cycles = [Cycle() for _ in range(100)]
    assert gc.isenabled()
    assert gc.get_freeze_count() >= had + 100
    assert not any(isinstance(each, Cycle) for each in gc.get_objects())
    del cycles
    Cycle()
    assert gc.collect() >= 1


def test_it_waits_for_the_thread_that_is_last() -> None:
    entered, leave = threading.Event(), threading.Event()

    def load() -> None:
        with collection_paused():
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=load)
    with collection_paused():
        thread.start()
        assert entered.wait(60)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def test_a_process_without_collection_stays_without_it() -> None:
    gc.disable()
    with pytest.raises(ZeroDivisionError), collection_paused():
        raise ZeroDivisionError
    assert not gc.isenabled()
