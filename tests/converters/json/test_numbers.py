"""Integers, decimals and floating point as JSON, against plain Python."""

from __future__ import annotations

import math
import random
import struct
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example
from hypothesis import strategies as st

from headrace.connect.encoding import Encoding
from headrace.connect.kernels.memory import address_of
from headrace.converters.json.kernels import cells as json_cells
from tests.compiled import callable_part
from tests.converters.json.encoders import (
    encoded,
    encoded_fast,
    given,
    java_double,
    plain_decimal,
    postgres_double,
    two_complement,
    unscaled_values,
)

_put_int = callable_part(json_cells.put_int)


@given(st.integers(-(2**63), 2**63 - 1))
@example(-(2**63))
@example(2**63 - 1)
def test_an_integer_is_written_and_copied_as_it_is(value: int) -> None:
    assert encoded(str(value), Encoding.RAW) == str(value).encode()
    out = np.zeros(40, np.uint8)
    end = _put_int(value, address_of(out))
    assert out[: end - address_of(out)].tobytes() == str(value).encode()


def test_integers_of_every_length_are_written() -> None:
    out = np.zeros(40, np.uint8)
    for digits in range(19):
        for value in (10**digits - 1, 10**digits, 10**digits + 1, -(10**digits)):
            end = _put_int(value, address_of(out))
            assert out[: end - address_of(out)].tobytes() == str(value).encode()


@pytest.mark.parametrize("text", ["", "-", "+1", "1 ", " 1", "1.0", "007", "-01", "12a", "0x1"])
def test_text_that_is_no_json_integer_is_refused(text: str) -> None:
    assert encoded(text, Encoding.RAW) is None


SIZES = {2: (-(2**15), 2**15 - 1), 4: (-(2**31), 2**31 - 1), 8: (-(2**63), 2**63 - 1)}
SIZES |= {-4: (0, 2**32 - 1), 0: (-(10**30), 10**30)}


@pytest.mark.parametrize("size", SIZES)
def test_an_integer_beyond_its_type_is_left_to_python(size: int) -> None:
    low, high = SIZES[size]
    near = [low - 1, low, low + 1, high - 1, high, high + 1, 0, 1, -1, 10 * high, 10 * low - 1]
    for value in near:
        fits = size == 0 or low <= value <= high
        expected = str(value).encode() if fits else None
        assert encoded(str(value), Encoding.RAW, size) == expected


@given(st.integers(-(10**20), 10**20), st.sampled_from(list(SIZES)))
def test_an_integer_is_copied_when_its_type_holds_it(value: int, size: int) -> None:
    low, high = SIZES[size]
    fits = size == 0 or low <= value <= high
    expected = str(value).encode() if fits else None
    assert encoded(str(value), Encoding.RAW, size) == expected


@given(unscaled_values, st.integers(0, 40))
@example(-1, 2)
@example(1234, 2)
@example(10**18 - 1, 18)
@example(-(2**63), 0)
@example(-(2**71), 0)
@example(-(10**18), 18)
def test_a_decimal_becomes_base64_of_its_unscaled_value(unscaled: int, scale: int) -> None:
    text = plain_decimal(unscaled, scale)
    assert encoded(text, Encoding.DECIMAL, scale) == f'"{two_complement(unscaled)}"'.encode()
    assert encoded(text, Encoding.DECIMAL_STRING, scale) == f'"{text}"'.encode()
    assert encoded(text, Encoding.DECIMAL_STRING, -1) == f'"{text}"'.encode()


@pytest.mark.parametrize("bits", range(200))
def test_powers_of_two_have_the_shortest_form(bits: int) -> None:
    for value in (2**bits - 1, 2**bits, -(2**bits), -(2**bits) - 1):
        expected = f'"{two_complement(value)}"'.encode()
        assert encoded(str(value), Encoding.DECIMAL, 0) == expected


@given(unscaled_values, st.integers(0, 20), st.integers(1, 8))
def test_missing_digits_of_the_fraction_are_zeros(unscaled: int, scale: int, more: int) -> None:
    expected = f'"{two_complement(unscaled * 10**more)}"'.encode()
    assert encoded(plain_decimal(unscaled, scale), Encoding.DECIMAL, scale + more) == expected


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("1.234", 2),
        ("NaN", 2),
        ("Infinity", 0),
        ("-Infinity", 2),
        ("1.", 1),
        (".1", 1),
        ("1.2.3", 2),
        ("1..3", 2),
        ("--1", 0),
        ("1e5", 0),
        ("", 0),
        ("-", 0),
        ("12", -1),
        ("1" * 1025, 0),
        ("1" * 30 + "x", 0),
        ("1" * 30 + ".1x", 2),
    ],
)
def test_a_decimal_of_another_form_is_left_to_python(text: str, scale: int) -> None:
    assert encoded(text, Encoding.DECIMAL, scale) is None


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ("1.5", 2),
        ("1.55", 1),
        ("1", 1),
        ("1.0", 0),
        ("NaN", -1),
        ("1.2.3", -1),
        ("", -1),
        ("007", -1),
        ("-0", -1),
        ("-0.00", 2),
        ("00.5", 1),
        ("-00.5", -1),
    ],
)
def test_decimal_text_with_another_scale_is_left_to_python(text: str, scale: int) -> None:
    assert encoded(text, Encoding.DECIMAL_STRING, scale) is None


@given(unscaled_values, st.integers(0, 40))
@example(100, 0)
@example(101111, 4)
@example(0, 5)
@example(-1500, 2)
def test_a_variable_scale_decimal_has_no_zeros_at_its_end(unscaled: int, scale: int) -> None:
    text = plain_decimal(unscaled, scale)
    while scale and unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale - 1
    expected = f'{{"scale":{scale},"value":"{two_complement(unscaled)}"}}'
    assert encoded(text, Encoding.VARIABLE_DECIMAL) == expected.encode()


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(-0.0)
@example(0.001)
@example(0.00099999)
@example(9999999.0)
@example(1e7)
@example(1e21)
@example(123456789.0)
@example(2.2250738585072014e-308)
@example(1.7976931348623157e308)
def test_a_double_is_written_in_javas_notation(value: float) -> None:
    result = encoded(postgres_double(value, 15), Encoding.DOUBLE)
    digits = len(Decimal(repr(value)).normalize().as_tuple().digits)
    if result is None:
        # Only where Java's digits may differ, or where the exponent is at its end.
        large = 1e16 <= abs(value) < 1e39 and digits >= 16
        assert large or abs(value) >= 1e308 or (abs(value) < 1e-319 and digits == 1)
    else:
        assert result.decode() == java_double(repr(value))


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@example(1e10)
@example(16777216.0)
@example(123456792.0)
@example(3.4028234663852886e38)
@example(1.1754943508222875e-38)
def test_a_real_is_written_in_javas_notation(value: float) -> None:
    result = encoded(postgres_double(value, 6), Encoding.FLOAT)
    if result is None:
        assert 2**24 <= abs(value) < 1e18 or abs(value) < 1e-41
    else:
        assert result.decode() == java_double(str(np.float32(value)))


def test_random_bit_patterns_of_reals_are_written_in_javas_notation() -> None:
    chosen = random.Random(7)
    refused = 0
    for _ in range(5000):
        (value,) = struct.unpack("<f", chosen.randbytes(4))
        if math.isfinite(value):
            result = encoded_fast(postgres_double(value, 6), Encoding.FLOAT)
            refused += result is None
            assert result is None or result.decode() == java_double(str(np.float32(value)))
    assert refused < 20


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # PostgreSQL avoids the midpoint of two floats, Java does not: both are left to Python.
        ("9.999999999999999e+22", None),
        ("5e-324", None),
        ("1e+20", b"1.0E20"),
        ("1e-07", b"1.0E-7"),
        ("0.0001", b"1.0E-4"),
        ("0.001", b"0.001"),
        ("123456789", b"1.23456789E8"),
        ("100000000000000", b"1.0E14"),
        ("1200", b"1200.0"),
        ("-1234567.5", b"-1234567.5"),
        ("NaN", b'"NaN"'),
        ("Infinity", b'"Infinity"'),
        ("-Infinity", b'"-Infinity"'),
        ("", None),
        ("-", None),
        (".", None),
        ("-NaN", None),
        ("1e", None),
        ("1e+", None),
        ("1e99999", None),
        ("1e400", None),
        ("0.E1", None),
        ("1.5E3", None),
        ("1.", None),
        (".5", None),
        ("1.2.3", None),
        ("nan", None),
        ("123456789012345678", None),
    ],
)
def test_doubles_at_the_edges(text: str, expected: bytes | None) -> None:
    assert encoded(text, Encoding.DOUBLE) == expected


@pytest.mark.parametrize("power", range(10, 20))
def test_a_real_beside_a_shorter_midpoint_is_left_to_python(power: int) -> None:
    # 3 * 5**10 has 25 bits: times 2**power it is midway between two floats, and short.
    midpoint = 3 * 5**10 * 2**power
    beside = [np.float32(midpoint - 2**power), np.float32(midpoint + 2**power)]
    assert np.float32(midpoint) in beside
    shorter = len(str(midpoint).rstrip("0"))
    for value in beside:
        text = postgres_double(float(value), 6)
        digits = len(Decimal(text).normalize().as_tuple().digits)
        ambiguous = np.float32(midpoint) == value and shorter < digits
        text = f"{Decimal(int(value)):.8e}" if ambiguous else text
        assert (encoded(text, Encoding.FLOAT) is None) == ambiguous


@given(st.integers(-(10**15) + 1, 10**15 - 1), st.integers(0, 30))
def test_a_numeric_of_fifteen_digits_is_its_nearest_double(unscaled: int, scale: int) -> None:
    text = plain_decimal(unscaled, scale)
    expected = java_double(repr(float(text)))
    assert encoded(text, Encoding.NUMERIC_DOUBLE) == expected.encode()


def test_a_numeric_of_more_digits_is_left_to_python() -> None:
    assert encoded("0.1234567890123456", Encoding.NUMERIC_DOUBLE) is None
    assert encoded("1e5", Encoding.NUMERIC_DOUBLE) is None


def test_a_number_without_digits_beside_its_point_is_left_to_python() -> None:
    for text in (".5", "-.5", "."):
        assert encoded(text, Encoding.DOUBLE) is None
    for text in ("1.", "-0.", ".5", "."):
        assert encoded(text, Encoding.NUMERIC_DOUBLE) is None
