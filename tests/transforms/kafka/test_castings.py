"""Casts in columns against one value at a time."""

from __future__ import annotations

import math
import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.java_numbers import java_double, java_float
from headrace.connect.schema import Schema, Type
from headrace.transforms.kafka.casting.castings import cast_one, cast_values
from headrace.transforms.kafka.headers.literals import parse_literal

BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
LONGS = st.integers(-(2**63), 2**63 - 1)


def wrapped(number: int, bits: int) -> int:
    return (number + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


@given(st.lists(st.none() | LONGS), st.sampled_from(list(BITS)))
def test_integers_keep_their_low_bits(numbers: list[int | None], target: Type) -> None:
    cast_numbers = cast_values(
        Schema(Type.INT64), pa.array(numbers, pa.int64()), target
    ).to_pylist()
    assert cast_numbers == [None if n is None else wrapped(n, BITS[target]) for n in numbers]


@given(st.floats(), st.sampled_from(list(BITS)))
def test_a_float_is_cut_and_bounded_and_then_narrowed(number: float, target: Type) -> None:
    bits = 64 if target is Type.INT64 else 32
    bounded = 0
    if not math.isnan(number):
        low, high = -(1 << bits - 1), (1 << bits - 1) - 1
        bounded = high if number >= high else low if number <= low else int(number)
    assert cast_one(Schema(Type.FLOAT64), number, target) == wrapped(bounded, BITS[target])


@given(st.floats())
def test_a_float_and_its_text_are_each_other(number: float) -> None:
    text = cast_one(Schema(Type.FLOAT64), number, Type.STRING)
    assert text == java_double(number)
    read = cast_one(Schema(Type.STRING), text, Type.FLOAT64)
    assert struct.pack(">d", read) == struct.pack(">d", float(str(number)))


@given(st.lists(st.none() | st.floats(width=32) | st.floats(-(2.0**25), 2.0**25, width=32)))
def test_texts_of_many_floats_are_those_of_each(numbers: list[float | None]) -> None:
    for kind, show in ((Type.FLOAT32, java_float), (Type.FLOAT64, java_double)):
        values = pa.array(numbers, pa.float32() if kind is Type.FLOAT32 else pa.float64())
        texts = cast_values(Schema(kind), values, Type.STRING).to_pylist()
        assert texts == [None if number is None else show(number) for number in numbers]


@given(st.text(max_size=5), st.sampled_from(list(BITS)))
def test_a_text_that_is_no_number_is_refused(text: str, target: Type) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        cast_one(Schema(Type.STRING), "n" + text, target)


@given(LONGS)
def test_a_literal_of_digits_is_the_smallest_integer(number: int) -> None:
    literal = parse_literal(f" {number} ")
    assert literal.value == number
    smaller = [bits for bits in BITS.values() if bits < BITS[literal.schema.type]]
    assert all(wrapped(number, bits) != number for bits in smaller)


@given(st.text(max_size=30) | st.text('[]{},:"\\ 1a.-T', max_size=30))
def test_a_literal_is_its_text_or_something_that_was_written(text: str) -> None:
    literal = parse_literal(text)
    if literal.schema.type is Type.STRING:
        assert literal.value == text
    else:
        assert set(text) & set("0123456789[{nft")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('["a\\"b", null]', None),
        ('["a\\"b", "c"]', ["a\"b", "c"]),
        ('{"a": [1, 2.5], "b": []}', None),
        ('{"a": {"b": 300}}', {"a": {"b": 300}}),
        ("[1, 70000]", [1, 70000]),
        ("[1.5, 2]", [1.5, 2.0]),
        ('[22:13:20.123Z]', [80_000_123]),
        ("1e-400", Decimal("1e-400")),
    ],
)  # fmt: skip
def test_lists_and_maps_have_one_type(text: str, value: object) -> None:
    literal = parse_literal(text)
    if value is None:
        assert literal.value == text
    elif isinstance(value, Decimal):
        assert literal.value in (0.0, value)
    else:
        assert literal.value == value
