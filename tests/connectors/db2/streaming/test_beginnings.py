"""Places where change tables begin, check after check: which of them are gaps."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.connectors.db2.catalog.registrations import Registration
from headrace.connectors.db2.lsn import lsn_of
from headrace.connectors.db2.streaming.beginnings import PRUNED, Beginnings
from headrace.connectors.db2.streaming.registered_tables import spans
from headrace.errors import HeadraceError


def registered(
    change_table: str, start: int | None, *, state: str = "A", newest: int | None = None
) -> Registration:
    old, new = (None if place is None else lsn_of(place) for place in (start, newest))
    return Registration("S", "T", "ASNCDC", change_table, old, new, None, state, True)


def has_gap(beginnings: Beginnings, first: int, *now: Registration, knows: bool = True) -> bool:
    """Whether a look before changes from `first` on are read finds one."""
    return code_of(lambda: beginnings.check(spans(now), first, 16, lambda *_: knows)) == PRUNED


def has_gap_after_fetch(beginnings: Beginnings, unread: int, *now: Registration) -> bool:
    """Whether a check after fetching CD from `unread` on finds a gap."""
    paths = {("ASNCDC", "CD"): unread}
    return code_of(lambda: beginnings.check_fetched(now, paths, 16)) == PRUNED


def code_of(act: Callable[[], None]) -> str | None:
    """The code of the error that it raises."""
    try:
        act()
    except HeadraceError as error:
        return error.code
    return None


def test_a_process_that_knows_only_its_position_takes_a_later_beginning_for_a_gap() -> None:
    assert has_gap(Beginnings(), 10, registered("CD", 10))
    assert has_gap(Beginnings(), 10, registered("CD", 11))
    assert not has_gap(Beginnings(), 10, registered("CD", 9))
    assert not has_gap(Beginnings(), 10, registered("CD", 11), knows=False)
    assert not has_gap(Beginnings(), 10, registered("CD", None))


def test_a_beginning_that_moved_after_what_was_read_is_a_gap() -> None:
    beginnings = Beginnings([registered("CD", 5)])
    assert not has_gap(beginnings, 10, registered("CD", 9))
    assert has_gap(beginnings, 10, registered("CD", 10))


def test_a_registration_that_capture_begins_to_use_has_no_gap() -> None:
    beginnings = Beginnings([registered("CD", None)])
    assert not has_gap(beginnings, 10, registered("CD", None))
    assert not has_gap(beginnings, 10, registered("CD", 12))
    assert has_gap(beginnings, 10, registered("CD", 13)), "it moved since then"


def test_a_registration_with_changes_was_used_though_it_does_not_say_where_it_begins() -> None:
    beginnings = Beginnings([registered("CD", None, newest=8)])
    assert not has_gap(beginnings, 7, registered("CD", 8, newest=8)), "it says it late"
    beginnings = Beginnings([registered("CD", None, newest=8)])
    assert has_gap(beginnings, 9, registered("CD", 9, newest=9))


def test_a_table_that_is_registered_meanwhile_has_no_gap() -> None:
    beginnings = Beginnings([])
    assert not has_gap(beginnings, 10, registered("CD", 12))


def test_a_second_registration_has_no_gap_beside_the_first_one() -> None:
    beginnings = Beginnings([registered("CD", 5)])
    assert not has_gap(beginnings, 10, registered("CD", 5), registered("CD2", 12))
    assert not has_gap(beginnings, 10, registered("CD", 5, state="I"), registered("CD2", 12))
    assert not has_gap(beginnings, 13, registered("CD2", 12))


def test_a_registration_in_place_of_all_that_were_read_is_a_gap() -> None:
    beginnings = Beginnings([registered("CD", 5)])
    assert has_gap(beginnings, 10, registered("CD2", 12))


def test_a_registration_under_the_same_name_is_a_gap_though_capture_uses_it_late() -> None:
    beginnings = Beginnings([registered("CD", 5)])
    assert not has_gap(beginnings, 10, registered("CD", None))
    assert not has_gap(beginnings, 12, registered("CD", None))
    assert not has_gap_after_fetch(beginnings, 12, registered("CD", 13))
    assert has_gap(beginnings, 14, registered("CD", 13)), "and wherever it begins"


def test_a_registration_that_comes_back_is_a_gap_though_the_stream_saw_it_gone() -> None:
    beginnings = Beginnings([registered("CD", 5)])
    assert not has_gap(beginnings, 10)
    assert not has_gap(beginnings, 12)
    assert has_gap(beginnings, 14, registered("CD", 15))


def test_names_of_change_tables_may_take_turns() -> None:
    beginnings = Beginnings([registered("CD", 5)])
    assert not has_gap(beginnings, 10, registered("CD", 5), registered("CD2", 12))
    assert not has_gap(beginnings, 13, registered("CD2", 12))
    assert not has_gap(beginnings, 14, registered("CD2", 12, state="I"), registered("CD", None))
    assert not has_gap(beginnings, 15, registered("CD2", 12, state="I"), registered("CD", 16))


def test_a_second_registration_has_a_gap_where_the_first_one_goes_before_it_is_read() -> None:
    beginnings = Beginnings([registered("CD", 5)])
    assert not has_gap(beginnings, 10, registered("CD", 5), registered("CD2", 20))
    assert has_gap(beginnings, 15, registered("CD2", 20))
    assert not has_gap(beginnings, 21, registered("CD2", 20))


def test_a_reader_that_begins_again_sees_what_was_pruned_after_the_one_before() -> None:
    beginnings = Beginnings([registered("CD", 5)])
    assert not has_gap(beginnings, 10, registered("CD", 5))
    assert not has_gap_after_fetch(beginnings, 21, registered("CD", 20))
    assert not has_gap(beginnings, 21, registered("CD", 20))
    assert has_gap(beginnings, 12, registered("CD", 20))


def test_a_reader_that_begins_before_all_looks_is_like_one_of_another_process() -> None:
    beginnings = Beginnings()
    assert not has_gap(beginnings, 20, registered("CD", 15))
    assert not has_gap(beginnings, 20, registered("CD", 15))
    assert has_gap(beginnings, 10, registered("CD", 15))


def test_a_later_registration_is_looked_at_too() -> None:
    first, second = registered("CD", 5, state="I"), registered("CD2", 7)
    beginnings = Beginnings([first, second])
    assert not has_gap(beginnings, 10, first, second)
    assert has_gap(beginnings, 10, first, registered("CD2", 12))
    assert has_gap(Beginnings(), 10, first, registered("CD2", 12)), "nothing leads to it"


def test_an_active_registration_that_has_everything_leads_to_the_next_one() -> None:
    assert not has_gap(Beginnings(), 10, registered("CD", 5), registered("CD2", 12))


def test_one_whose_changes_are_all_read_may_be_pruned() -> None:
    first, second = registered("CD", 5, state="I"), registered("CD2", 7)
    beginnings = Beginnings([first, second])
    assert not has_gap(beginnings, 10, registered("CD", 20, state="I"), second)


def test_pruning_after_a_fetch_is_a_gap_where_rows_were_still_to_be_fetched() -> None:
    beginnings = Beginnings([registered("CD", 5)])
    assert not has_gap(beginnings, 10, registered("CD", 5))
    assert not has_gap_after_fetch(beginnings, 15, registered("CD", 14))
    assert has_gap_after_fetch(beginnings, 15, registered("CD", 15))
    assert not has_gap_after_fetch(beginnings, 15, registered("OTHER", 15))


def test_a_registration_that_is_made_or_used_inside_of_a_window_has_no_gap() -> None:
    beginnings = Beginnings([])
    assert not has_gap(beginnings, 10, registered("CD", 12), registered("CD2", None))
    assert not has_gap_after_fetch(beginnings, 10, registered("CD", 12), registered("CD2", 14))
    assert has_gap_after_fetch(beginnings, 10, registered("CD", 13))


@pytest.mark.parametrize("size", [10, 16])
def test_the_gap_is_reported_in_numbers_of_the_servers_size(size: int) -> None:
    with pytest.raises(HeadraceError, match="begins at 00000000:00000000:") as caught:
        Beginnings().check(spans([registered("CD", 11)]), 10, size, lambda *_: True)
    assert ("0000000b " if size == 10 else "000000000000000b ")[-5:] in str(caught.value)
