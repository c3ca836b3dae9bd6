"""VARIANT values of random arrays, read by a plain reader."""

from __future__ import annotations

from datetime import UTC
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.converters.typed.variant_values import Encoded, variants
from headrace.errors import HeadraceError
from tests.converters.typed.plain_variant import read
from tests.examples import examples

TEXT = st.text(max_size=80)
MOMENTS = st.datetimes()
Typed = tuple[pa.DataType, st.SearchStrategy[Any]]


def whole(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def decimals(precision: int, scale: int) -> Typed:
    def scaled(number: int) -> Decimal:
        return Decimal((int(number < 0), Decimal(abs(number)).as_tuple().digits, -scale))

    numbers = st.integers(-(10**precision) + 1, 10**precision - 1)
    return pa.decimal128(precision, scale), numbers.map(scaled)


SCALARS: list[Typed] = [
    (pa.int8(), whole(8)),
    (pa.int16(), whole(16)),
    (pa.int32(), whole(32)),
    (pa.int64(), whole(64)),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.bool_(), st.booleans()),
    (pa.large_string(), TEXT),
    (pa.large_binary(), st.binary(max_size=80)),
    (pa.date32(), st.dates()),
    (pa.timestamp("us"), MOMENTS),
    (pa.timestamp("us", "UTC"), MOMENTS.map(lambda moment: moment.replace(tzinfo=UTC))),
    decimals(9, 2),
    decimals(18, 18),
    decimals(38, 5),
]
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


def nested(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    structs = st.lists(st.tuples(NAMES, inner), unique_by=lambda pair: pair[0], max_size=5)
    return st.one_of(inner.map(_list), inner.map(_map), structs.map(_struct))


def _list(inner: Typed) -> Typed:
    return pa.large_list(inner[0]), st.lists(st.none() | inner[1], max_size=4)


def _map(inner: Typed) -> Typed:
    entries = st.dictionaries(NAMES, st.none() | inner[1], max_size=4)
    return pa.map_(pa.large_string(), inner[0]), entries


def _struct(members: list[tuple[str, Typed]]) -> Typed:
    kind = pa.struct([pa.field(name, member[0]) for name, member in members])
    return kind, st.fixed_dictionaries({name: st.none() | each[1] for name, each in members})


TYPES: st.SearchStrategy[Typed] = st.recursive(st.sampled_from(SCALARS), nested, max_leaves=6)


def arrow(kind: pa.DataType, value: Any) -> Any:
    """A value as Arrow takes it: maps are lists of pairs."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return [(key, arrow(kind.item_type, item)) for key, item in value.items()]
    if pa.types.is_struct(kind):
        return {field.name: arrow(field.type, value[field.name]) for field in kind}
    if pa.types.is_large_list(kind):
        return [arrow(kind.value_type, item) for item in value]
    return value


@settings(max_examples=examples(200))
@given(st.data(), TYPES)
def test_a_plain_reader_finds_the_values(data: st.DataObject, typed: Typed) -> None:
    kind, strategy = typed
    values = data.draw(st.lists(st.none() | strategy, max_size=6))
    array = pa.array([arrow(kind, value) for value in values], kind)
    variant_array = variants(array)
    assert variant_array.is_null().to_pylist() == [value is None for value in values]
    read_values = [
        None if v is None else read(v["value"], v["metadata"]) for v in variant_array.to_pylist()
    ]
    assert read_values == values


def test_large_values_have_large_heads() -> None:
    wide = {f"field {number:03}": "x" * 300 for number in range(300)}
    lists = {"many": list(range(70_000)), **wide}
    kind = pa.struct(
        [pa.field("many", pa.large_list(pa.int64()))]
        + [pa.field(name, pa.large_string()) for name in wide]
    )
    (variant,) = variants(pa.array([lists], kind)).to_pylist()
    assert read(variant["value"], variant["metadata"]) == lists


def test_a_value_that_spark_cannot_read_is_refused() -> None:
    too_long = pa.array(["x" * (128 << 20)], pa.large_string())
    with pytest.raises(HeadraceError, match="VARIANT has 134217733 bytes"):
        variants(too_long)


@pytest.mark.parametrize(
    ("count", "size", "message"),
    [
        (1, (128 << 20) + 1, "a VARIANT has 134217729 bytes; Spark reads at most 134217728"),
        (16, 128 << 20, "16 VARIANT values have 2147483648 bytes; an Arrow array holds less than"),
    ],
)
def test_an_error_says_whether_one_value_is_too_large_or_all_together_are(
    count: int, size: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = np.arange(count + 1, dtype=np.int64) * size
    encoded = Encoded(ends, np.zeros(0, np.uint8))
    monkeypatch.setattr("headrace.converters.typed.variant_values.encode", lambda *_: encoded)
    with pytest.raises(HeadraceError) as caught:
        variants(pa.nulls(count, pa.int64()))
    assert caught.value.message.startswith(message)
    assert ("headrace.range.max.bytes" in caught.value.remedy) == (count > 1)
