"""Calendar arithmetic against datetime, decimals against their definition."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from headrace.connect import java_numbers
from headrace.debezium import decimals, temporal

EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 (st.datetimes has no zone either)
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False)


@given(st.dates())
def test_the_day_number_is_datetimes(day: dt.date) -> None:
    expected = (day - dt.date(1970, 1, 1)).days
    assert temporal.epoch_day(day.year, day.month, day.day) == expected


@given(st.integers(-4_000_000_000, 4_000_000_000))
def test_a_day_number_is_read_back(days: int) -> None:
    assert temporal.epoch_day(*temporal.civil_date(days)) == days


@given(st.datetimes(), st.integers(1, 6))
def test_a_zoned_timestamp_has_the_declared_digits(moment: dt.datetime, digits: int) -> None:
    micros = (moment - EPOCH) // dt.timedelta(microseconds=1)
    expected = moment.strftime("%m-%dT%H:%M:%S.%f")[: 15 + digits]
    assert temporal.zoned_timestamp(micros, digits) == f"{moment.year:04}-{expected}Z"


def exponent_of(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


@given(DECIMALS)
def test_an_unscaled_value_and_its_scale_are_the_number(value: Decimal) -> None:
    scale = Fraction(10) ** -exponent_of(value)
    assert Fraction(value) * scale == java_numbers.unscaled(value)


@given(st.integers())
def test_bytes_are_the_fewest_of_twos_complement(number: int) -> None:
    data = java_numbers.big_endian(number)
    assert int.from_bytes(data, "big", signed=True) == number
    assert len(data) == 1 or not -(1 << 8 * len(data) - 9) <= number < 1 << 8 * len(data) - 9


@given(st.integers(-(10**40), 10**40), st.integers(-20, 20), st.integers(-20, 20))
def test_a_decimal_at_a_scale_is_the_same_number_or_refused(
    number: int, exponent: int, scale: int
) -> None:
    sign, digits, _ = Decimal(number).as_tuple()
    value = Decimal((sign, digits, exponent))
    scaled = java_numbers.at_scale(value, scale)
    exact = number * 10 ** (40 + exponent)
    if scaled is None:
        assert exact % 10 ** (40 - scale)
    else:
        assert -exponent_of(scaled) == scale
        assert java_numbers.unscaled(scaled) * 10 ** (40 - scale) == exact


@given(st.integers(-(10**30), 10**30), st.integers(-20, 20))
def test_a_variable_scale_is_the_smallest(number: int, exponent: int) -> None:
    sign, digits, _ = Decimal(number).as_tuple()
    scaled = decimals.variable_scale(Decimal((sign, digits, exponent)))
    scale, data = scaled["scale"], scaled["value"]
    assert isinstance(scale, int)
    assert isinstance(data, bytes)
    unscaled = int.from_bytes(data, "big", signed=True)
    assert scale >= 0
    assert unscaled * 10 ** (40 - scale) == number * 10 ** (40 + exponent)
    assert scale == 0 or unscaled % 10
