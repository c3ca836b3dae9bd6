"""Memory of dropped segments is used again only when nothing can read it any more."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from headrace.errors import HeadraceError
from headrace.spool.idle_memory import IdleMemory
from headrace.spool.segment import MappedSegment, Segment
from headrace.spool.spool import Spool
from headrace.streaming.changes.kernels import row_kernel
from tests.examples import examples

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such files")
SIZE = 1 << 16
LIMIT = 1 << 20


@pytest.fixture
def idle() -> Iterator[IdleMemory]:
    memory = IdleMemory(LIMIT)
    yield memory
    memory.close()


def written(idle: IdleMemory, text: bytes = b"first", size: int = SIZE) -> Segment:
    segment = Segment(1 << 20, size, idle=idle)
    segment.map[: len(text)] = text
    return segment


def dropped(idle: IdleMemory) -> int:
    """The address of a segment that was dropped, and that nothing refers to."""
    segment = written(idle)
    segment.drop()
    return segment.base


def test_a_later_segment_gets_the_memory_and_a_token_of_its_own(idle: IdleMemory) -> None:
    first = written(idle)
    base, path, token = first.base, first.path, first.token
    first.drop()
    del first
    second = written(idle, b"second")
    assert (second.base, second.path) == (base, path)
    assert second.token != token
    with pytest.raises(HeadraceError, match=r"spool\.segment_gone"):
        MappedSegment(path, token, 0)
    assert MappedSegment(second.path, second.token, 0).map[:6] == b"second"


def test_a_dropped_segment_is_gone_although_its_memory_is_kept(idle: IdleMemory) -> None:
    segment = written(idle)
    path, token = segment.path, segment.token
    segment.drop()
    with pytest.raises(HeadraceError, match=r"spool\.segment_gone"):
        MappedSegment(path, token, 0)
    del segment
    with pytest.raises(HeadraceError, match=r"spool\.segment_gone"):
        MappedSegment(path, token, 0)


def test_memory_that_a_reader_has_mapped_is_not_used_again(idle: IdleMemory) -> None:
    first = written(idle)
    base = first.base
    reader = MappedSegment(first.path, first.token, 0)
    first.drop()
    del first
    second = written(idle, b"second")
    assert second.base != base
    assert reader.map[:5] == b"first"
    del reader
    assert written(idle, b"third").base == base


def test_memory_that_another_process_has_mapped_is_not_used_again(idle: IdleMemory) -> None:
    first = written(idle)
    base = first.base
    script = (
        "import sys, time\n"
        "from headrace.spool.segment import MappedSegment\n"
        "segment = MappedSegment(sys.argv[1], bytes.fromhex(sys.argv[2]), 0)\n"
        "print('mapped', flush=True)\n"
        "sys.stdin.readline()\n"
        "print(segment.map[:5].decode())\n"
    )
    arguments = [sys.executable, "-c", script, first.path, first.token.hex()]
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "mapped\n"
        first.drop()
        del first
        assert written(idle, b"second").base != base
        assert reader.communicate("\n", timeout=60)[0] == "first\n"
    assert written(idle, b"third").base == base


@pytest.mark.parametrize("view", ["segment", "array", "map"])
def test_memory_that_this_process_refers_to_is_not_used_again(view: str, idle: IdleMemory) -> None:
    first = written(idle)
    base = first.base
    views = {"segment": first, "array": first.array[8:16], "map": memoryview(first.map)[8:16]}
    reference = views.pop(view)
    first.drop()
    del first, views
    assert written(idle, b"second").base != base
    del reference
    bases = {written(idle).base, written(idle).base}
    assert base in bases


def test_a_segment_gets_memory_that_is_not_much_larger_than_it_needs(idle: IdleMemory) -> None:
    large = written(idle, size=4 * SIZE)
    base = large.base
    large.drop()
    del large
    assert written(idle).base != base
    assert written(idle, size=3 * SIZE).base == base


def test_no_more_than_the_limit_is_kept(idle: IdleMemory) -> None:
    segments = [written(idle) for _ in range(40)]
    files = len(os.listdir("/proc/self/fd"))
    for segment in segments:
        segment.drop()
    del segment
    segments.clear()
    most_kept = LIMIT // SIZE
    assert files - 2 * 40 < len(os.listdir("/proc/self/fd")) <= files - 2 * (40 - most_kept)
    idle.limit(0)
    assert len(os.listdir("/proc/self/fd")) == files - 2 * 40


def test_nothing_is_kept_after_the_end_or_without_leases(
    idle: IdleMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = len(os.listdir("/proc/self/fd"))
    dropped(idle)
    assert len(os.listdir("/proc/self/fd")) > files

    def refused(*_: object) -> int:
        raise OSError(errno.EINVAL, "no leases here")

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "fcntl", refused)
        dropped(idle)
    dropped(idle)
    assert len(os.listdir("/proc/self/fd")) == files


def test_a_spool_that_is_cleared_keeps_no_memory() -> None:
    spool = Spool(row_kernel.END, 256 << 20)
    files = len(os.listdir("/proc/self/fd"))
    plan = spool.reserve(SIZE)
    base = plan.base
    plan.drop()
    del plan
    # Ranges have different sizes, but use one another's memory.
    plan = spool.reserve(SIZE - SIZE // 10)
    assert plan.base == base
    spool.add(SIZE)
    plan.drop()
    del plan
    spool.clear()
    assert len(os.listdir("/proc/self/fd")) == files


def test_a_reader_that_opens_a_file_while_its_lease_is_held_ends_nothing(idle: IdleMemory) -> None:
    segment = written(idle)
    script = (
        "import os, sys\n"
        "print('begun', flush=True)\n"
        "while True:\n"
        "    try:\n"
        "        os.close(os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK))\n"
        "    except BlockingIOError:\n"
        "        pass\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, segment.path], stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "begun\n"
        segment.drop()
        del segment
        stop = time.monotonic() + 1
        while time.monotonic() < stop:
            if (file := idle.take(SIZE)) is not None:
                idle.give(file)
        assert reader.poll() is None
        reader.kill()


class Readers(RuleBasedStateMachine):
    """Segments that are made, mapped, viewed and dropped in any order have their bytes as long as
    anybody can see them."""

    def __init__(self) -> None:
        super().__init__()
        self.idle = IdleMemory(LIMIT)
        self.segments: list[tuple[Segment, bytes]] = []
        self.views: list[tuple[memoryview, bytes]] = []
        self.number = 0

    @rule(size=st.sampled_from([100, SIZE, SIZE + 5000, 3 * SIZE]))
    def make(self, size: int) -> None:
        self.number += 1
        text = b"%08d" % self.number
        segment = Segment(1 << 20, size, idle=self.idle)
        segment.map[:8] = text
        segment.array[segment.capacity - 8 : segment.capacity] = bytearray(text)
        self.segments.append((segment, text))

    @rule(number=st.integers(0, 9), way=st.sampled_from(["map", "view", "array"]))
    def read(self, number: int, way: str) -> None:
        if self.segments:
            segment, text = self.segments[number % len(self.segments)]
            if way == "map":
                view = memoryview(MappedSegment(segment.path, segment.token, 0).map)
            else:
                view = memoryview(segment.map) if way == "view" else segment.array.data
            self.views.append((view, text))

    @rule(number=st.integers(0, 9))
    def drop(self, number: int) -> None:
        if self.segments:
            segment, _ = self.segments.pop(number % len(self.segments))
            segment.drop()

    @rule(number=st.integers(0, 9))
    def end_reading(self, number: int) -> None:
        if self.views:
            self.views.pop(number % len(self.views))

    @rule()
    def see(self) -> None:
        for segment, text in self.segments:
            assert segment.map[:8] == text
            assert MappedSegment(segment.path, segment.token, 0).map[:8] == text
            end = segment.capacity
            assert segment.array[end - 8 : end].tobytes() == text
        for view, text in self.views:
            assert view[:8] == text

    def teardown(self) -> None:
        self.see()
        for segment, _ in self.segments:
            segment.drop()
        self.idle.close()


TestReaders = Readers.TestCase
TestReaders.settings = settings(
    max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow]
)
