"""Conditions on keys are filters that signals may have."""

from __future__ import annotations

from decimal import Decimal

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from headrace.relational.reading.key_conditions import key_condition
from headrace.signals.conditions import checked_filter


def quoted(name: str) -> str:
    return f'"{name}"'


def test_rows_are_selected_by_numbers_and_texts() -> None:
    assert key_condition(quoted, ["id"], [(1,), ("it's",)]) == "\"id\" IN (1, 'it''s')"
    both = key_condition(quoted, ["a", "b"], [(1, "x"), (Decimal("1E+2"), "y")])
    assert both == '("a" = 1 AND "b" = \'x\') OR ("a" = 100 AND "b" = \'y\')'


@pytest.mark.parametrize("value", [None, True, 1.5, b"x", "a\\b", "a\nb"])
def test_other_values_are_in_no_condition(value: object) -> None:
    assert key_condition(quoted, ["id"], [(1,), (value,)]) is None
    assert key_condition(quoted, ["id", "b"], [(value, 1)]) is None


def test_a_condition_that_no_signal_could_have_is_not_made() -> None:
    assert key_condition(quoted, ["id"], [("x" * 9000,)]) is None


@pytest.mark.parametrize("dialect", ["postgres", "oracle"])
@given(
    keys=st.lists(
        st.tuples(st.integers(-(2**63), 2**63), st.text(max_size=20), st.decimals(-9, 9, places=3)),
        min_size=1,
        max_size=50,
    )
)
def test_fifty_keys_are_a_filter_that_is_checked(
    dialect: str, keys: list[tuple[object, ...]]
) -> None:
    for names, of in (
        (["a", "b", "c"], keys),
        (["a"], [(key[0],) for key in keys]),
        (["b"], [(key[1],) for key in keys]),
    ):
        condition = key_condition(quoted, names, of)
        if condition is not None:
            checked = checked_filter(condition, "s.t", {"a", "b", "c"}, dialect=dialect)
            literals = sqlglot.parse_one(checked, dialect=dialect).find_all(exp.Literal)
            texts = sorted(each.this for each in literals if each.is_string)
            place = {"b": 0}.get(names[0], 1)
            key_values = [key[place] for key in of if len(names) > place]
            assert texts == sorted(map(str, key_values if names != ["a"] else []))
