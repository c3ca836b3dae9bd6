"""One pass indexes the frames of every log that a connector assembles."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.kernels.functions import entry
from headrace.connect.kernels.loading import address_of_kernel
from headrace.connectors.db2.streaming.reader import ChangeTablesReader
from headrace.connectors.mongodb.streaming.reader import ChangeStreamReader
from headrace.connectors.oracle.streaming.reader import RedoReader
from headrace.streaming.changes.kernels import row_kernel
from headrace.streaming.changes.kernels.frame_kernel import (
    FRAME_HEAD,
    FRAME_HEAD_BYTES,
    frame_kind,
    index_frames,
)
from headrace.streaming.changes.kernels.row_kernel import BROKEN, FULL, MORE
from headrace.streaming.frame_reader import FrameReader
from tests.contract.journal.log_reader import JournalReader
from tests.fuzz.guarded import Guarded

SOURCES = Path(__file__).resolve().parents[2] / "src"
REFUSED, OWN_STATUS = ord("!"), row_kernel.OWN_STATUSES + 3
VIRTUAL = 1 << 40
READERS = (RedoReader, ChangeTablesReader, ChangeStreamReader, JournalReader)
ROOM = 64
SEGMENT, STATE = Guarded(1 << 12), Guarded(8 * row_kernel.OWN_WORDS)


@entry
def note_frame(frame, virtual, rows, transactions, ends, relations, options, scratch, state):  # type: ignore[no-untyped-def]
    if frame_kind(frame) == REFUSED:
        return OWN_STATUS
    rows[state[row_kernel.ROWS]] = frame + virtual
    state[row_kernel.ROWS] += 1
    return MORE


def indexed(log: bytes, room: int = ROOM, begin: int = 0) -> tuple[int, int, list[int]]:
    """The status of a pass over a segment, the bytes that are indexed, and the virtual addresses of
    the frames. The memory ends with the log."""
    data, at = SEGMENT.take(log), STATE.take(8 * row_kernel.OWN_WORDS)
    state = STATE.array(8 * row_kernel.OWN_WORDS).view(np.int64)
    state[:] = 0
    state[row_kernel.FRAME_KERNEL] = address_of_kernel(note_frame)
    state[row_kernel.INDEXED] = begin
    rows = np.zeros(ROOM, np.int64)
    place = rows.ctypes.data
    status = index_frames(data, len(log), VIRTUAL, place, room, 0, ROOM, 0, ROOM, 0, 0, 0, at)
    return status, int(state[row_kernel.INDEXED]), rows[: state[row_kernel.ROWS]].tolist()


def frame(kind: str, size: int) -> bytes:
    return FRAME_HEAD.pack(size, ord(kind)) + bytes(size - FRAME_HEAD_BYTES)


FRAMES = st.lists(st.integers(FRAME_HEAD_BYTES, 40), max_size=20)


@given(FRAMES, st.data())
def test_whole_frames_are_indexed_once_and_an_incomplete_one_later(
    sizes: list[int], data: st.DataObject
) -> None:
    log = b"".join(frame("c", size) for size in sizes)
    starts = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
    written = data.draw(st.integers(0, len(log)))
    whole = [start for start in starts if start <= written]
    status, at, first = indexed(log[:written])
    assert (status, at) == (MORE, whole[-1])
    assert first == [VIRTUAL + start for start in whole[:-1]]
    status, at, rest = indexed(log, begin=at)
    assert (status, at) == (MORE, len(log))
    assert first + rest == [VIRTUAL + start for start in starts[:-1]]


@given(FRAMES, st.integers(0, FRAME_HEAD_BYTES - 1))
def test_a_frame_that_is_smaller_than_its_head_is_broken(sizes: list[int], size: int) -> None:
    log = b"".join(frame("c", size) for size in sizes)
    status, at, rows = indexed(log + FRAME_HEAD.pack(size, ord("c")))
    assert (status, at, len(rows)) == (BROKEN, len(log), len(sizes))


@given(FRAMES, FRAMES)
def test_the_pass_stops_before_a_frame_that_its_kernel_refuses(
    before: list[int], after: list[int]
) -> None:
    first = b"".join(frame("c", size) for size in before)
    log = first + frame("!", 9) + b"".join(frame("c", size) for size in after)
    status, at, rows = indexed(log)
    assert (status, at, len(rows)) == (OWN_STATUS, len(first), len(before))


def test_the_pass_stops_where_the_index_may_be_full() -> None:
    status, at, rows = indexed(frame("c", 8) * 20, room=10)
    assert status == FULL
    assert at == 8 * len(rows)
    assert len(rows) == 7  # a frame makes up to four rows


@pytest.mark.parametrize("reader", READERS)
def test_frames_of_every_connector_are_indexed_by_the_same_pass(
    reader: type[FrameReader],
) -> None:
    assert reader.kernel is index_frames
    assert reader.frame_kernel is not index_frames
    defined = [
        path.relative_to(SOURCES / "headrace").as_posix()
        for path in sorted(SOURCES.rglob("*.py"))
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name == "index_frames"
    ]
    assert defined == [
        "connectors/postgresql/replication/pgoutput.py",  # frames of the server
        "streaming/changes/kernels/frame_kernel.py",
    ]
