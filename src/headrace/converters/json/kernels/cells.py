"""Compiled cell encoders: a value's canonical text becomes JSON text.

`encode` writes one non-null cell. All arguments are addresses (see
`headrace.connect.kernels.memory`): the input needs `PADDING` readable bytes after it, the output `6
* length + 64` writable bytes. Any bytes are safe: text that is not in its canonical form results in
-1, and is never read or written out of bounds. The result -1 also means a value outside the common
case, which `headrace.converters.json.values.render_cell` renders exactly.

JSON is written as Kafka Connect's JsonConverter (Jackson) writes it.
"""

from __future__ import annotations

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.kernels.bytes_text import put_three_bytes
from headrace.connect.kernels.functions import part
from headrace.connect.kernels.json_text import put_boolean, put_string
from headrace.connect.kernels.memory import copy, load8, load64, store8
from headrace.connect.kernels.text import (
    HIGH_BITS,
    POWERS_OF_TEN,
    parse_digits,
    put_int,
    units_length,
    wrapping_add,
)
from headrace.converters.json.kernels.floats import put_float
from headrace.converters.json.kernels.numbers import (
    put_decimal,
    put_decimal_string,
    put_raw_int,
    put_variable_decimal,
)
from headrace.converters.json.kernels.times import (
    NO_TIME,
    date_days,
    put_date,
    put_time,
    put_timestamp,
    put_timestamptz,
    time_micros,
    timestamp_micros,
)

_QUOTE, _BACKSLASH, _PAD = ord('"'), ord("\\"), ord("=")
_RAW, _STRING, _BOOLEAN = int(Encoding.RAW), int(Encoding.STRING), int(Encoding.BOOLEAN)
_JSON = int(Encoding.JSON)
_DECIMAL, _DECIMAL_STRING = int(Encoding.DECIMAL), int(Encoding.DECIMAL_STRING)
_DOUBLE, _FLOAT, _BYTES_HEX = int(Encoding.DOUBLE), int(Encoding.FLOAT), int(Encoding.BYTES_HEX)
_DATE, _TIME_MS, _TIME_US = int(Encoding.DATE), int(Encoding.TIME_MS), int(Encoding.TIME_US)
_TIMESTAMP_MS, _TIMESTAMP_US = int(Encoding.TIMESTAMP_MS), int(Encoding.TIMESTAMP_US)
_TIMESTAMPTZ, _BIT1 = int(Encoding.TIMESTAMPTZ), int(Encoding.BIT1)
_TIME_NS, _TIMESTAMP_NS = int(Encoding.TIME_NS), int(Encoding.TIMESTAMP_NS)
_ISO_DATE, _ISO_TIME = int(Encoding.ISO_DATE), int(Encoding.ISO_TIME)
_ISO_TIMESTAMP, _HEX = int(Encoding.ISO_TIMESTAMP), int(Encoding.HEX)
_MAX_NANOS_IN_MICROS = (2**63 - 1) // 1000
_NUMERIC_DOUBLE = int(Encoding.NUMERIC_DOUBLE)
_VARIABLE_DECIMAL = int(Encoding.VARIABLE_DECIMAL)
_TRUNCATED_STRING = int(Encoding.TRUNCATED_STRING)


@part
def hex_bytes(text):  # type: ignore[no-untyped-def]
    """Eight hexadecimal characters as a number of 32 bits; -1 if one is not hexadecimal.

    Per byte, with the high bits known to be clear: adding 0x80 - c sets the high bit from
    character c on, adding 0x7F - c above it.
    """
    lower = text | 0x2020202020202020
    digit = wrapping_add(text, 0x5050505050505050) & ~wrapping_add(text, 0x4646464646464646)
    letter = wrapping_add(lower, 0x1F1F1F1F1F1F1F1F) & ~wrapping_add(lower, 0x1919191919191919)
    if text & HIGH_BITS or ((digit | letter) & HIGH_BITS) != HIGH_BITS:
        return np.int64(-1)
    halves = (text & 0x0F0F0F0F0F0F0F0F) + ((text >> 6) & 0x0101010101010101) * 9
    value = ((halves << 4) | (halves >> 8)) & 0x00FF00FF00FF00FF
    # The first byte is the lowest; gather them with the first one highest.
    return (
        (value & 0xFF) << 24 | (value >> 16 & 0xFF) << 16 | (value >> 32 & 0xFF) << 8 | value >> 48
    )


@part
def _put_hex(address, length, out):  # type: ignore[no-untyped-def]
    r"""`\x…` as base64 in quotes; -1 when a character is not hexadecimal."""
    if length < 2 or length & 1 or load8(address) != _BACKSLASH or load8(address + 1) != 120:
        return np.int64(-1)
    end = address + length
    address += 2
    store8(out, _QUOTE)
    out += 1
    while end - address >= 8:
        # Eight characters are checked, six of them make three bytes.
        value = hex_bytes(load64(address))
        if value < 0:
            return value
        put_three_bytes(value >> 8, out)
        out += 4
        address += 6
    while address < end:
        count = min(end - address, 6)
        # Characters after the end read as the digit 0.
        text = load64(address) & ((1 << (8 * count)) - 1)
        value = hex_bytes(text | 0x3030303030303030 << (8 * count))
        if value < 0:
            return value
        put_three_bytes(value >> 8, out)
        out += 4
        address += count
        if count < 6:
            store8(out - 1, _PAD)
        if count < 4:
            store8(out - 2, _PAD)
    store8(out, _QUOTE)
    return out + 1


@part
def _put_hex_digits(address, length, out):  # type: ignore[no-untyped-def]
    r"""The digits of `\x…` in quotes."""
    if length < 2 or length & 1 or load8(address) != _BACKSLASH or load8(address + 1) != 120:
        return np.int64(-1)
    place = np.int64(2)
    while place < length:
        left = length - place
        text = load64(address + place)
        if left < 8:
            text = (text & ((1 << (8 * left)) - 1)) | 0x3030303030303030 << (8 * left)
        if hex_bytes(text) < 0:
            return np.int64(-1)
        place += 8
    return put_string(address + 2, length - 2, out)


@part
def nanoseconds(address, length, code):  # type: ignore[no-untyped-def]
    """The number of a time or timestamp in nanoseconds; NO_TIME if the text is not a time."""
    # Six digits of a fraction may be followed by up to three more.
    whole = min(length, 26 if code == _TIMESTAMP_NS else 15)
    more = length - whole
    nanos = parse_digits(address + whole, more) if more <= 3 else np.int64(-1)
    if code == _TIMESTAMP_NS:
        value = timestamp_micros(address, whole)
    else:
        value = time_micros(address, whole)
    if nanos < 0 or value == NO_TIME:
        return np.int64(NO_TIME)
    if value >= _MAX_NANOS_IN_MICROS or value <= -_MAX_NANOS_IN_MICROS:
        return np.int64(NO_TIME)
    return value * 1000 + nanos * POWERS_OF_TEN[3 - more]


@part
def time_number(address, length, code):  # type: ignore[no-untyped-def]
    """The number of a date, time or timestamp in days, milli- or microseconds; NO_TIME if the text
    is not a time, or the encoding has none of these units."""
    value = np.int64(NO_TIME)
    if code in (_TIMESTAMP_US, _TIMESTAMP_MS):
        value = timestamp_micros(address, length)
    elif code == _DATE:
        value = date_days(address, length)
    elif code in (_TIME_US, _TIME_MS):
        value = time_micros(address, length)
    if value != NO_TIME and code in (_TIMESTAMP_MS, _TIME_MS):
        value = value // 1000
    return value


@part
def _encode_rare(address, length, code, parameter, out):  # type: ignore[no-untyped-def]
    """Write the JSON value of a cell with one of the rarer encodings; -1 as in `encode`."""
    if code == _JSON:
        return copy(address, length, out)
    if code == _TRUNCATED_STRING:
        return put_string(address, units_length(address, length, parameter), out)
    if code == _HEX:
        return _put_hex_digits(address, length, out)
    if code == _ISO_TIMESTAMP:
        return put_timestamp(address, length, 0, out)
    if code == _ISO_DATE:
        return put_date(address, length, out)
    if code == _ISO_TIME:
        return put_time(address, length, out)
    if code not in (_TIMESTAMP_NS, _TIME_NS):
        return np.int64(-1)
    value = nanoseconds(address, length, code)
    return put_int(value, out) if value != NO_TIME else np.int64(-1)


@part
def encode(address, length, code, parameter, out):  # type: ignore[no-untyped-def]
    """Write the JSON value of a text cell that is not null.

    `code` is an `Encoding`, `parameter` belongs to it. Returns the end of the output, or -1 if
    `render_cell` has to render the cell; bytes at `out` may have been overwritten in that case.
    """
    if length < 0:
        return np.int64(-1)
    if code == _RAW:
        return put_raw_int(address, length, parameter, out)
    if code == _STRING:
        return put_string(address, length, out)
    if code in (_BOOLEAN, _BIT1):
        byte = load8(address)
        true = ord("t") if code == _BOOLEAN else ord("1")
        false = ord("f") if code == _BOOLEAN else ord("0")
        if length != 1 or byte not in (true, false):
            return np.int64(-1)
        return put_boolean(byte == true, out)
    if code == _DECIMAL:
        return put_decimal(address, length, parameter, out)
    if code == _TIMESTAMPTZ:
        return put_timestamptz(address, length, parameter, out)
    if code == _DECIMAL_STRING:
        return put_decimal_string(address, length, parameter, out)
    if code == _DOUBLE:
        return put_float(address, length, 17, out)
    if code == _FLOAT:
        return put_float(address, length, 9, out)
    if code == _NUMERIC_DOUBLE:
        return put_float(address, length, 15, out)
    if code == _BYTES_HEX:
        return _put_hex(address, length, out)
    if code == _VARIABLE_DECIMAL:
        return put_variable_decimal(address, length, out)
    if code >= _TIME_NS:
        return _encode_rare(address, length, code, parameter, out)
    value = time_number(address, length, code)
    return put_int(value, out) if value != NO_TIME else np.int64(-1)
