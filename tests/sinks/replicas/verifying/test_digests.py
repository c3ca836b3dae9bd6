"""Digests are equal for equal rows, however they are chunked and stored, and differ for others."""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from headrace.errors import HeadraceError
from headrace.sinks.replicas.verifying.digests import key_digests, row_digests

_INTEGERS = st.integers(-(2**63), 2**63 - 1)
KINDS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): _INTEGERS,
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.decimal128(20, 3): st.integers(-(10**19), 10**19).map(lambda n: Decimal(n).scaleb(-3)),
    pa.string(): st.text(max_size=40),
    pa.binary(): st.binary(max_size=40),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(dt.UTC)),
    pa.list_(pa.string()): st.lists(st.none() | st.text(max_size=3), max_size=4),
    pa.list_(pa.list_(pa.int32())): st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=3),
    pa.struct([("a", pa.int32()), ("b", pa.string())]): st.fixed_dictionaries(
        {"a": st.none() | st.integers(0, 9), "b": st.none() | st.text(max_size=3)}
    ),
    pa.map_(pa.string(), pa.int64()): st.lists(
        st.tuples(st.text(max_size=3), st.none() | _INTEGERS), max_size=3, unique_by=lambda e: e[0]
    ),
}
columns = st.sampled_from(list(KINDS)).flatmap(
    lambda kind: st.tuples(
        st.just(kind), st.lists(st.none() | KINDS[kind], min_size=1, max_size=12)
    )
)


def bits(value: Any) -> Any:
    """A value that is equal to another one if they are the same value of a column."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    return value


def digests(kind: pa.DataType, values: list[Any]) -> list[int]:
    rows = pa.table({"c": pa.array(values, kind)})
    return list(row_digests(rows, ["c"]).tolist())


@given(columns)
def test_rows_have_equal_digests_if_they_are_equal(column: tuple[pa.DataType, list[Any]]) -> None:
    kind, values = column
    digest_values = digests(kind, values)
    stored = [bits(value) for value in pa.array(values, kind).to_pylist()]
    for at, value in enumerate(stored):
        for other, another in enumerate(stored):
            assert (digest_values[at] == digest_values[other]) == (value == another)


@given(columns, st.integers(0, 12))
@example((pa.string(), ["a", ""]), 1)
@example((pa.list_(pa.string()), [["0"], [""]]), 1)
def test_chunks_slices_and_order_do_not_matter(
    column: tuple[pa.DataType, list[Any]], cut: int
) -> None:
    kind, values = column
    digest_values = digests(kind, values)
    array = pa.array(values, kind)
    chunked = pa.table({"c": pa.chunked_array([array[:cut], array[cut:]], kind)})
    assert row_digests(chunked, ["c"]).tolist() == digest_values
    assert row_digests(pa.table({"c": array}).slice(cut), ["c"]).tolist() == digest_values[cut:]
    assert digests(kind, values[::-1]) == digest_values[::-1]


@given(st.binary(min_size=1, max_size=5000), st.data())
def test_each_byte_of_a_long_value_counts(value: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(value) - 1))
    other = bytearray(value)
    other[at] ^= data.draw(st.integers(1, 255))
    assert len({*digests(pa.binary(), [value, bytes(other), value + b"\0", value[:-1]])}) >= 3


@given(st.text(max_size=5), st.text(max_size=5), st.text(max_size=5), st.text(max_size=5))
def test_values_do_not_move_from_one_column_to_the_next(a: str, b: str, c: str, d: str) -> None:
    assume((a, b) != (c, d))
    rows = pa.table({"x": [a, c], "y": [b, d]})
    first, second = row_digests(rows, ["x", "y"]).tolist()
    assert first != second


def test_large_forms_and_narrow_integers_have_the_digests_of_the_others() -> None:
    for kind, large in (
        (pa.string(), pa.large_string()),
        (pa.binary(), pa.large_binary()),
        (pa.list_(pa.string()), pa.large_list(pa.string())),
    ):
        values: list[Any] = ["ab", None, ""] if pa.types.is_string(kind) else [b"ab", None, b""]
        if pa.types.is_list(kind):
            values = [["ab", None], None, []]
        assert digests(kind, values) == digests(large, values)
    assert digests(pa.int32(), [1, -1]) == digests(pa.int64(), [1, -1])


def test_many_values_take_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    values = ["", "x" * 100, None, "é" * 7, "y" * 1000, "z"] * 5
    whole = digests(pa.string(), values)
    monkeypatch.setattr("headrace.sinks.replicas.verifying.digests._BLOCK_WORDS", 4)
    assert digests(pa.string(), values) == whole


def test_keys_are_equal_where_zeros_and_nans_are() -> None:
    keys = pa.table({"k": [0.0, -0.0, float("nan"), float("nan")]})
    digest_values = key_digests(keys, ["k"])
    assert digest_values[0] == digest_values[1]
    assert digest_values[2] == digest_values[3]
    assert row_digests(keys, ["k"])[0] != row_digests(keys, ["k"])[1]


def test_no_rows_have_no_digests() -> None:
    for kind in KINDS:
        assert row_digests(pa.schema([("c", kind)]).empty_table(), ["c"]).dtype == np.uint64


def test_a_type_of_no_replica_is_an_error() -> None:
    with pytest.raises(HeadraceError) as caught:
        digests(pa.month_day_nano_interval(), [None])
    assert caught.value.code == "replicas.type_not_compared"
