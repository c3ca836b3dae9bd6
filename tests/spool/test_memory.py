"""The bound of the spool's memory, and rows that travel with their bytes."""

from __future__ import annotations

import itertools
import mmap
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.rows import ROW, TRANSACTION
from headrace.errors import HeadraceError
from headrace.spool.extract import pack_inline
from headrace.spool.segment import SEGMENT_BYTES, TOKEN_BYTES, MappedSegment
from headrace.spool.spool import Spool
from headrace.streaming.changes.kernels import row_kernel

ONE_SEGMENT = SEGMENT_BYTES - PADDING - TOKEN_BYTES


def test_a_spool_has_room_up_to_its_bound_and_always_for_one_segment() -> None:
    spool = Spool(row_kernel.END, 3 * (SEGMENT_BYTES + mmap.PAGESIZE))  # padding and token
    assert spool.has_room(100 * SEGMENT_BYTES)  # a frame may be larger than the bound
    spool.add(ONE_SEGMENT)
    spool.add(ONE_SEGMENT)
    assert spool.has_room(SEGMENT_BYTES // 2)
    assert not spool.has_room(2 * SEGMENT_BYTES)
    spool.drop(lambda piece: True)  # the one being written stays
    assert len(spool.pieces) == 1
    assert spool.has_room()
    spool.clear()
    assert (spool.pieces, spool.bytes()) == ([], 0)


def test_segments_beyond_the_bound_are_on_disk_and_readable_by_their_path(
    tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_SPOOL_DIR", str(tmp_path))
    spool = Spool(row_kernel.END, 2 * SEGMENT_BYTES + SEGMENT_BYTES // 2)
    spool.unbounded = True
    pieces = [spool.add(ONE_SEGMENT) for _ in range(4)]
    assert [piece.segment.on_disk for piece in pieces] == [False, False, True, True]
    assert spool.memory_bytes() <= spool.max_bytes < spool.bytes()
    bounds = [(piece.segment.start, piece.segment.end) for piece in pieces]
    assert bounds[0][0] > 0
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(bounds))
    for number, piece in enumerate(pieces):
        piece.segment.array[:3] = number
        mapped = MappedSegment(piece.segment.path, piece.segment.token, piece.segment.start)
        assert mapped.array[:3].tolist() == [number] * 3
        assert len(mapped.array) == piece.segment.size
    path, token = pieces[-1].segment.path, pieces[-1].segment.token
    spool.clear()
    assert os.listdir(tmp_path) == []
    with pytest.raises(HeadraceError, match=r"spool\.segment_gone"):
        MappedSegment(path, token, 0)


def test_a_full_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_SPOOL_DIR", "/nowhere/at/all")
    spool = Spool(row_kernel.END, 1)
    spool.unbounded = True
    spool.add(1)
    with pytest.raises(HeadraceError, match=r"spool\.full"):
        spool.add(1)
    spool.clear()


def test_records_of_one_frame_share_its_copy() -> None:
    memory = np.zeros(1000 + PADDING, np.uint8)
    rows = np.zeros(3, ROW)
    rows["new"], rows["size"] = address_of(memory), 1000
    packed = pack_inline(rows, np.zeros(1, TRANSACTION))
    assert len(packed.images) == 1000
    assert len(set(packed.load().rows["new"])) == 1


@st.composite
def frames(draw: st.DrawFn) -> list[tuple[list[bytes], list[tuple[int, ...]], int]]:
    """Frames: their images one after the other, for each record the images (1-based, 0: none) of
    old, new and other, and the record's transaction."""
    drawn_frames = []
    for _ in range(draw(st.integers(0, 12))):
        images = draw(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=3))
        image = st.integers(0, len(images))
        records = draw(st.lists(st.tuples(image, image, image), min_size=1, max_size=3))
        drawn_frames.append((images, records, draw(st.integers(0, 4))))
    return drawn_frames


@given(frames())
def test_packed_rows_have_the_images_and_transactions_that_they_had(
    given_frames: list[tuple[list[bytes], list[tuple[int, ...]], int]],
) -> None:
    memory = np.frombuffer(
        b"".join(image for images, _, _ in given_frames for image in images) + bytes(2 * PADDING),
        np.uint8,
    ).copy()
    base = address_of(memory)
    rows = []
    expected = []
    start = 0
    for images, records, transaction in given_frames:
        starts = np.cumsum([start, *map(len, images)])
        start = int(starts[-1])
        for chosen in records:
            row = np.zeros(1, ROW)
            row["transaction"] = transaction
            addresses = [base + int(starts[number - 1]) if number else 0 for number in chosen]
            row["old"], row["new"], row["counterpart"] = addresses
            if any(addresses):
                row["size"] = base + start - min(a for a in addresses if a)
            rows.append(row)
            expected.append(([images[number - 1] if number else None for number in chosen],
                             100 + transaction))  # fmt: skip
    transactions = np.zeros(5, TRANSACTION)
    transactions["xid"] = np.arange(100, 105)
    table = np.concatenate([np.zeros(0, ROW), *rows])
    before = table.copy()
    loaded = pack_inline(table, transactions).load()
    assert (table == before).all()  # planned again, they are packed again
    memory[:] = 0  # nothing refers to where they were
    assert len(loaded.rows) == len(expected)
    packed = loaded.memory[0]
    assert isinstance(packed, np.ndarray)
    for row, (images, xid) in zip(loaded.rows, expected, strict=True):
        assert loaded.transactions[row["transaction"]]["xid"] == xid
        for name, image in zip(("old", "new", "counterpart"), images, strict=True):
            if image is None:
                assert row[name] == 0
                continue
            at = int(row[name]) - address_of(packed)
            assert packed[at : at + len(image)].tobytes() == image
