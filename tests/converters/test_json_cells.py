"""The compiled cell encoders against plain Python, and against bytes PostgreSQL never sends."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import random
import struct
from decimal import Decimal
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import example, settings
from hypothesis import strategies as st

from headrace.connect.encoding import Encoding
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.converters.json import cells as json_cells
from headrace.debezium.column_rules import truncated

CANARY = 0xA5


def given(*strategies: st.SearchStrategy) -> Any:
    """Without a deadline: the first call compiles."""
    return lambda test: settings(deadline=None)(hypothesis.given(*strategies)(test))


def output_of(text: bytes, call, *, poison: int = 0x39) -> bytes | None:
    """The output of `call(address, length, out)`, None for -1; checks what was written around it.

    `poison` surrounds the input: a kernel that looks beyond the end sees plausible characters.
    """
    room = 6 * len(text) + 64
    source = np.full(PADDING + len(text) + PADDING, poison, np.uint8)
    source[PADDING : PADDING + len(text)] = np.frombuffer(text, np.uint8)
    before = source.copy()
    target = np.full(64 + room + 512, CANARY, np.uint8)
    out = address_of(target) + 64
    end = call(address_of(source) + PADDING, len(text), out)
    assert (source == before).all()
    assert (target[:64] == CANARY).all()
    assert (target[64 + room :] == CANARY).all()
    if end < 0:
        assert end == -1
        return None
    assert out <= end <= out + room
    return target[64 : 64 + end - out].tobytes()


def encoded(text: bytes | str, code: Encoding, parameter: int = 0) -> bytes | None:
    data = text.encode() if isinstance(text, str) else text

    def call(address: int, length: int, out: int) -> int:
        return json_cells.encode(address, length, int(code), parameter, out)

    result = output_of(data, call)
    for poison in (0x30, 0x2E, 0x00, 0xFF):
        assert output_of(data, call, poison=poison) == result
    return result


# References


def jackson_string(text: str) -> bytes:
    short = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
    escapes = {code: short.get(code, f"\\u{code:04X}") for code in (*range(32), 34, 92)}
    for code in {ord(c) for c in text if ord(c) > 0xFFFF}:
        # To bytes, Jackson writes both halves of a surrogate pair as escapes.
        pair = chr(code).encode("utf-16-be")
        escapes[code] = f"\\u{pair[:2].hex().upper()}\\u{pair[2:].hex().upper()}"
    return f'"{text.translate(escapes)}"'.encode()


def java_text(digits: str, exponent: int, sign: str) -> str:
    """Double.toString of 0.DIGITS * 10**exponent."""
    if -3 < exponent <= 7:
        if exponent <= 0:
            return f"{sign}0.{'0' * -exponent}{digits}"
        return f"{sign}{digits[:exponent].ljust(exponent, '0')}.{digits[exponent:] or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent - 1}"


def java_double(text: str) -> str:
    number = Decimal(text)
    sign, digits, _ = number.as_tuple()
    mark = "-" if sign else ""
    plain = "".join(map(str, digits)).strip("0")
    if not plain:
        return f"{mark}0.0"
    return java_text(plain, number.adjusted() + 1, mark)


def postgres_double(value: float, largest_fixed: int) -> str:
    """float8out and float4out write exponents from 1e15 and 1e6 on."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or math.isnan(value):
        return "NaN" if math.isnan(value) else ("-0" if math.copysign(1, value) < 0 else "0")
    shortest = repr(value) if largest_fixed == 15 else str(np.float32(value))
    number = Decimal(shortest)
    exponent = number.adjusted()
    sign, digits, _ = number.as_tuple()
    plain = "".join(map(str, digits)).strip("0")
    mark = "-" if sign else ""
    if -4 <= exponent < largest_fixed:
        return f"{number.normalize():f}"
    point = f".{plain[1:]}" if len(plain) > 1 else ""
    return f"{mark}{plain[0]}{point}e{exponent:+03d}"


def two_complement(unscaled: int) -> str:
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return base64.b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()


def plain_decimal(unscaled: int, scale: int) -> str:
    digits = str(abs(unscaled)).rjust(scale + 1, "0")
    text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return f"-{text}" if unscaled < 0 else text


EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001
MICROSECOND = dt.timedelta(microseconds=1)
unscaled_values = st.integers(-(10**18), 10**18) | st.integers(-(10**400), 10**400)


# Integers


@given(st.integers(-(2**63), 2**63 - 1))
@example(-(2**63))
@example(2**63 - 1)
def test_an_integer_is_written_and_copied_as_it_is(value: int) -> None:
    assert encoded(str(value), Encoding.RAW) == str(value).encode()
    out = np.zeros(40, np.uint8)
    end = json_cells.put_int(value, address_of(out))
    assert out[: end - address_of(out)].tobytes() == str(value).encode()


def test_integers_of_every_length_are_written() -> None:
    out = np.zeros(40, np.uint8)
    for digits in range(19):
        for value in (10**digits - 1, 10**digits, 10**digits + 1, -(10**digits)):
            end = json_cells.put_int(value, address_of(out))
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


# Strings


@given(st.text(st.characters(codec="utf-8")) | st.text('ab"\\\n\t\x01\x1f\x7f\u00e9\U0001f600'))
def test_a_string_has_jacksons_escapes(text: str) -> None:
    result = encoded(text, Encoding.STRING)
    assert result == jackson_string(text)
    assert json.loads(result) == text
    assert output_of(text.encode(), json_cells.put_string) == result


def test_every_character_is_escaped_as_jackson_does_at_every_place_of_a_block() -> None:
    for code in range(128):
        for place in range(18):
            text = "x" * place + chr(code) + "y" * 3
            assert encoded(text, Encoding.STRING) == jackson_string(text)


@given(
    st.text(st.characters(codec="utf-8")) | st.text("ab\u00e9\u20ac\U0001f600"), st.integers(0, 40)
)
def test_a_truncated_string_is_cut_at_utf16_units_and_never_inside_a_character(
    text: str, units: int
) -> None:
    cut = encoded(text, Encoding.TRUNCATED_STRING, units)
    assert cut == jackson_string(truncated(text, units))


# Booleans and bits


def test_booleans_and_bits() -> None:
    assert encoded("t", Encoding.BOOLEAN) == encoded("1", Encoding.BIT1) == b"true"
    assert encoded("f", Encoding.BOOLEAN) == encoded("0", Encoding.BIT1) == b"false"
    for text in ("", "1", "true", "T"):
        assert encoded(text, Encoding.BOOLEAN) is None
    for text in ("", "t", "10", "2"):
        assert encoded(text, Encoding.BIT1) is None


# Decimals


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


# Floating point


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


def encoded_fast(text: str, code: Encoding) -> bytes | None:
    def call(address: int, length: int, out: int) -> int:
        return json_cells.encode(address, length, int(code), 0, out)

    return output_of(text.encode(), call)


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


# Bytes


@given(st.binary(max_size=80))
def test_bytea_becomes_base64(data: bytes) -> None:
    expected = b'"' + base64.b64encode(data) + b'"'
    assert encoded(rb"\x" + data.hex().encode(), Encoding.BYTES_HEX) == expected
    assert encoded(rb"\x" + data.hex().upper().encode(), Encoding.BYTES_HEX) == expected
    assert output_of(data, json_cells.put_bytes) == expected


def test_every_character_that_is_not_hexadecimal_is_refused() -> None:
    valid = b"0123456789abcdefABCDEF"
    for code in range(256):
        for place in range(12):
            text = bytearray(rb"\x" + b"0" * 12)
            text[2 + place] = code
            assert (encoded(bytes(text), Encoding.BYTES_HEX) is None) == (code not in valid)
    for text in (b"", b"\\", rb"\x0", b"00", b"x0", rb"\X00"):
        assert encoded(text, Encoding.BYTES_HEX) is None


# Dates and times


@given(st.dates())
@example(dt.date(1, 1, 1))
@example(dt.date(9999, 12, 31))
def test_a_date_becomes_days(value: dt.date) -> None:
    expected = str((value - EPOCH.date()).days).encode()
    assert encoded(value.isoformat(), Encoding.DATE) == expected


def test_every_day_of_four_centuries_and_no_other() -> None:
    for year in (*range(1, 5), *range(1896, 1905), *range(1996, 2005), 2100, 2400, 9999):
        for month in range(14):
            for day in range(33):
                text = f"{year:04d}-{month:02d}-{day:02d}"
                try:
                    value = dt.date(year, month, day)
                except ValueError:
                    assert encoded_fast(text, Encoding.DATE) is None
                else:
                    days = str((value - EPOCH.date()).days).encode()
                    assert encoded_fast(text, Encoding.DATE) == days


@pytest.mark.parametrize(
    "text",
    [
        "infinity",
        "-infinity",
        "0044-03-15 BC",
        "10000-01-01",
        "2024-1-1",
        "2024/01/01",
        "",
        "0000-01-01",
    ],
)
def test_an_unusual_date_is_left_to_python(text: str) -> None:
    assert encoded(text, Encoding.DATE) is None


def clock_text(value: dt.datetime | dt.time) -> str:
    fraction = f".{value.microsecond:06d}".rstrip("0") if value.microsecond else ""
    return f"{value:%H:%M:%S}{fraction}"


def timestamp_text(value: dt.datetime) -> str:
    return f"{value.date().isoformat()} {clock_text(value)}"


@given(st.times())
@example(dt.time(23, 59, 59, 999999))
def test_a_time_becomes_milliseconds_or_microseconds(value: dt.time) -> None:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    micros = seconds * 1000000 + value.microsecond
    assert encoded(clock_text(value), Encoding.TIME_US) == str(micros).encode()
    assert encoded(clock_text(value), Encoding.TIME_MS) == str(micros // 1000).encode()


def test_a_time_may_be_the_end_of_the_day_and_nothing_later() -> None:
    assert encoded("24:00:00", Encoding.TIME_US) == b"86400000000"
    assert encoded("24:00:00", Encoding.TIME_MS) == b"86400000"
    for text in ("24:00:00.1", "24:00:01", "25:00:00", "12:60:00", "12:00:60", "1:00:00", "12:00"):
        assert encoded(text, Encoding.TIME_US) is None
    for text in ("12:00:00.", "12:00:00.1234567", "12:00:00,5", "12:00:00.5x", "12:00:00+00"):
        assert encoded(text, Encoding.TIME_US) is None


@given(st.datetimes())
@example(EPOCH.replace(year=1))
@example(EPOCH.replace(year=9999, month=12, day=31, hour=23, microsecond=999999))
@example(EPOCH - MICROSECOND)
def test_a_timestamp_becomes_milliseconds_or_microseconds(value: dt.datetime) -> None:
    micros = (value - EPOCH) // MICROSECOND
    text = timestamp_text(value)
    assert encoded(text, Encoding.TIMESTAMP_US) == str(micros).encode()
    assert encoded(text, Encoding.TIMESTAMP_MS) == str(micros // 1000).encode()


@given(st.datetimes(), st.integers(0, 6))
def test_a_timestamp_with_time_zone_has_the_columns_precision(
    value: dt.datetime, digits: int
) -> None:
    if digits:
        step = 10 ** (6 - digits)
        value = value.replace(microsecond=value.microsecond // step * step)
    text = timestamp_text(value)
    fraction = f".{value.microsecond:06d}"[: digits + 1]
    if digits == 0:
        fraction = text[19:]
    expected = f'"{value.date().isoformat()}T{value:%H:%M:%S}{fraction}Z"'
    assert encoded(f"{text}+00", Encoding.TIMESTAMPTZ, digits) == expected.encode()


@pytest.mark.parametrize(
    "text",
    [
        "infinity",
        "-infinity",
        "0044-03-15 12:00:00+00 BC",
        "10000-01-01 00:00:00+00",
        "2024-01-01 00:00:00+01",
        "2024-01-01 00:00:00-00",
        "2024-01-01 00:00:00",
        "2024-01-01 00:00:00.1234+00",
        "2024-01-01T00:00:00+00",
        "2024-13-01 00:00:00+00",
        "+00",
        "",
    ],
)
def test_an_unusual_timestamp_is_left_to_python(text: str) -> None:
    assert encoded(text, Encoding.TIMESTAMPTZ, 3) is None
    assert encoded(text.removesuffix("+00") + "x", Encoding.TIMESTAMP_US) is None


# Hostile bytes


CODES = [*Encoding, 19, -1, 1000]
hostile = (
    st.binary(max_size=120)
    | st.text("0123456789-+.eE:/ \\x", max_size=60).map(str.encode)
    | st.text("0123456789.", min_size=1000, max_size=1100).map(str.encode)
)


@settings(max_examples=400, deadline=None)
@hypothesis.given(hostile, st.integers(-10, 60) | st.integers(-(2**63), 2**63 - 1))
def test_no_bytes_harm_any_encoder(data: bytes, parameter: int) -> None:
    for code in CODES:

        def call(address: int, length: int, out: int, code: int = int(code)) -> int:
            return json_cells.encode(address, length, code, parameter, out)

        results = {output_of(data, call, poison=poison) for poison in (0x39, 0x00, 0x2E, 0xFF)}
        assert len(results) == 1
        (result,) = results
        if result is not None and code not in (
            Encoding.STRING,
            Encoding.TRUNCATED_STRING,
            Encoding.JSON,
        ):
            json.loads(result.decode())


@given(
    st.sampled_from(
        [
            (b"2018-06-20 15:13:16.945104+00", Encoding.TIMESTAMPTZ),
            (b"2018-06-20 15:13:16.945104", Encoding.TIMESTAMP_US),
            (b"2018-06-20", Encoding.DATE),
            (b"15:13:16.945104", Encoding.TIME_US),
            (b"-1234567.89", Encoding.DECIMAL),
            (b"-12345678901234567890123.89", Encoding.DECIMAL),
            (b"-12345.6789e+10", Encoding.DOUBLE),
            (rb"\x00112233445566778899", Encoding.BYTES_HEX),
        ]
    ),
    st.data(),
)
def test_one_wrong_character_is_noticed_or_harmless(
    sample: tuple[bytes, Encoding], data: st.DataObject
) -> None:
    text, code = bytearray(sample[0]), sample[1]
    place = data.draw(st.integers(0, len(text) - 1))
    right = text[place]
    text[place] = data.draw(
        st.integers(0, 255).filter(lambda b: b != right and chr(b) not in "0123456789abcdefABCDEF")
    )
    result = encoded(bytes(text), code, 2 if code == Encoding.DECIMAL else 6)
    if result is not None:
        json.loads(result)
        assert bytes(text[:1]) in b"-E" or text[place] in b".eE+-"


def test_codes_without_a_kernel_and_lengths_below_zero_are_left_to_python() -> None:
    for code in (Encoding.PYTHON, Encoding.TIMETZ):
        assert encoded("12:00:00+00", code) is None
    out = np.zeros(64, np.uint8)
    for code in Encoding:
        assert json_cells.encode(address_of(out), -5, int(code), 0, address_of(out)) == -1
