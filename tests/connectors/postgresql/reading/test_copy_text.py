"""COPY's text format to row images: against plain Python, and against broken bytes."""

from __future__ import annotations

import itertools
import struct

import hypothesis
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connectors.postgresql.reading.copy_text import Status, transcode, transcode_rows
from tests.compiled import callable_part
from tests.connectors.postgresql.reading.copy_rows import Row, copy_row, image
from tests.examples import examples

_transcode = callable_part(transcode)

CANARY = 0xA5

cells = st.none() | st.binary(max_size=40).map(lambda data: data.replace(b"\0", b""))
special_cells = st.none() | st.text("\t\n\\Nab\r\v\f\b", max_size=40).map(str.encode)
rows_of_cells = st.lists(cells | special_cells, min_size=1, max_size=40)


def transcoded(text: bytes, columns: int, room: int | None = None) -> bytes | Status:
    """The image, or what is wrong; checks that nothing outside input and output matters."""
    room = len(text) + 5 * max(columns, 0) + 2 if room is None else room
    answers = set()
    for poison in (9, 10, 92, 78, 0):
        source = np.full(len(text) + PADDING, poison, np.uint8)
        source[: len(text)] = np.frombuffer(text, np.uint8)
        target = np.full(64 + room + PADDING + 256, CANARY, np.uint8)
        out = address_of(target) + 64
        size = _transcode(address_of(source), len(text), columns, out, room)
        assert (target[:64] == CANARY).all()
        assert (target[64 + room + PADDING :] == CANARY).all()
        assert size <= room
        answers.add(target[64 : 64 + size].tobytes() if size >= 0 else Status(size))
    assert len(answers) == 1
    return answers.pop()


@settings(deadline=None)
@hypothesis.given(rows_of_cells)
def test_a_row_becomes_its_image(row: Row) -> None:
    assert transcoded(copy_row(row), len(row)) == image(row)


def test_special_characters_are_found_at_every_place_of_a_block() -> None:
    for place in range(36):
        for special in (b"\t", b"\n", b"\\", b"\\N", b"\x0b"):
            row: Row = [b"x" * place + special, None, b"", b"y" * place, None]
            assert transcoded(copy_row(row), 5) == image(row)


@pytest.mark.parametrize("row", [[b""], [None], [b"", b""], [None, b""], [b"", None], [None] * 40])
def test_empty_cells_and_nulls_differ(row: Row) -> None:
    assert transcoded(copy_row(row), len(row)) == image(row)


def test_a_table_without_columns_has_empty_rows() -> None:
    assert transcoded(b"\n", 0) == b"\0\0"
    assert transcoded(b"a\n", 0) == Status.COLUMNS


@settings(deadline=None)
@hypothesis.given(rows_of_cells, st.integers(0, 60))
def test_another_number_of_columns_is_an_error(row: Row, columns: int) -> None:
    if columns == len(row) or (columns == 0 and copy_row(row) == b"\n"):
        return
    assert transcoded(copy_row(row), columns) == Status.COLUMNS


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"a",
        b"a\\",
        b"a\\\n",
        b"\\",
        b"a\nb\n",
        b"\\Nx\n",
        b"x\\N\n",
        b"\\x41\n",
        b"\\101\n",
        b"\\.\n",
    ],
)
def test_text_of_another_form_is_an_error(text: bytes) -> None:
    assert transcoded(text, 1) == Status.MALFORMED


def test_too_little_room_is_an_error_and_writes_nothing() -> None:
    for room in range(len(b"abc\tdef\n") + 12):
        assert transcoded(b"abc\tdef\n", 2, room) == Status.CAPACITY
    assert transcoded(b"a\n", -1) == transcoded(b"a\n", 40000, 10**6) == Status.MALFORMED


@settings(max_examples=examples(500), deadline=None)
@hypothesis.given(
    st.binary(max_size=100) | st.text("\t\n\\Nab.", max_size=100).map(str.encode),
    st.integers(-2, 50),
)
def test_no_bytes_harm_the_kernel(text: bytes, columns: int) -> None:
    for data in (text, text + b"\n"):
        answer = transcoded(data, columns)
        assert isinstance(answer, Status) or answer[:2] == struct.pack("!h", columns)


def copy_data(text: bytes) -> bytes:
    return b"d" + struct.pack("!I", len(text) + 4) + text


def images_of(
    frames: bytes, columns: int, *, room: int = 1 << 16, max_rows: int = 1000
) -> tuple[list[bytes], int, Status]:
    source = np.zeros(len(frames) + PADDING, np.uint8)
    source[: len(frames)] = np.frombuffer(frames, np.uint8)
    target = np.full(room + PADDING + 64, CANARY, np.uint8)
    offsets = np.full(max_rows + 2, -7, np.int64)
    state = np.zeros(2, np.int64)
    count = transcode_rows(
        address_of(source),
        len(frames),
        columns,
        address_of(target),
        room,
        address_of(offsets),
        max_rows,
        address_of(state),
    )
    assert 0 <= count <= max_rows
    assert (target[room + PADDING :] == CANARY).all()
    assert (offsets[count + 1 :] == -7).all()
    places = offsets[: count + 1].tolist()
    images = [target[a:b].tobytes() for a, b in itertools.pairwise(places)]
    return images, int(state[0]), Status(int(state[1]))


@settings(deadline=None)
@hypothesis.given(
    st.lists(st.lists(cells, min_size=3, max_size=3), max_size=20), st.integers(0, 40), st.data()
)
def test_rows_are_taken_as_they_come(rows: list[Row], max_rows: int, data: st.DataObject) -> None:
    frames = b"".join(copy_data(copy_row(row)) for row in rows)
    cut = data.draw(st.integers(0, len(frames)))
    images, used, status = images_of(frames[:cut], 3, max_rows=max_rows)
    assert images == [image(row) for row in rows[: len(images)]]
    assert used == sum(len(copy_data(copy_row(row))) for row in rows[: len(images)])
    if status is Status.FULL:
        assert len(images) == max_rows
    else:
        assert status is Status.MORE
        again, more, _ = images_of(frames[used:], 3)
        assert images + again == [image(row) for row in rows]
        assert used + more == len(frames)


def test_a_full_output_stops_before_the_row_that_does_not_fit() -> None:
    frames = copy_data(b"abc\n") * 3
    assert images_of(frames, 1, room=25) == ([image([b"abc"])] * 2, 18, Status.FULL)
    assert images_of(frames, 1, room=5) == ([], 0, Status.FULL)


def test_other_messages_and_broken_ones_are_distinguished() -> None:
    good = copy_data(b"a\n")
    assert images_of(good + b"c\0\0\0\4", 1) == ([image([b"a"])], len(good), Status.OTHER)
    assert images_of(good + b"d\0\0\0\3xxxx", 1)[2] is Status.MALFORMED
    assert images_of(b"d\xff\xff\xff\xffxxxx", 1) == ([], 0, Status.MORE)
    assert images_of(good + copy_data(b"a\tb\n"), 1)[2] is Status.COLUMNS
    assert images_of(copy_data(b""), 1)[2] is Status.MALFORMED


@settings(max_examples=examples(300), deadline=None)
@hypothesis.given(
    st.lists(st.binary(max_size=30) | st.just(copy_data(b"a\t\\N\n")), max_size=8).map(b"".join),
    st.integers(0, 5),
    st.integers(0, 200),
)
def test_no_messages_harm_the_kernel(frames: bytes, columns: int, room: int) -> None:
    _, used, _ = images_of(frames, columns, room=room)
    assert 0 <= used <= len(frames)
