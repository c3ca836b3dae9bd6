"""Filters that are nested, and what may follow a statement's condition."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from headrace.signals.conditions import checked_filter, selected_filter


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    def over(_: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"it took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("nested", ["date (", "timestamp (", "numeric(", "abs(date ("])
def test_a_filter_that_the_parser_takes_exponential_time_for_is_refused(nested: str) -> None:
    text = nested * 40 + "1" + ")" * nested.count("(") * 40
    with at_most(60):
        with pytest.raises(ValueError, match="nested"):
            checked_filter(text, "public.t", {"id"}, dialect="postgres")
        with pytest.raises(ValueError, match="nested"):
            selected_filter(
                f"SELECT * FROM public.t WHERE {text}", "public.t", {"id"}, dialect="postgres"
            )


@pytest.mark.parametrize(
    "text",
    [
        "id" + "::int" * 1900 + "=1",
        "id" + "::numeric(1)" * 400 + "=1",
        "int" + "[]" * 300 + " '1'",
        "id" + "[1]" * 3000,
        "(" * 4000 + "1" + ")" * 4000,
        "NOT " * 2400 + "TRUE",
        "- " * 4900 + "1",
        "id" + " IS NULL IS" * 900,
        "CASE WHEN " * 900,
        "id IN (" * 1300,
        "interval " * 1100,
        "id = ANY(" * 1000,
    ],
    ids=lambda text: text[:14],
)
def test_a_filter_of_any_depth_and_length_is_refused_with_a_sentence_and_soon(text: str) -> None:
    with at_most(60):
        with pytest.raises(ValueError, match="filter"):
            checked_filter(text, "public.t", {"id"}, dialect="postgres")
        with pytest.raises(ValueError, match="filter"):
            selected_filter(
                f"SELECT * FROM public.t WHERE {text}", "public.t", {"id"}, dialect="postgres"
            )


def test_usual_nesting_is_accepted() -> None:
    call = "abs(coalesce(cast(lower(id) AS numeric(10, 2)), 0)) > 1"
    assert "DECIMAL" in checked_filter(call.upper(), "public.t", {"id"}, dialect="postgres").upper()
    many = "(" * 20 + "id = 1" + ") OR (id IN (1, 2)) AND NOT (id = 3)" * 20
    assert checked_filter(many, "public.t", {"id"}, dialect="postgres").count("NOT") == 20


def test_the_order_of_a_statement_is_left_out() -> None:
    text = "SELECT * FROM public.t WHERE id = 1 ORDER BY pg_sleep(9) DESC"
    assert selected_filter(text, "public.t", {"id"}, dialect="postgres") == '"id" = 1'
