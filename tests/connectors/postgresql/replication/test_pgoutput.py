from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connectors.postgresql.replication import pgoutput as decoder
from headrace.connectors.postgresql.replication.pgoutput_messages import parse_origin
from headrace.debezium.column_rules import truncated
from headrace.errors import HeadraceError
from headrace.streaming.changes.kernels import row_kernel
from tests.connectors.postgresql.replication.pgoutput import (
    VIRTUAL,
    Index,
    begin,
    cell,
    commit,
    delete,
    frame,
    image,
    insert,
    keep_alive,
    update,
)
from tests.examples import examples

ROW_1 = image(cell(b"1"), cell(b"one"))
ROW_2 = image(cell(b"2"), cell(b"two"))
VALID = b"".join(
    (
        keep_alive(50),
        begin(100),
        insert(0, ROW_1, 60),
        update(0, image(cell(b"1"), cell(b"uno")), lsn=70),
        update(0, ROW_2, image(cell(b"1"), cell(None)), b"K", 80),
        delete(0, image(cell(b"2"), cell(None)), lsn=90),
        commit(100, 110),
        keep_alive(200),
    )
)


def test_a_transaction_becomes_one_row_per_record() -> None:
    index = Index(VALID, [2])
    assert index.status == row_kernel.MORE
    assert [chr(op) if op else "" for op in index.rows["operation"]] == [
        "c", "u", "d", "", "c", "d", "",
    ]  # fmt: skip
    assert index.rows["ordinal"].tolist() == [1, 2, 3, 3, 3, 4, 4]
    assert index.rows["part"].tolist() == [2, 2, 0, 1, 2, 0, 1]
    assert set(index.rows["position"]) == {100}
    assert index.ends["position"].tolist() == [110]


def test_both_halves_of_a_key_change_are_hashed_by_their_own_key() -> None:
    rows = Index(VALID, [2]).rows
    assert rows["hash"][0] == rows["hash"][1] == rows["hash"][2] == rows["hash"][3]
    assert rows["hash"][4] == rows["hash"][5] != rows["hash"][0]


def test_keep_alives_move_the_position_between_transactions_only() -> None:
    assert Index(VALID, [2]).state[row_kernel.COMPLETE] == 200
    inside = begin(100) + insert(0, ROW_1) + keep_alive(500)
    assert Index(inside, [2]).state[row_kernel.COMPLETE] == 0


def test_an_update_that_names_an_unchanged_key_stays_an_update() -> None:
    raw = begin(9) + update(0, ROW_1, ROW_1, b"O") + commit(9, 10)
    assert [chr(op) for op in Index(raw, [2]).rows["operation"]] == ["u"]


def test_rows_of_tables_that_are_not_captured_still_count() -> None:
    raw = begin(9) + insert(0, ROW_1) + insert(0, ROW_2) + commit(9, 10)
    index = Index(raw, [2], options=row_kernel.SKIP_CREATE)
    assert len(index.rows) == 0
    assert index.state[row_kernel.ORDINAL] == 3  # BEGIN counts too
    assert index.state[row_kernel.COMPLETE] == 10


def test_the_newest_place_that_the_server_named_is_kept() -> None:
    frames = begin(100), insert(0, ROW_1, lsn=400), insert(0, ROW_2, lsn=300), commit(100, 200)
    assert Index(b"".join(frames), [2]).state[decoder.WAL_END] == 400


@pytest.mark.parametrize("payload", [b"z" + bytes(24) + b"B", b"w" + bytes(24), b"w", b""])
def test_a_frame_that_is_neither_log_nor_keep_alive_is_broken(payload: bytes) -> None:
    raw = b"d" + struct.pack("!I", len(payload) + 4) + payload
    assert Index(raw + begin(9), [2]).status == row_kernel.BROKEN


def test_an_incomplete_frame_waits_for_its_rest() -> None:
    for size in range(len(VALID)):
        index = Index(VALID[:size], [2])
        assert index.status == row_kernel.MORE
        assert index.state[row_kernel.INDEXED] <= size


def test_a_row_with_another_number_of_columns_is_broken() -> None:
    assert Index(begin(9) + insert(0, image(cell(b"1"))), [2]).status == row_kernel.BROKEN


def test_a_cell_that_reaches_beyond_its_frame_is_broken() -> None:
    lying = image(b"t\xff\xff\xff\x00", cell(b"x"))
    assert Index(begin(9) + insert(0, lying) + commit(9, 10), [2]).status == row_kernel.BROKEN


def test_bytes_after_the_last_cell_are_broken() -> None:
    for change in (
        insert(0, ROW_1 + b"x"),
        update(0, ROW_1 + b"x"),
        update(0, ROW_1, ROW_1 + b"x", b"O"),
        delete(0, ROW_1 + b"x"),
    ):
        index = Index(begin(9) + change + commit(9, 10), [2])
        assert index.status == row_kernel.BROKEN
        assert len(index.rows) == 0


def test_a_change_outside_a_transaction_is_broken() -> None:
    assert Index(insert(0, ROW_1), [2]).status == row_kernel.BROKEN


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_end_in_a_status(raw: bytes) -> None:
    assert 0 <= Index(raw, [2]).status <= decoder.COPY_DONE


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.binary(max_size=60), max_size=10))
def test_any_messages_in_valid_frames_end_in_a_status(bodies: list[bytes]) -> None:
    assert 0 <= Index(b"".join(frame(body) for body in bodies), [2]).status <= decoder.COPY_DONE


def test_one_changed_byte_never_makes_an_image_leave_its_frame() -> None:
    for place, known in enumerate(VALID):
        near = {(known + distance) % 256 for distance in range(-12, 13)}
        for byte in near | {0, 0x7F, 0x80, 0xFF, *b"KNOntu"}:
            raw = VALID[:place] + bytes([byte]) + VALID[place + 1 :]
            index = Index(raw, [2])
            ends = frame_ends(raw)
            for name in ("old", "new", "counterpart"):
                for address in set(index.rows[name]) - {0}:
                    start = int(address) - VIRTUAL
                    end = next(end for end in ends if end > start)
                    assert image_end(raw, start) <= end, (place, byte)


def frame_ends(raw: bytes) -> list[int]:
    """The ends of the CopyData frames."""
    ends = [0]
    while ends[-1] + 5 <= len(raw):
        (length,) = struct.unpack_from("!I", raw, ends[-1] + 1)
        ends.append(ends[-1] + 1 + length)
    return ends


def image_end(raw: bytes, start: int) -> int:
    """The end of an image's last cell. Raises an error for bytes that are not an image."""
    assert start >= 0
    (count,) = struct.unpack_from("!h", raw, start)
    place = start + 2
    for _ in range(count):
        kind = raw[place : place + 1]
        assert kind in (b"t", b"n", b"u")
        place += 1
        if kind == b"t":
            (length,) = struct.unpack_from("!i", raw, place)
            assert length >= 0
            place += 4 + length
    return place


def test_an_image_that_is_cut_short_is_seen_to_leave_its_memory() -> None:
    start = VALID.index(ROW_1)
    assert image_end(VALID, start) == start + len(ROW_1)
    assert image_end(VALID[: start + len(ROW_1) - 1], start) > len(VALID[: start + len(ROW_1) - 1])


texts = st.none() | st.text("10.é😀", max_size=6)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(texts, texts), min_size=4, max_size=4))
def test_an_update_is_dropped_when_both_images_show_the_same(
    pairs: list[tuple[str | None, str | None]],
) -> None:
    def shown(column: int, text: str | None) -> object:
        way = column % 4
        if text is None or way == row_kernel.EXACT:
            return text
        if way == row_kernel.TEXT_BEGINNING:
            return truncated(text, column)
        if way == row_kernel.BYTES_BEGINNING:
            return text.encode()[:column]
        return text.rstrip("0").removesuffix(".") if "." in text else text

    def made(side: int) -> bytes:
        cells = (pair[side] for pair in pairs)
        key_and_columns = [b"1", *(None if c is None else c.encode() for c in cells)]
        return image(*(b"n" if c is None else cell(c) for c in key_and_columns))

    raw = begin(9) + update(0, made(1), made(0), b"O") + commit(9, 10)
    index = Index(raw, [5], skip_unchanged=True)
    assert index.status == row_kernel.MORE
    same = all(shown(i, old) == shown(i, new) for i, (old, new) in enumerate(pairs, 1))
    assert len(index.rows) == (0 if same else 1)


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_of_an_origin_are_understood_or_refused(rest: bytes) -> None:
    if len(rest) < 8 or not _is_text(rest[8:].partition(b"\0")):
        with pytest.raises(HeadraceError, match="malformed origin"):
            parse_origin(b"O" + rest)
    else:
        lsn, name = parse_origin(b"O" + rest)
        assert rest.startswith(lsn.to_bytes(8, "big") + name.encode() + b"\0")


def _is_text(parts: tuple[bytes, bytes, bytes]) -> bool:
    return bool(parts[1]) and parts[0].decode(errors="replace").encode() == parts[0]
