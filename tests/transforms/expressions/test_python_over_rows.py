"""Random conditions in Python over random records, against an evaluator of single rows."""

from __future__ import annotations

import math
import operator
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
    outcome,
)

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
CONSTANTS = constants(
    [
        ("None", None), ("True", True), ("False", False), ("1", 1), ("-2", -2), ("97", 97),
        ("9007199254740992", 2**53), ("0.5", Decimal("0.5")), ("1.0", Decimal("1.0")),
        ("0.0", Decimal("0.0")), ("'a'", "a"), ("''", ""), ("'ab'", "ab"), ("'\uffee'", "\uffee"),
    ]
)  # fmt: skip


def compared(symbol: str, left: Any, right: Any) -> bool:
    """A literal with a point is exact, but beside a double the nearest double."""
    if isinstance(left, float) and isinstance(right, Decimal):
        right = float(right)
    if isinstance(left, Decimal) and isinstance(right, float):
        left = float(left)
    try:
        return bool(COMPARISONS[symbol](left, right))
    except TypeError:
        raise NoResultError from None


def comparison(first: Condition, *others: tuple[str, Condition]) -> Condition:
    def holds(row: Row) -> bool:
        left = first[1](row)
        for symbol, (_, value) in others:
            right = value(row)
            if not compared(symbol, left, right):
                return False
            left = right
        return True

    return f"({first[0]} {' '.join(f'{symbol} {text}' for symbol, (text, _) in others)})", holds


def both(first: Condition, second: Condition) -> Condition:
    return f"({first[0]} and {second[0]})", lambda row: first[1](row) and second[1](row)


def either(first: Condition, second: Condition) -> Condition:
    return f"({first[0]} or {second[0]})", lambda row: first[1](row) or second[1](row)


def opposite(operand: Condition) -> Condition:
    return f"(not {operand[0]})", lambda row: not operand[1](row)


def chosen(test: Condition, then: Condition, otherwise: Condition) -> Condition:
    text = f"({then[0]} if {test[0]} else {otherwise[0]})"
    return text, lambda row: then[1](row) if test[1](row) else otherwise[1](row)


def absent(operand: Condition, negated: bool) -> Condition:
    text = f"({operand[0]} is {'not ' if negated else ''}None)"
    return text, lambda row: (operand[1](row) is None) != negated


def inside(item: Condition, options: list[Condition], negated: bool) -> Condition:
    option_texts = ", ".join(text for text, _ in options)

    def holds(row: Row) -> bool:
        value = item[1](row)
        return any(compared("==", value, option(row)) for _, option in options) != negated

    return f"({item[0]} {'not ' if negated else ''}in [{option_texts}])", holds


def calculated(symbol: str, first: Condition, second: Condition) -> Condition:
    def result(row: Row) -> Any:
        left, right = first[1](row), second[1](row)
        if isinstance(left, str) and isinstance(right, str) and symbol == "+":
            return left + right
        if not all(isinstance(each, int | float | Decimal) for each in (left, right)):
            raise NoResultError
        if isinstance(left, float) or isinstance(right, float):
            left, right = float(left), float(right)
        elif isinstance(left, Decimal) or isinstance(right, Decimal):
            if symbol in "*%":  # of decimals it is not calculated
                raise NoResultError
            left, right = Decimal(left), Decimal(right)
        if symbol == "%" and right == 0:
            raise NoResultError
        if symbol == "%" and isinstance(left, float):
            return math.nan if math.isinf(left) else left % right
        number = {"+": operator.add, "-": operator.sub, "*": operator.mul, "%": operator.mod}[
            symbol
        ](left, right)
        if isinstance(number, int) and not -(2**63) <= number < 2**63:
            raise NoResultError
        return number

    return f"({first[0]} {symbol} {second[0]})", result


def negative(operand: Condition) -> Condition:
    def result(row: Row) -> Any:
        value = operand[1](row)
        if not isinstance(value, int | float | Decimal):
            raise NoResultError
        return -value

    return f"(-{operand[0]})", result


def called(template: str, function: Callable[[str], Any], operand: Condition) -> Condition:
    def result(row: Row) -> Any:
        value = operand[1](row)
        if not isinstance(value, str):
            raise NoResultError
        return function(value)

    return template.format(operand[0]), result


CALLS: list[tuple[str, Callable[[str], Any]]] = [
    ("len({})", len),
    ("({}).upper()", str.upper),
    ("({}).startswith('a')", lambda text: text.startswith("a")),
    ("({}).replace('a', 'bb')", lambda text: text.replace("a", "bb")),
    ("('b' in {})", lambda text: "b" in text),
]


def larger(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    symbols = st.sampled_from(list(COMPARISONS))
    return st.one_of(
        st.builds(lambda left, symbol, right: comparison(left, (symbol, right)), inner, symbols,
                  inner),
        st.builds(lambda left, s1, middle, s2, right: comparison(left, (s1, middle), (s2, right)),
                  inner, symbols, inner, symbols, inner),
        st.builds(both, inner, inner),
        st.builds(either, inner, inner),
        st.builds(opposite, inner),
        st.builds(chosen, inner, inner, inner),
        st.builds(absent, inner, st.booleans()),
        st.builds(inside, inner, st.lists(CONSTANTS, max_size=3), st.booleans()),
        st.builds(calculated, st.sampled_from("+-*%"), inner, inner),
        st.builds(negative, inner),
        st.builds(lambda call, argument: called(*call, argument), st.sampled_from(CALLS), inner),
    )  # fmt: skip


CONDITIONS = st.recursive(st.one_of(fields(), CONSTANTS), larger, max_leaves=8)


@settings(max_examples=examples(400), deadline=None)
@given(CONDITIONS, st.lists(ROWS, min_size=1, max_size=5))
def test_columns_give_what_rows_give_one_by_one(condition: Condition, rows: list[Row]) -> None:
    assert filtered("python", condition[0], rows) == [outcome(condition, row) for row in rows]
