"""Two registrations of a table: where the one ends and the other begins."""

from __future__ import annotations

import pytest

from headrace.connectors.db2.catalog.registrations import Registration
from headrace.connectors.db2.lsn import lsn_of
from headrace.connectors.db2.streaming.registered_tables import Span, has_taken_over, spans


def registered(
    table: str, change_table: str, start: int | None, *, state: str = "A"
) -> Registration:
    old = None if start is None else lsn_of(start)
    return Registration("S", table, "ASNCDC", change_table, old, None, None, state, True)


def shown(table_spans: list[Span]) -> list[tuple[str, int, int | None]]:
    return [(span.registration.change_table, span.start, span.stop) for span in table_spans]


def test_the_older_registration_ends_where_the_newer_begins() -> None:
    table_spans = spans(
        [registered("T", "NEW", 9), registered("A", "A", 3), registered("T", "OLD", 5)]
    )
    assert shown(table_spans) == [("A", 3, None), ("OLD", 5, 9), ("NEW", 9, None)]


def test_one_that_does_not_say_where_it_begins_begins_with_its_first_change() -> None:
    oldest = {"OLD": 4, "NEW": 7}
    table_spans = spans(
        [registered("T", "NEW", None), registered("T", "OLD", None)],
        oldest_change=lambda registration: oldest[registration.change_table],
    )
    assert shown(table_spans) == [("OLD", 4, 7), ("NEW", 7, None)]


def test_one_without_changes_takes_nothing_over_yet() -> None:
    first, second = spans([registered("T", "NEW", None), registered("T", "OLD", 5)])
    assert first.registration.change_table == "OLD"
    assert first.stop is not None
    assert first.stop == second.start > 1 << 127


def test_no_change_is_asked_for_where_there_is_one_registration() -> None:
    table_spans = spans([registered("T", "ONLY", None)], oldest_change=lambda _: 1 // 0)
    assert shown(table_spans) == [("ONLY", 0, None)]


def test_on_zos_registrations_may_continue() -> None:
    table_spans = spans([registered("T", "NEW", 9), registered("T", "OLD", 5)], with_stops=False)
    assert shown(table_spans) == [("OLD", 5, None), ("NEW", 9, None)]


def test_the_active_one_continues_where_pruning_moved_both_beginnings_to_one_place() -> None:
    table_spans = spans([registered("T", "A_NEW", 9), registered("T", "OLD", 9, state="I")])
    assert shown(table_spans) == [("OLD", 9, 9), ("A_NEW", 9, None)]


@pytest.mark.parametrize("pruned", [9, 5, 7])
def test_of_several_that_have_all_changes_the_one_with_most_columns_continues(pruned: int) -> None:
    """Pruning moved their beginnings to one place, or not both of them yet."""
    columns = {"A_NEW": 3, "OLD": 2}
    table_spans = spans(
        [registered("T", "A_NEW", 7), registered("T", "OLD", pruned)],
        first=10,
        columns=lambda registration: columns[registration.change_table],
    )
    assert shown(table_spans) == [("OLD", pruned, 7), ("A_NEW", 7, None)]


def test_columns_are_not_asked_for_where_one_of_two_begins_after_what_is_read() -> None:
    table_spans = spans(
        [registered("T", "A_NEW", 10), registered("T", "OLD", 5)],
        first=10,
        columns=lambda _: 1 // 0,
    )
    assert shown(table_spans) == [("OLD", 5, 10), ("A_NEW", 10, None)]


@pytest.mark.parametrize(
    ("left", "is_followed"),
    [(["OLD", "NEW"], False), (["NEW"], True), ([], False), (["OTHER"], True)],
)
def test_a_change_table_is_followed_where_its_table_is_registered_with_another_one(
    left: list[str], is_followed: bool
) -> None:
    (gone,) = spans([registered("T", "OLD", 5)])
    present = [registered("T", name, 5) for name in left] + [registered("A", "A", 3)]
    assert has_taken_over([gone], present) is is_followed
