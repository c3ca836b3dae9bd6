"""JSON payloads that are parsed together by structure give the same result as each payload parsed
alone."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.evaluation.gathering import ADDRESS
from headrace.connect.evaluation.values import connect_values, values
from headrace.connect.json_records import read_records
from headrace.connect.records import Records
from headrace.connect.schema import Schema
from headrace.transforms.debezium.outbox.json_payloads import expanded
from headrace.transforms.debezium.outbox.structs import ExpandedPayload, split_payloads

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS
)
_MEMBERS = st.recursive(
    _SCALARS,
    lambda inner: (
        st.dictionaries(_TEXTS | st.just("$oid"), inner, max_size=3) | st.lists(inner, max_size=3)
    ),
    max_leaves=8,
)
_PAYLOADS = st.builds(
    json.dumps, st.dictionaries(_TEXTS, _MEMBERS, max_size=4), ensure_ascii=st.booleans()
)


def _records(texts: list[str | None]) -> Records:
    schema = {"type": "string", "optional": True}
    (records,) = read_records(
        [
            {"topic": "t", "partition": None, "timestamp": None, "key": None, "headers": [],
             "value": {"schema": schema, "payload": text}}
            for text in texts
        ]
    )  # fmt: skip
    return records


def _expanded_alone(text: str | None, *, keeps_nulls: bool) -> tuple[Schema, object] | None:
    try:
        return expanded(text or "", keeps_nulls=keeps_nulls)
    except (ValueError, RecursionError):
        return None


def _check(texts: list[str | None], *, keeps_nulls: bool = False) -> np.ndarray:
    """Compare texts that are split together with each text alone. Return the mask of texts that the
    kernel leaves to Python."""
    records = _records(texts)
    assert records.shape.value is not None
    taken_apart, left = split_payloads(records, values(records, records.shape.value))
    result_by_row: dict[int, Any] = {}
    read_rows = np.flatnonzero(~left)
    for rows in taken_apart:
        payload = ExpandedPayload.of(rows, keeps_nulls=keeps_nulls)
        row_numbers = rows.records.place.tolist()
        if payload.is_left:
            left[read_rows[rows.members]] = True
            continue
        if payload.node is None:
            result_by_row |= dict.fromkeys(row_numbers)
            continue
        records = rows.with_columns(rows.records, payload.columns, payload.rendered)
        expanded_values = connect_values(records, payload.node)
        result_by_row |= {
            row: (payload.node.schema, value)
            for row, value in zip(row_numbers, expanded_values, strict=True)
        }
    assert sorted(result_by_row) == np.flatnonzero(~left).tolist()
    for row, result in result_by_row.items():
        assert result == _expanded_alone(texts[row], keeps_nulls=keeps_nulls), texts[row]
    return left


@given(st.lists(_PAYLOADS | st.none(), min_size=1, max_size=5), st.booleans())
def test_texts_that_are_split_together_give_the_payloads_of_each_text_alone(
    texts: list[str | None], keeps_nulls: bool
) -> None:
    _check(texts, keeps_nulls=keeps_nulls)


@pytest.mark.parametrize(
    "text",
    [
        None, "", " {}", "5", '{"a": NaN}', '{"a": 1e400}', '{"$oid": "0123456789abcdef01234567"}',
        r'{"a": "\ud83d\ude00"}', r'{"a": "\uD83D"}',
        '{"a": 1, "a": "x"}', '{"a": 99999999999999999999}', '{"a": 1',
    ],
)  # fmt: skip
def test_what_is_rare_or_broken_is_left_to_python(text: str | None) -> None:
    assert _check(['{"a": 1}', text]).tolist() == [False, True]


def test_numbers_of_an_array_that_a_double_may_not_hold_are_left_to_python() -> None:
    texts = [f'{{"a": [{{"n": 0.5}}, {{"n": {(1 << 53) + n}}}]}}' for n in range(2)]
    assert _check(list(texts)).all()


def test_equal_arrays_are_rendered_once_and_shared() -> None:
    texts = [f'{{"n": {n}, "lines": [{{"sku": {n % 2}}}]}}' for n in range(6)]
    records = _records(list(texts))
    assert records.shape.value is not None
    ((rows,), _) = split_payloads(records, values(records, records.shape.value))
    payload = ExpandedPayload.of(rows, keeps_nulls=False)
    expanded_records = rows.with_columns(rows.records, payload.columns, payload.rendered)
    assert payload.rendered == (1,)
    column = expanded_records.columns[payload.columns[1]]
    lines = column.table[expanded_records.rows, ADDRESS]
    assert len(set(lines.tolist())) == 2
    assert payload.node is not None
    assert connect_values(expanded_records, payload.node) == [json.loads(text) for text in texts]


def test_objects_and_arrays_are_taken_apart() -> None:
    texts = ['{"a": [1, 2], "b": {"c": ["x"]}, "d": []}', "[1, 2]", "[]", '[{"a": 1}, {"b": 2.5}]']
    assert not _check(list(texts)).any()
