"""Random conditions in Groovy over random records, against an evaluator of single rows."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.transforms.expressions.rows import (
    ROWS,
    Condition,
    NoResultError,
    Row,
    constants,
    fields,
    filtered,
    is_number,
    outcome,
    read_field,
)


class Long(int):
    """A value of a long field or literal; `in` distinguishes it from an int."""


def is_character(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 1 and ord(value) < 1 << 16


def sortable(value: Any) -> int:
    """A number in the order of Double.compare."""
    (bits,) = struct.unpack("<q", struct.pack("<d", math.nan if value != value else float(value)))
    return int(bits ^ 0x7FFFFFFFFFFFFFFF) if bits < 0 else int(bits)


def order(left: Any, right: Any) -> int:
    """-1, 0 or 1, as DefaultTypeTransformation.compareTo."""
    if left is None or right is None:
        return (left is not None) - (right is not None)
    if is_number(left) and is_character(right):
        right = ord(right)
    elif is_number(right) and is_character(left):
        left = ord(left)
    if is_number(left) and is_number(right):
        if isinstance(left, float) or isinstance(right, float):
            left, right = sortable(left), sortable(right)
    elif isinstance(left, str) and isinstance(right, str):
        left, right = left.encode("utf-16-be"), right.encode("utf-16-be")
    elif not (isinstance(left, bool) and isinstance(right, bool)):
        raise NoResultError
    return (left > right) - (left < right)


def equal(left: Any, right: Any) -> bool:
    try:
        return order(left, right) == 0
    except NoResultError:
        return False


def java_equal(left: Any, right: Any) -> bool:
    return type(left) is type(right) and equal(left, right)


def truth(value: Any) -> bool:
    return bool(value) and value == value


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": lambda left, right: order(left, right) < 0,
    "<=": lambda left, right: order(left, right) <= 0,
    ">": lambda left, right: order(left, right) > 0,
    ">=": lambda left, right: order(left, right) >= 0,
}


CONSTANTS = constants(
    [
        ("null", None), ("true", True), ("false", False), ("1", 1), ("-2", -2), ("97", 97),
        ("1L", Long(1)), ("0.5", Decimal("0.5")), ("1.0", Decimal("1.0")), ("0d", 0.0),
        ("'a'", "a"), ("''", ""), ("'ab'", "ab"), ("'\uffee'", "\uffee"),
    ]
)  # fmt: skip


def read(row: Row, name: str) -> Any:
    value = read_field(row, name)
    return Long(value) if name == "n" and value is not None else value


def compared(symbol: str, first: Condition, second: Condition) -> Condition:
    compare = COMPARISONS[symbol]
    return f"({first[0]} {symbol} {second[0]})", lambda row: compare(first[1](row), second[1](row))


def both(first: Condition, second: Condition) -> Condition:
    text = f"({first[0]} && {second[0]})"
    return text, lambda row: truth(first[1](row)) and truth(second[1](row))


def either(first: Condition, second: Condition) -> Condition:
    text = f"({first[0]} || {second[0]})"
    return text, lambda row: truth(first[1](row)) or truth(second[1](row))


def opposite(operand: Condition) -> Condition:
    return f"!{operand[0]}", lambda row: not truth(operand[1](row))


def chosen(test: Condition, then: Condition, otherwise: Condition) -> Condition:
    text = f"({test[0]} ? {then[0]} : {otherwise[0]})"
    return text, lambda row: then[1](row) if truth(test[1](row)) else otherwise[1](row)


def elvis(first: Condition, second: Condition) -> Condition:
    text = f"({first[0]} ?: {second[0]})"
    return text, lambda row: first[1](row) if truth(first[1](row)) else second[1](row)


def inside(item: Condition, options: list[Condition]) -> Condition:
    text = f"({item[0]} in [{', '.join(text for text, _ in options)}])"

    def holds(row: Row) -> bool:
        values = [option(row) for _, option in options]
        return any(java_equal(item[1](row), value) for value in values)

    return text, holds


def larger(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    return st.one_of(
        st.builds(compared, st.sampled_from(list(COMPARISONS)), inner, inner),
        st.builds(both, inner, inner),
        st.builds(either, inner, inner),
        st.builds(opposite, inner),
        st.builds(chosen, inner, inner, inner),
        st.builds(elvis, inner, inner),
        st.builds(inside, inner, st.lists(CONSTANTS, min_size=1, max_size=3)),
    )


CONDITIONS = st.recursive(st.one_of(fields(read), CONSTANTS), larger, max_leaves=8)


@settings(max_examples=examples(150), deadline=None)
@given(CONDITIONS, st.lists(ROWS, min_size=1, max_size=5))
def test_columns_give_what_rows_give_one_by_one(condition: Condition, rows: list[Row]) -> None:
    expected = [outcome(condition, row) for row in rows]
    assert filtered("jsr223.groovy", condition[0], rows) == expected
