"""Positions, and the offsets that they are written into."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.rows import ROW, put_place
from headrace.connectors.oracle.position import OraclePosition, ThreadCommit
from headrace.connectors.oracle.scn import format_xid, parse_xid, place_of
from headrace.streaming.changes.kernels import row_kernel

XID = parse_xid("06001c0027030000")
SCNS, XIDS = st.integers(1, (1 << 62)), st.integers(0, (1 << 64) - 2)
COMMITS = st.builds(
    ThreadCommit, st.integers(1, 99), SCNS, st.lists(XIDS, min_size=1, max_size=3).map(tuple)
)
POSITIONS = st.one_of(
    st.builds(OraclePosition.after_scn, SCNS, SCNS),
    st.builds(
        lambda scn, xid, mined, threads, inside, messages, given_up: OraclePosition(
            place_of(scn, xid) + 1,
            None if inside is None else place_of(*inside),
            0 if inside is None else messages,
            mined,
            tuple(threads),
            tuple(given_up),
        ),
        SCNS,
        XIDS,
        SCNS,
        st.lists(COMMITS, max_size=3),
        st.none() | st.tuples(SCNS, XIDS),
        st.integers(1, 1 << 40),
        st.lists(XIDS, max_size=2),
    ),
)


@given(POSITIONS)
def test_an_offset_gives_the_position_back(position: OraclePosition) -> None:
    assert OraclePosition.from_json(position.to_json()) == position


@given(SCNS, XIDS)
def test_a_transaction_lies_below_its_end_and_above_the_ends_before(scn: int, xid: int) -> None:
    place = place_of(scn, xid)
    end = np.zeros((), row_kernel.END)
    put_place(end, place + 1)
    row = np.zeros((), ROW)
    put_place(row, place)
    row["ordinal"] = 5
    position = OraclePosition.after_scn(scn - 1)
    inside = position.inside(row)
    assert position.committed <= place == inside.transaction
    assert inside.messages == 5
    later = inside.after(end)
    assert (later.committed, later.transaction) == (place + 1, None)
    assert later.is_delivered(1, scn, xid)
    assert not position.is_delivered(1, scn, xid)


def test_offsets_have_debeziums_members() -> None:
    position = OraclePosition(
        place_of(2122186, XID) + 1, mined=2122100, threads=(ThreadCommit(1, 2122186, (XID,)),)
    )
    assert position.to_json() == {
        "scn": "2122100",
        "commit_scn": "2122186:1:06001c0027030000",
        "committed": "2122186:06001c0027030000",
    }
    assert (position.shown, str(position)) == (2122186, "SCN 2122186")


@pytest.mark.parametrize(
    ("commit_scn", "delivered", "not_delivered"),
    [
        ("100", [(1, 99, 5)], [(1, 100, 5)]),
        ("100:2:06001c0027030000", [(2, 100, XID), (2, 99, 1)], [(2, 100, 1), (2, 101, XID)]),
        (
            "100:1:06001c0027030000-0000000000000001,90:2:",
            [(1, 100, 1), (1, 95, 7), (2, 89, 7)],
            [(2, 90, 7), (1, 100, 2)],
        ),
        ("100:0x1.2.3:0:1", [(1, 99, 5)], [(1, 100, 5)]),
    ],
)
def test_forms_of_commit_scn_that_debezium_wrote_are_read(
    commit_scn: str,
    delivered: list[tuple[int, int, int]],
    not_delivered: list[tuple[int, int, int]],
) -> None:
    position = OraclePosition.from_json({"scn": "80", "commit_scn": commit_scn})
    assert position.mined_from == 80
    assert all(position.is_delivered(*place) for place in delivered)
    assert not any(position.is_delivered(*place) for place in not_delivered)


@pytest.mark.parametrize(
    "members",
    [
        {"scn": "80", "commit_scn": "100:1:06001c0027030000", "txId": "06001c0027030000"},
        {"scn": "95", "snapshot_scn": "95"},
        {"scn": "95", "snapshot_pending_tx": "06001c0027030000:80"},
    ],
)
def test_an_offset_of_debeziums_of_which_a_part_would_be_lost_is_refused(
    members: dict[str, Any],
) -> None:
    with pytest.raises(ValueError, match=r"comes without txScn, as in Debezium's offsets"):
        OraclePosition.from_json(members)


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"scn": 5}, "scn is not a text"),
        ({"scn": "x"}, "no SCN"),
        ({"scn": str(1 << 63)}, "no SCN"),
        ({"scn": "1", "commit_scn": "1:2"}, "commit_scn is not valid"),
        ({"scn": "1", "commit_scn": "1:a:b:c"}, "no redo thread"),
        ({"scn": "1", "committed": "5:06"}, "a transaction id has 16 hexadecimal digits"),
        ({"scn": "1", "txId": "06", "txScn": "1"}, "a transaction id has 16 hexadecimal digits"),
        ({"scn": "1", "txScn": "1"}, "txScn comes without txId"),
    ],
)
def test_invalid_members_are_refused(members: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}$"):
        OraclePosition.from_json(members)


def test_transaction_ids_are_written_as_debezium_does() -> None:
    assert format_xid(XID) == "06001c0027030000"
