"""Random conditions in SQL over random records, against an evaluator of single rows with three
truth values."""

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
    is_number,
    outcome,
)

COMPARISONS: dict[str, Callable[[int], bool]] = {
    "=": lambda order: order == 0,
    "<>": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}
CONSTANTS = constants(
    [
        ("NULL", None), ("true", True), ("false", False), ("1", 1), ("-2", -2), ("97", 97),
        ("0.5", Decimal("0.5")), ("1.0", Decimal("1.0")), ("0e0", 0.0),
        ("'a'", "a"), ("''", ""), ("'ab'", "ab"), ("'\uffee'", "\uffee"),
    ]
)  # fmt: skip


def order(left: Any, right: Any) -> int | None:
    """-1, 0 or 1, or null. NaN is larger than any number."""
    if left is None or right is None:
        return None
    if is_number(left) and is_number(right):
        if isinstance(left, float) or isinstance(right, float):
            pairs = [(math.isnan(each), 0.0 if math.isnan(each) else float(each))
                     for each in (left, right)]  # fmt: skip
            return (pairs[0] > pairs[1]) - (pairs[0] < pairs[1])
    elif type(left) is not type(right):
        raise NoResultError
    return int((left > right) - (left < right))


def compare(symbol: str, left: Any, right: Any) -> bool | None:
    ordered = order(left, right)
    return None if ordered is None else COMPARISONS[symbol](ordered)


def logical(value: Any) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise NoResultError
    return value


def kleene_and(left: bool | None, compute: Callable[[], Any]) -> bool | None:
    if left is False:
        return False
    right = logical(compute())
    return False if right is False else None if left is None or right is None else True


def kleene_not(value: bool | None) -> bool | None:
    return None if value is None else not value


def compared(symbol: str, first: Condition, second: Condition) -> Condition:
    text = f"({first[0]} {symbol} {second[0]})"
    return text, lambda row: compare(symbol, first[1](row), second[1](row))


def both(first: Condition, second: Condition) -> Condition:
    text = f"({first[0]} AND {second[0]})"
    return text, lambda row: kleene_and(logical(first[1](row)), lambda: second[1](row))


def either(first: Condition, second: Condition) -> Condition:
    """The disjunction of two conditions, by De Morgan."""

    def holds(row: Row) -> bool | None:
        left = kleene_not(logical(first[1](row)))
        return kleene_not(kleene_and(left, lambda: kleene_not(logical(second[1](row)))))

    return f"({first[0]} OR {second[0]})", holds


def opposite(operand: Condition) -> Condition:
    return f"(NOT {operand[0]})", lambda row: kleene_not(logical(operand[1](row)))


def absent(operand: Condition, negated: bool) -> Condition:
    text = f"({operand[0]} IS {'NOT ' if negated else ''}NULL)"
    return text, lambda row: (operand[1](row) is None) != negated


def inside(item: Condition, options: list[Condition], negated: bool) -> Condition:
    option_texts = ", ".join(text for text, _ in options)

    def holds(row: Row) -> bool | None:
        value = item[1](row)
        results = [compare("=", value, option(row)) for _, option in options]
        is_inside = True if True in results else None if None in results else False
        return kleene_not(is_inside) if negated else is_inside

    return f"({item[0]} {'NOT ' if negated else ''}IN ({option_texts}))", holds


def between(item: Condition, low: Condition, high: Condition) -> Condition:
    def holds(row: Row) -> bool | None:
        value = item[1](row)
        return kleene_and(
            compare(">=", value, low[1](row)), lambda: compare("<=", value, high[1](row))
        )

    return f"({item[0]} BETWEEN {low[0]} AND {high[0]})", holds


def chosen(template: str, test: Condition, then: Condition, otherwise: Condition) -> Condition:
    text = template.format(test[0], then[0], otherwise[0])
    return text, lambda row: then[1](row) if logical(test[1](row)) else otherwise[1](row)


def case_of(subject: Condition, compared_to: Condition, then: Condition) -> Condition:
    def result(row: Row) -> Any:
        return then[1](row) if compare("=", subject[1](row), compared_to[1](row)) else None

    return f"(CASE {subject[0]} WHEN {compared_to[0]} THEN {then[0]} END)", result


def coalesced(first: Condition, second: Condition) -> Condition:
    def result(row: Row) -> Any:
        value = first[1](row)
        return second[1](row) if value is None else value

    return f"coalesce({first[0]}, {second[0]})", result


def calculated(symbol: str, first: Condition, second: Condition) -> Condition:
    def result(row: Row) -> Any:
        left, right = first[1](row), second[1](row)
        if left is None or right is None:
            return None
        if symbol == "||":
            if not (isinstance(left, str) and isinstance(right, str)):
                raise NoResultError
            return left + right
        if not (is_number(left) and is_number(right)):
            raise NoResultError
        is_float = isinstance(left, float) or isinstance(right, float)
        if is_float:
            left, right = float(left), float(right)
        elif isinstance(left, Decimal) or isinstance(right, Decimal):
            if symbol in "*%":  # of decimals it is not calculated
                raise NoResultError
            left, right = Decimal(left), Decimal(right)
        if symbol == "%":
            if right == 0:
                raise NoResultError
            if is_float:
                return math.nan if math.isinf(left) else math.fmod(left, right)
            rest = abs(left) % abs(right)
            return rest if left >= 0 else -rest
        number = {"+": operator.add, "-": operator.sub, "*": operator.mul}[symbol](left, right)
        if isinstance(number, int) and not -(2**63) <= number < 2**63:
            raise NoResultError
        return number

    return f"({first[0]} {symbol} {second[0]})", result


def negative(operand: Condition) -> Condition:
    def result(row: Row) -> Any:
        value = operand[1](row)
        if value is not None and not is_number(value):
            raise NoResultError
        return None if value is None else -value

    return f"(- {operand[0]})", result


def called(template: str, function: Callable[[str], Any], operand: Condition) -> Condition:
    def result(row: Row) -> Any:
        value = operand[1](row)
        if value is None:
            return None
        if not isinstance(value, str):
            raise NoResultError
        return function(value)

    return template.format(operand[0]), result


def matched(template: str, function: Callable[[str], Any], operand: Condition) -> Condition:
    """Whole numbers and truth values match as texts."""

    def as_text(row: Row) -> Any:
        value = operand[1](row)
        return str(value).lower() if isinstance(value, int) else value

    return called(template, function, (operand[0], as_text))


CALLS: list[tuple[str, Callable[[str], Any]]] = [
    ("upper({})", str.upper),
    ("startswith({}, 'a')", lambda text: text.startswith("a")),
    ("contains({}, 'b')", lambda text: "b" in text),
]
MATCHES: list[tuple[str, Callable[[str], Any]]] = [
    ("({} LIKE '_b%')", lambda text: text[1:2] == "b"),
    ("({} LIKE '%1')", lambda text: text.endswith("1")),
    (
        "({} RLIKE '^a|1$|u')",
        lambda text: text.startswith("a") or text.endswith("1") or "u" in text,
    ),
]
CHOICES = ["if({}, {}, {})", "(CASE WHEN {} THEN {} ELSE {} END)"]


def larger(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    return st.one_of(
        st.builds(compared, st.sampled_from(list(COMPARISONS)), inner, inner),
        st.builds(both, inner, inner),
        st.builds(either, inner, inner),
        st.builds(opposite, inner),
        st.builds(absent, inner, st.booleans()),
        st.builds(inside, inner, st.lists(CONSTANTS, min_size=1, max_size=3), st.booleans()),
        st.builds(between, inner, inner, inner),
        st.builds(chosen, st.sampled_from(CHOICES), inner, inner, inner),
        st.builds(case_of, inner, inner, inner),
        st.builds(coalesced, inner, inner),
        st.builds(calculated, st.sampled_from(["+", "-", "*", "%", "||"]), inner, inner),
        st.builds(negative, inner),
        st.builds(lambda call, argument: called(*call, argument), st.sampled_from(CALLS), inner),
        st.builds(
            lambda match, argument: matched(*match, argument), st.sampled_from(MATCHES), inner
        ),
    )


CONDITIONS = st.recursive(st.one_of(fields(), CONSTANTS), larger, max_leaves=8)


@settings(max_examples=examples(400), deadline=None)
@given(CONDITIONS, st.lists(ROWS, min_size=1, max_size=5))
def test_columns_give_what_rows_give_one_by_one(condition: Condition, rows: list[Row]) -> None:
    expected = [outcome(condition, row, null_is_false=True) for row in rows]
    assert filtered("spark.sql", condition[0], rows) == expected
