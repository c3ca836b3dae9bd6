"""Calls of the compiled cell encoders, and what they must write, in plain Python."""

from __future__ import annotations

import base64
import datetime as dt
import math
from decimal import Decimal
from typing import Any

import hypothesis
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from headrace.connect.encoding import Encoding
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.converters.json.kernels import cells as json_cells
from tests.compiled import callable_part

_encode = callable_part(json_cells.encode)

CANARY = 0xA5


def given(*strategies: st.SearchStrategy) -> Any:
    """Hypothesis' settings without a deadline: the first call compiles."""
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
        return _encode(address, length, int(code), parameter, out)

    result = output_of(data, call)
    for poison in (0x30, 0x2E, 0x00, 0xFF):
        assert output_of(data, call, poison=poison) == result
    return result


def encoded_fast(text: str, code: Encoding) -> bytes | None:
    """The result of `encoded`, with only one form of what surrounds the text."""

    def call(address: int, length: int, out: int) -> int:
        return _encode(address, length, int(code), 0, out)

    return output_of(text.encode(), call)


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
