"""What a signal's filter may be, and what it becomes."""

from __future__ import annotations

import pytest

from headrace.signals.conditions import selected_filter

COLUMNS = {"id", "v"}


@pytest.mark.parametrize(
    "source",
    [
        "ONLY public.t",
        "public.t TABLESAMPLE SYSTEM (1)",
        "public.t TABLESAMPLE BERNOULLI (10) REPEATABLE (5)",
        "public.t AS x (v, id)",
    ],
)
def test_a_source_that_is_not_the_whole_table_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match=r"not SELECT \* FROM public.t"):
        selected_filter(f"SELECT * FROM {source} WHERE id > 1", "public.t", COLUMNS)


def test_the_condition_of_a_select_is_taken() -> None:
    text = "SELECT * FROM public.t WHERE id > 1"
    assert selected_filter(text, "public.t", COLUMNS) == '"id" > 1'
    assert selected_filter("SELECT * FROM public.t x", "public.t", COLUMNS) == "TRUE"
