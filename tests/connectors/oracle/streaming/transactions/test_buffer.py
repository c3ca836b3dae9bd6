"""The buffer of open transactions against a plain model of it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connect.images import cells, make_image
from headrace.connect.kernels.memory import PADDING
from headrace.connectors.oracle.streaming.row_effects import RowEffects, RowOptions
from headrace.connectors.oracle.streaming.transactions.buffer import (
    BufferOptions,
    Names,
    TransactionBuffer,
)
from headrace.errors import HeadraceError
from tests.connectors.oracle.streaming import redo
from tests.connectors.oracle.streaming.tables import FoundTable


@dataclass
class _Buffered:
    """A buffer, and what it wrote."""

    max_bytes: int = 256 << 20
    threshold: int = 0
    excluded: Sequence[str] = ()
    users: Names = field(init=False)
    buffer: TransactionBuffer = field(init=False)
    effects: RowEffects = field(init=False)
    written: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.users, clients = Names((), self.excluded), Names((), ())
        options = BufferOptions(max_bytes=self.max_bytes, threshold=self.threshold)
        self.buffer = TransactionBuffer(options, self.users, clients)

        self.effects = RowEffects(
            FoundTable.named, redo.statements(), self.users, clients, RowOptions()
        )

    def hold(self, rows: Sequence[dict[str, Any]]) -> None:
        batch = redo.batch(rows)
        self.buffer.hold(self.effects.of(batch, np.zeros(len(batch), bool)))

    def write(self, room: int = 1 << 16) -> None:
        commits = self.buffer.commits()
        self.buffer.release(self.buffer.take(commits, len(commits)).numbers)
        while self.buffer.has_ready:
            target = np.zeros(room + PADDING, np.uint8)
            size = self.buffer.write(target[:room])
            assert size > 0
            self.written += target[:size].tobytes()

    def transactions(self) -> list[dict[str, Any]]:
        """The transactions that were written."""
        transactions: list[dict[str, Any]] = []
        at = 0
        while at < len(self.written):
            size, kind = struct.unpack_from("!IB", self.written, at)
            body = bytes(self.written[at + 5 : at + size])
            if kind == ord("B"):
                transactions.append({"begins": cells(body[24:]), "place": body[:16], "changes": []})
            elif kind == ord("E"):
                transactions[-1]["ended"] = True
            else:
                relation, scn, us = struct.unpack_from("!IQq", body)
                assert relation == 3
                extra, images = _image_and_rest(body[20:])
                transactions[-1]["changes"].append((chr(kind), scn, us, extra, images))
            at += size
        assert at == len(self.written)
        return transactions


def _image_and_rest(data: bytes) -> tuple[list[bytes | None], list[list[bytes | None]]]:

    images = []
    while data:
        image = cells(data)
        images.append(image)
        data = data[len(make_image(image)) :]
    return images[0], images[1:]


A, B, C = "0100020003000000", "0a00020003000001", "0b00020003000002"


@pytest.fixture
def buffered() -> _Buffered:
    return _Buffered()


def test_interleaved_transactions_come_whole_and_in_the_order_of_their_commits(
    buffered: _Buffered,
) -> None:
    buffered.hold(
        [
            redo.start(10, A),
            redo.change("c", 11, A, new=["1", "a"]),
            redo.start(12, B, USERNAME="OTHER"),
            redo.change("c", 13, B, new=["2", None]),
            redo.change("u", 14, A, old=["1", "a"], new=["1", "b"]),
            redo.commit(15, B, **{"THREAD#": 2}),
            redo.change("d", 16, A, old=["1", "b"]),
            redo.commit(17, A),
        ]
    )
    buffered.write()
    first, second = buffered.transactions()
    assert first["begins"] == [
        B.encode(), b"15", b"2", b"OTHER", b"1767323046000", b"13", b"1767323046000",
    ]  # fmt: skip
    assert [change[0] for change in first["changes"]] == ["c"]
    assert first["changes"][0][3] == [
        b"0x00000d.00000001.0010", b"AAAR3sAAEAAAACXAAA", None, None,
    ]  # fmt: skip
    assert second["begins"][0] == A.encode()
    assert [(change[0], change[4]) for change in second["changes"]] == [
        ("c", [[b"1", b"a"]]),
        ("u", [[b"1", b"a"], [b"1", b"b"]]),
        ("d", [[b"1", b"b"]]),
    ]
    assert buffered.buffer.held_bytes == 0
    assert buffered.buffer.open_count == 0


def test_commits_of_one_scn_are_in_the_order_of_their_ids(buffered: _Buffered) -> None:
    high = "f100020003000000"
    rows = [redo.change("c", 11, xid, new=["1"]) for xid in (high, B, A)]
    buffered.hold([*rows, *(redo.commit(20, xid) for xid in (high, B, A))])
    buffered.write()
    assert [transaction["begins"][0] for transaction in buffered.transactions()] == [
        A.encode(),
        B.encode(),
        high.encode(),
    ]


def test_a_rollback_to_a_savepoint_cancels_the_newest_changes_of_its_rows(
    buffered: _Buffered,
) -> None:
    buffered.hold(
        [
            redo.change("c", 11, A, new=["1", "kept"]),
            redo.change("u", 12, A, old=["1", "kept"], new=["1", "undone"]),
            redo.change("c", 13, A, new=["2", "undone"], ROW_ID="AAAR3sAAEAAAACXAAB"),
            redo.undo("d", 14, A, "AAAR3sAAEAAAACXAAB", "T2"),
            redo.undo("u", 15, A, table="T2"),
            redo.undo("u", 15, A, "AAAR3sAAEAAAACXAAZ", "T2"),
            redo.change("c", 16, A, new=["3", "kept"], ROW_ID="AAAR3sAAEAAAACXAAB"),
            redo.commit(17, A),
        ]
    )
    buffered.write()
    (only,) = buffered.transactions()
    assert [change[4] for change in only["changes"]] == [[[b"1", b"kept"]], [[b"3", b"kept"]]]
    assert buffered.buffer.unmatched == 1


@pytest.mark.parametrize("row_id", ["AAAAAAAAAAAAAAAAAA", None])
def test_a_rollback_row_of_another_table_takes_back_no_change_of_the_same_row_id(
    buffered: _Buffered, row_id: str | None
) -> None:
    buffered.hold(
        [
            redo.change("c", 11, A, new=["1"], ROW_ID=row_id),
            redo.undo("d", 12, A, row_id, "T2"),
            redo.undo("d", 13, A, row_id, "NOT_CAPTURED"),
            redo.undo("d", 14, A, row_id, None),
            redo.commit(15, A),
        ]
    )
    assert buffered.buffer.unmatched == 1
    buffered.write()
    (only,) = buffered.transactions()
    assert [change[4] for change in only["changes"]] == [[[b"1"]]]


def test_rollbacks_and_markers_of_replication_drop_what_was_held(buffered: _Buffered) -> None:
    buffered.hold(
        [
            redo.change("c", 11, A, new=["1"]),
            redo.rollback(12, A),
            redo.change("c", 13, B, new=["1"]),
            redo.row(27, 14, B),
            redo.commit(15, A),
            redo.commit(15, B),
        ]
    )
    buffered.write()
    assert buffered.transactions() == []
    assert buffered.buffer.rolled_back == 2


def test_an_id_of_unknown_sequence_is_that_of_the_only_one_with_its_slot(
    buffered: _Buffered,
) -> None:
    unknown = A[:8] + "ffffffff"
    buffered.hold(
        [
            redo.change("c", 11, A, new=["1"]),
            redo.change("c", 12, A, new=["2"], ROW_ID="AAAR3sAAEAAAACXAAB"),
            redo.undo("d", 13, unknown),
            redo.commit(14, A),
            redo.change("c", 15, B, new=["3"]),
            redo.rollback(16, B[:8] + "ffffffff"),
            redo.commit(17, B),
        ]
    )
    buffered.write()
    (only,) = buffered.transactions()
    assert [change[4] for change in only["changes"]] == [[[b"2"]]]


def test_an_id_of_unknown_sequence_is_nobodys_where_several_share_its_slot(
    buffered: _Buffered,
) -> None:
    twin = A[:8] + "00000099"
    buffered.hold(
        [
            redo.change("c", 11, A, new=["1"]),
            redo.change("c", 12, twin, new=["2"]),
            redo.rollback(13, A[:8] + "ffffffff"),
            redo.commit(14, A),
            redo.commit(15, twin),
        ]
    )
    buffered.write()
    assert len(buffered.transactions()) == 2


def test_an_end_without_a_sequence_that_ends_no_transaction_is_counted(
    buffered: _Buffered,
) -> None:
    unknown, twin = A[:8] + "ffffffff", A[:8] + "00000099"
    buffered.hold([redo.commit(10, unknown)])
    assert (buffered.buffer.unresolved, buffered.buffer.last_unresolved[0]) == (1, 10)
    buffered.hold([redo.start(11, A), redo.start(12, twin), redo.rollback(13, unknown)])
    assert buffered.buffer.unresolved == 2
    assert buffered.buffer.last_unresolved == (13, int(unknown, 16))


def test_what_is_held_without_a_sequence_is_of_the_transaction_that_ends_with_one(
    buffered: _Buffered,
) -> None:
    unknown = A[:8] + "ffffffff"
    buffered.hold(
        [
            redo.change("c", 11, unknown, new=["1"]),
            redo.change("c", 12, unknown, new=["2"], ROW_ID="AAAR3sAAEAAAACXAAB"),
            redo.change("c", 13, A, new=["3"], ROW_ID="AAAR3sAAEAAAACXAAC"),
            redo.undo("d", 14, A),
            redo.commit(15, A),
            redo.change("c", 16, B[:8] + "ffffffff", new=["4"]),
            redo.rollback(17, B),
        ]
    )
    buffered.write()
    (only,) = buffered.transactions()
    assert only["begins"][0] == A.encode()
    assert [change[4] for change in only["changes"]] == [[[b"2"]], [[b"3"]]]
    assert (buffered.buffer.open_count, buffered.buffer.unmatched) == (0, 0)


def test_a_transaction_that_begins_again_was_mined_again(buffered: _Buffered) -> None:
    rows = [redo.start(10, A), redo.change("c", 11, A, new=["1"])]
    buffered.hold([*rows, *rows, redo.commit(12, A)])
    buffered.write()
    (only,) = buffered.transactions()
    assert len(only["changes"]) == 1


def test_users_that_are_excluded_are_left_out_at_their_commit() -> None:
    buffered = _Buffered(excluded=("sys",))
    buffered.hold(
        [
            redo.start(10, A, USERNAME="SYS"),
            redo.change("c", 11, A, new=["1"], USERNAME="SYS"),
            redo.commit(12, A),
        ]
    )
    buffered.write()
    assert buffered.transactions() == []


def test_a_transaction_of_too_many_changes_is_given_up() -> None:
    buffered = _Buffered(threshold=3)
    buffered.hold(
        [
            *(redo.change("c", 11, A, new=["1"]) for _ in range(5)),
            *(redo.change("c", 12, B, new=["1"]) for _ in range(2)),
            redo.commit(13, A),
            redo.commit(14, B),
        ]
    )
    buffered.write()
    (only,) = buffered.transactions()
    assert only["begins"][0] == B.encode()
    assert buffered.buffer.abandoned == 1


def test_changes_beyond_the_bound_of_memory_are_in_files_and_come_back() -> None:
    buffered = _Buffered(max_bytes=5 << 20)
    large = "x" * (1 << 20)
    rows = [redo.change("c", 11, A, new=[str(number), large]) for number in range(20)]
    huge = redo.change("c", 12, A, new=["20", large * 6])
    buffered.hold([*rows, huge])
    assert buffered.buffer.disk_bytes > 8 << 20
    buffered.hold([redo.commit(13, A)])
    buffered.write(1 << 20)
    (only,) = buffered.transactions()
    assert [int(change[4][0][0]) for change in only["changes"]] == list(range(21))
    assert only["changes"][20][4][0][1] == large.encode() * 6
    assert buffered.buffer.disk_bytes == 0


def test_the_oldest_transaction_is_one_that_is_open_or_not_written(buffered: _Buffered) -> None:
    assert buffered.buffer.oldest() is None
    buffered.hold([redo.start(5, C), redo.start(9, A), redo.change("c", 11, A, new=["1"])])
    assert (buffered.buffer.oldest(), buffered.buffer.oldest(with_empty=False)) == (5, 9)
    buffered.hold([redo.rollback(12, C), redo.commit(12, A)])
    assert buffered.buffer.oldest() == 9
    assert buffered.buffer.oldest(with_committed=False) is None
    buffered.write()
    assert buffered.buffer.oldest() is None


_XIDS = [f"{number:04x}000200000001" for number in range(40)]
_STEP = st.tuples(
    st.sampled_from(["start", "change", "change", "change", "undo", "commit", "rollback"]),
    st.sampled_from(_XIDS),
    st.integers(0, 3),
    st.integers(0, 600),
)


@given(st.lists(st.lists(_STEP, max_size=60), max_size=6), st.integers(3000, 9000))
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_what_a_plain_model_says(
    batches: list[list[tuple[str, str, int, int]]], room: int
) -> None:
    buffered = _Buffered(max_bytes=4 << 20)
    model: dict[str, list[tuple[int, list[bytes]]]] = {}
    written: list[tuple[str, list[list[bytes]]]] = []
    scn = 100
    for steps in batches:
        rows, committed = [], []
        for action, xid, row_number, size in steps:
            scn += 1
            row_id = f"AAAR3sAAEAAAACXAA{row_number}"
            if action == "start":
                rows.append(redo.start(scn, xid))
                model[xid] = []
            elif action == "change":
                value = f"{scn}" + "v" * size
                rows.append(redo.change("c", scn, xid, new=[value], ROW_ID=row_id))
                model.setdefault(xid, []).append((row_number, [value.encode()]))
            elif action == "undo":
                rows.append(redo.undo("d", scn, xid, row_id))
                held_rows = model.get(xid, [])
                places = [place for place, row in enumerate(held_rows) if row[0] == row_number]
                if places:
                    del held_rows[places[-1]]
            else:
                ends = redo.commit if action == "commit" else redo.rollback
                rows.append(ends(scn, xid))
                held_rows = model.pop(xid, [])
                if held_rows and action == "commit":
                    committed.append((xid, [row[1] for row in held_rows]))
        buffered.hold(rows)
        buffered.write(room)
        written += committed
    read = [
        (transaction["begins"][0].decode(), [change[4][0] for change in transaction["changes"]])
        for transaction in buffered.transactions()
    ]
    assert read == written
    assert all(transaction["ended"] for transaction in buffered.transactions())


def test_a_statement_that_only_python_reads_is_held_like_others(buffered: _Buffered) -> None:
    odd = "insert into \"S\".\"T1\"(\"A\") values ('x' || 'y' || HEXTORAW('41'));"
    plain = redo.change("c", 12, A, new=["2"])
    buffered.hold([redo.change("c", 11, A, new=["1"], SQL_REDO=odd), plain, redo.commit(13, A)])
    buffered.write()
    (only,) = buffered.transactions()
    assert [(change[0], change[4]) for change in only["changes"]] == [
        ("c", [[b"xyA"]]),
        ("c", [[b"2"]]),
    ]


@pytest.mark.parametrize("text", ["/* No SQL_REDO for temporary tables */", ""])
def test_changes_without_statement_are_left_out(buffered: _Buffered, text: str) -> None:
    row = redo.change("c", 11, A, new=["1"], SQL_REDO=text)
    buffered.hold([row, redo.change("c", 12, A, new=["2"]), redo.commit(13, A)])
    buffered.write()
    (only,) = buffered.transactions()
    assert [change[4] for change in only["changes"]] == [[[b"2"]]]


def test_a_value_that_reads_like_a_missing_statement_is_a_value(buffered: _Buffered) -> None:
    value = "No SQL_REDO for temporary tables"
    buffered.hold([redo.change("c", 11, A, new=[value]), redo.commit(13, A)])
    buffered.write()
    (only,) = buffered.transactions()
    assert only["changes"][0][4] == [[value.encode()]]


def test_a_statement_that_nothing_reads_ends_the_stream(buffered: _Buffered) -> None:
    with pytest.raises(HeadraceError, match=r"S\.T1 cannot be read"):
        buffered.hold([redo.change("c", 11, A, new=["1"], SQL_REDO="grant all to everybody;")])
