"""Random rows, and their outcomes after a Filter: shared by the languages' tests."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from headrace.transforms import apply_json

Row = dict[str, Any]
Evaluated = Callable[[Row], Any]
Condition = tuple[str, Evaluated]
"""A condition's text, and what it is of a row."""
FIELDS = {"i": "int32", "n": "int64", "d": "double", "t": "string", "b": "boolean"}
ROWS = st.fixed_dictionaries(
    {
        "i": st.sampled_from([None, 0, 1, -2, 97]),
        "n": st.sampled_from([None, 0, 1, 97, -7, 2**53 + 1, 2**62]),
        "d": st.sampled_from([None, 0.0, -0.0, 0.5, 1.0, -7.5, float(2**53), float("nan"),
                              float("inf")]),
        "t": st.sampled_from([None, "", "a", "ab", "1", "😀", "\uffee"]),
        "b": st.sampled_from([None, True, False]),
    }
)  # fmt: skip


class NoResultError(Exception):
    """The language throws."""


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def read_field(row: Row, name: str) -> Any:
    if name not in row:
        raise NoResultError
    return row[name]


def fields(read: Callable[[Row, str], Any] = read_field) -> st.SearchStrategy[Condition]:
    """Fields of the value by their names, and one that there is not."""
    return st.sampled_from([*FIELDS, "absent"]).map(
        lambda name: (f"value.{name}", lambda row: read(row, name))
    )


def constants(texts_and_values: list[tuple[str, Any]]) -> st.SearchStrategy[Condition]:
    """Constants by their texts."""

    def condition(pair: tuple[str, Any]) -> Condition:
        return pair[0], lambda _row: pair[1]

    return st.sampled_from(texts_and_values).map(condition)


def outcome(condition: Condition, row: Row, *, null_is_false: bool = False) -> str:
    """The outcome of a row."""
    try:
        result = condition[1](row)
    except NoResultError:
        return "fails"
    if result is None and null_is_false:
        return "dropped"
    if not isinstance(result, bool):
        return "fails"
    return "kept" if result else "dropped"


def filtered(language: str, text: str, rows: list[Row]) -> list[str]:
    """The outcome of each row after a Filter with this condition."""
    described = [{"field": n, "type": kind, "optional": True} for n, kind in FIELDS.items()]
    schema = {"type": "struct", "optional": False, "fields": described}
    records = [
        {"topic": "orders", "partition": None, "timestamp": None, "key": None, "headers": [],
         "value": {"schema": schema, "payload": row}}
        for row in rows
    ]  # fmt: skip
    properties = {
        "transforms": "f",
        "transforms.f.type": "Filter",
        "transforms.f.language": language,
        "transforms.f.condition": text,
    }
    return [
        "dropped" if result is None else "fails" if "error" in result else "kept"
        for result in apply_json(properties, records)
    ]
