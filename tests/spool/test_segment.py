from __future__ import annotations

import os

import numpy as np
import pytest

from headrace.connect.rows import ROW, TRANSACTION
from headrace.errors import HeadraceError
from headrace.spool.extract import InMemory, SegmentPart
from headrace.spool.plan import write_plan
from headrace.spool.segment import MappedSegment, Segment


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_segment_is_gone_when_another_one_has_its_path(on_disk: bool) -> None:
    first = Segment(1 << 20, 4096, on_disk=on_disk)
    first.map[:5] = b"first"
    path, token = first.path, first.token
    assert bytes(MappedSegment(path, token, 0).map[:5]) == b"first"
    first.drop()
    second = Segment(2 << 20, 4096, on_disk=True)
    assert second.path == path
    with pytest.raises(HeadraceError, match=r"spool\.segment_gone"):
        MappedSegment(path, token, 0)
    second.drop()


def test_a_segment_is_gone_when_its_path_is_a_pipe_or_nothing() -> None:
    segment = Segment(1 << 20, 4096)
    path, token = segment.path, segment.token
    segment.drop()
    with pytest.raises(HeadraceError, match=r"spool\.segment_gone"):
        MappedSegment(path, token, 0)
    read, write = os.pipe()
    try:
        assert path in (f"/proc/{os.getpid()}/fd/{read}", f"/proc/{os.getpid()}/fd/{write}")
        with pytest.raises(HeadraceError, match=r"spool\.segment_gone"):
            MappedSegment(path, token, 0)
    finally:
        os.close(read)
        os.close(write)


def test_a_late_task_does_not_read_the_segments_of_a_later_range() -> None:
    segment = Segment(1 << 20, 4096)
    rows = np.zeros(1, ROW)
    rows["new"] = segment.start + 8
    plan = write_plan(rows, np.zeros(1, TRANSACTION))
    part = SegmentPart(segment.path, segment.token, segment.start, segment.end)
    late = InMemory(plan.path, plan.token, 1, 1, (part,))
    assert len(late.load(0, 1)) == 1
    segment.drop()
    another = Segment(2 << 20, 4096, on_disk=True)
    assert another.path == segment.path
    with pytest.raises(HeadraceError, match=r"spool\.segment_gone"):
        late.load(0, 1)
    plan.drop()
    another.drop()
