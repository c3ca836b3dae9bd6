"""Numbers of the log, and positions in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.rows import ENDING, ROW, low_half
from headrace.connectors.db2.lsn import ORDER_BYTES, format_lsn, lsn_of, parse_lsn, place_of
from headrace.connectors.db2.position import Db2Position, DeliveredChange
from headrace.streaming.changes.kernels.row_kernel import END

LSNS = st.sampled_from((10, 16)).flatmap(
    lambda size: st.integers(0, (1 << 8 * size) - 3).map(
        lambda number: number.to_bytes(size, "big")
    )
)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("00000000000000000000000003a1b2c4", "00000000:00000000:0000000003a1b2c4"),
        ("0000002700000758000a", "00000027:00000758:000a"),
        ("f" * 32, "ffffffff:ffffffff:ffffffffffffffff"),
    ],
)
def test_numbers_are_shown_in_lower_case_with_colons_after_the_fourth_and_eighth_byte(
    raw: str, text: str
) -> None:
    assert format_lsn(bytes.fromhex(raw)) == text
    assert parse_lsn(text) == bytes.fromhex(raw)


@given(LSNS)
def test_a_number_is_read_back_from_its_text_and_its_place(lsn: bytes) -> None:
    assert parse_lsn(format_lsn(lsn)) == lsn
    assert lsn_of(place_of(lsn), len(lsn)) == lsn


@given(LSNS, LSNS)
def test_numbers_of_both_sizes_compare_by_their_value(first: bytes, second: bytes) -> None:
    longer = first.rjust(16, b"\0"), second.rjust(16, b"\0")
    assert (place_of(first) < place_of(second)) == (longer[0] < longer[1])


@pytest.mark.parametrize(
    "text", ["", "NULL", "00000027:00000758:3", "00000027:00000758:0003:", "0" * 32, "G" * 8]
)
def test_another_text_is_no_number(text: str) -> None:
    with pytest.raises(ValueError, match="no log sequence number"):
        parse_lsn(text)


@given(LSNS)
def test_a_position_is_read_back_from_an_offset(lsn: bytes) -> None:
    position = Db2Position.after_commit(lsn)
    assert position.to_json() == {"commit_lsn": format_lsn(lsn)}
    inside = replace(position, transaction=position.committed, messages=3)
    later = replace(inside, change=DeliveredChange(place_of(lsn), 2, len(lsn)))
    for stored in (position, inside, later, Db2Position()):
        again = Db2Position.from_json(stored.to_json())
        assert again == stored
        assert again.lsn_bytes == stored.lsn_bytes
        assert again.to_json() == stored.to_json()


def test_a_position_before_everything_has_no_number() -> None:
    assert Db2Position().to_json() == {"commit_lsn": None}
    assert str(Db2Position()) == "the beginning"
    assert Db2Position.from_json({}) == Db2Position()


def test_a_position_inside_of_a_transaction_names_it_and_the_changes_of_it() -> None:
    row = np.zeros(1, ROW)[0]
    row["position"], row["position_high"], row["ordinal"] = 0x48C31B, 7, 5
    inside = Db2Position.after_commit(lsn_of(16)).inside(row)
    assert inside.to_json() == {
        "commit_lsn": "00000000:00000000:0000000000000010",
        "transaction_lsn": "00000000:00000007:000000000048c31b",
        "messages": 5,
    }
    assert str(inside) == "00000000:00000007:000000000048c31b change 5"
    row["extra"], row["place"], row["serial"] = 0x1000, -2, 1
    change = Db2Position().inside(row).change
    assert change == DeliveredChange((1 << 64) - 2)
    assert change.unread == 0x1000 - ORDER_BYTES


NUMBERS = st.integers(0, (1 << 128) - 1)


@given(NUMBERS, st.lists(st.tuples(st.integers(0, 1 << 62), st.integers(0, 2)), min_size=1),
       st.data())  # fmt: skip
def test_a_change_covers_exactly_what_is_not_after_it(
    first: int, changes: list[tuple[int, int]], data: st.DataObject
) -> None:
    """The property holds wherever lower halves begin again, and whatever ordinals rows have."""
    ordered = sorted({((first + offset) % (1 << 128), serial): offset for offset, serial in changes}
                     .items(), key=lambda item: (item[1], item[0][1]))  # fmt: skip
    rows = np.zeros(len(ordered) + 2, ROW)
    rows["operation"], rows["operation"][-1] = ord("c"), ENDING
    rows["ordinal"][1:] = data.draw(
        st.lists(st.integers(1, 9), min_size=len(rows) - 1, max_size=len(rows) - 1)
    )
    for row, ((place, serial), _) in zip(rows[1:-1], ordered, strict=True):
        row["place"], row["serial"] = low_half(place), serial
    delivered = data.draw(st.integers(0, len(ordered) - 1))
    change = DeliveredChange(*ordered[delivered][0])
    assert change.covers(rows).tolist() == [
        True,
        *(number <= delivered for number in range(len(ordered))),
        False,
    ]
    for (place, _), offset in ordered:
        assert change.is_before(place) == (offset > ordered[delivered][1])


def test_inside_of_a_transaction_its_commit_is_the_first_one_that_is_unread() -> None:
    before = Db2Position(5)
    assert before.first_unread == 5
    assert replace(before, transaction=9, messages=2).first_unread == 9


def test_an_offset_of_before_there_were_numbers_of_changes_counts_them() -> None:
    members = {"transaction_lsn": "00000000:00000007:000000000048c31b", "messages": 5}
    position = Db2Position.from_json(members)
    assert position.to_json() == {"commit_lsn": None, **members}
    rows = np.zeros(3, ROW)
    rows["ordinal"] = 4, 5, 6
    assert position.has_delivered(rows).tolist() == [True, True, False]


def test_after_an_end_numbers_keep_their_size() -> None:
    end = np.zeros(1, END)[0]
    end["position"] = low_half(0x48C31C)
    position = Db2Position.after_commit(lsn_of(16, 10)).after(end)
    assert position.commit_lsn == lsn_of(0x48C31B, 10)


@pytest.mark.parametrize("member", [5, "NULL", "f" * 8 + ":" + "f" * 8 + ":" + "f" * 16])
def test_an_offset_with_another_number_is_refused(member: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        Db2Position.from_json({"commit_lsn": member})


def test_debeziums_own_offset_is_refused_whose_rest_of_a_transaction_would_be_lost() -> None:
    number = "00000000:00000007:000000000048c31b"
    members = {"commit_lsn": number, "change_lsn": number, "event_serial_no": 1}
    with pytest.raises(ValueError, match="change_lsn comes without transaction_lsn"):
        Db2Position.from_json(members)
    assert Db2Position.from_json({**members, "transaction_lsn": number}).change is not None
