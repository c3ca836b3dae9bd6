"""Compiled cell encoders of the binary forms: a cell's canonical text or its bytes become Avro, or
Java's text of the value.

The rules on memory, and the meaning of the result -1, are those of
`headrace.converters.json.kernels.cells`, whose parsers these encoders share.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.encoding import AS_AVRO, AS_TEXT, FIRST_DOCUMENT, Encoding
from headrace.connect.images import BINARY
from headrace.connect.kernels.avro import put_block, put_long
from headrace.connect.kernels.bytes_text import put_base64, put_hexadecimal
from headrace.connect.kernels.functions import part
from headrace.connect.kernels.json_text import put_boolean
from headrace.connect.kernels.memory import (
    caller_of,
    copy,
    load8,
    load16,
    load32,
    load32_signed,
    load64,
    store8,
    store32,
    store64,
)
from headrace.connect.kernels.text import put_int, units_length
from headrace.converters.binary.kernels.numbers import (
    put_decimal_bytes,
    put_float_text,
    put_integer_text,
    put_variable_decimal_bytes,
)
from headrace.converters.instructions import ProgramForm
from headrace.converters.json.kernels.cells import hex_bytes, nanoseconds, time_number
from headrace.converters.json.kernels.numbers import put_decimal_string, put_raw_int
from headrace.converters.json.kernels.times import (
    NO_TIME,
    put_date,
    put_time,
    put_timestamp,
    put_timestamptz,
)

_AVRO, _RAW_FORM, _QUOTED = int(ProgramForm.AVRO), int(ProgramForm.RAW), int(ProgramForm.QUOTED)
_RAW, _STRING, _BOOLEAN = int(Encoding.RAW), int(Encoding.STRING), int(Encoding.BOOLEAN)
_BIT1, _DECIMAL, _HEX = int(Encoding.BIT1), int(Encoding.DECIMAL), int(Encoding.HEX)
_DOUBLE, _FLOAT = int(Encoding.DOUBLE), int(Encoding.FLOAT)
_NUMERIC_DOUBLE, _BYTES_HEX = int(Encoding.NUMERIC_DOUBLE), int(Encoding.BYTES_HEX)
_VARIABLE_DECIMAL = int(Encoding.VARIABLE_DECIMAL)
_TRUNCATED_STRING, _BYTES = int(Encoding.TRUNCATED_STRING), int(Encoding.BYTES)
_TIME_NS, _TIMESTAMP_NS = int(Encoding.TIME_NS), int(Encoding.TIMESTAMP_NS)
_NUMBERS_OF_TIME = np.zeros(64, np.bool_)
_NUMBERS_OF_TIME[
    [Encoding.DATE, Encoding.TIME_MS, Encoding.TIME_US, Encoding.TIMESTAMP_MS,
     Encoding.TIMESTAMP_US]
] = True  # fmt: skip
_BINARY_BOOLEAN = int(Encoding.BINARY_BOOLEAN)
_INT16, _INT32, _INT64 = int(Encoding.INT16_LE), int(Encoding.INT32_LE), int(Encoding.INT64_LE)
_FLOAT32, _FLOAT64 = int(Encoding.FLOAT32_LE), int(Encoding.FLOAT64_LE)
_BSON_TEXTS = int(Encoding.BSON_TEXTS)
_MAX_PLAIN_SCALE = 6  # the largest scale of a BigDecimal whose text never has an exponent
_MAX_LENGTH_BYTES = 5  # most bytes of a text's length in Avro
_TIMESTAMPTZ, _ISO_TIMESTAMP = int(Encoding.TIMESTAMPTZ), int(Encoding.ISO_TIMESTAMP)
_ISO_DATE, _ISO_TIME = int(Encoding.ISO_DATE), int(Encoding.ISO_TIME)
_DECIMAL_STRING, _BINARY_HEX = int(Encoding.DECIMAL_STRING), int(Encoding.BINARY_HEX)
_HEX_MARK = int.from_bytes(b"\\x", "little")
_ZERO, _SMALL_A = ord("0"), ord("a")

_QUOTE, _BACKSLASH = ord('"'), ord("\\")

_call = caller_of(5)


@part
def _put_time_text(address, length, code, parameter, out):
    """Write a date or time in ISO 8601, in quotes, like the JSON encoders."""
    if code == _TIMESTAMPTZ:
        return put_timestamptz(address, length, parameter, out)
    if code == _ISO_TIMESTAMP:
        return put_timestamp(address, length, 0, out)
    if code == _ISO_DATE:
        return put_date(address, length, out)
    if code == _ISO_TIME:
        return put_time(address, length, out)
    return np.int64(-1)


@part
def put_text(address, length, code, parameter, out):
    """Write Java's text of a value that becomes a string; returns its end, or -1."""
    if code in (_DECIMAL_STRING, _DECIMAL):
        if code == _DECIMAL and parameter > _MAX_PLAIN_SCALE:
            return np.int64(-1)
        end = put_decimal_string(address, length, parameter, out)
    elif code == _HEX:
        if length < 2 or length & 1 or load16(address) != _HEX_MARK:
            return np.int64(-1)
        for place in range(address + 2, address + length):
            byte = load8(place) | 0x20
            if not (_ZERO <= byte <= _ZERO + 9 or _SMALL_A <= byte <= _SMALL_A + 5):
                return np.int64(-1)
        return copy(address + 2, length - 2, out)
    else:
        end = _put_time_text(address, length, code, parameter, out)
    if end < 0:
        return end
    return copy(out + 1, end - out - 2, out)


@part
def _put_scalar_text(address, length, code, parameter, out):
    """Write the text of a number or boolean; -2 if the encoding is that of a string."""
    if code == _RAW:
        return put_raw_int(address, length, parameter, out)
    if _NUMBERS_OF_TIME[code & 63]:
        value = time_number(address, length, code)
        return put_int(value, out) if value != NO_TIME else np.int64(-1)
    if code in (_BOOLEAN, _BIT1):
        byte = load8(address)
        true = ord("t") if code == _BOOLEAN else ord("1")
        false = ord("f") if code == _BOOLEAN else ord("0")
        if length != 1 or byte not in (true, false):
            return np.int64(-1)
        return put_boolean(byte == true, out)
    if code in (_BYTES_HEX, _DOUBLE, _FLOAT, _NUMERIC_DOUBLE, _VARIABLE_DECIMAL):
        return np.int64(-1)
    return np.int64(-2)


@part
def _put_binary_text(address, length, code, out):
    """Write the text of a binary cell of a number, boolean or bytes; -2 if the encoding is that of
    a string."""
    if code == _INT64 and length == 8:
        return put_int(load64(address), out)
    if code == _INT32 and length == 4:
        return put_int(load32_signed(address), out)
    if code == _INT16 and length == 2:
        return put_int((load16(address) ^ 0x8000) - 0x8000, out)
    if code == _BYTES and length >= 0:
        return put_base64(address, length, out)
    if code == _BINARY_BOOLEAN and length == 1 and load8(address) <= 1:
        return put_boolean(load8(address) == 1, out)
    return np.int64(-2) if code == _BINARY_HEX or code >= FIRST_DOCUMENT else np.int64(-1)


@part
def _put_string_of_bytes(documents, address, length, code, out):
    """Write a binary cell that becomes a string."""
    if code == _BINARY_HEX:
        return put_hexadecimal(address, length, out)
    return _call(documents, (address, length, code, AS_TEXT, out))


@part
def quote(begin, end):
    """Put quotes around a text, and backslashes before quotes and backslashes in it; returns its
    end."""
    marks = 0
    for place in range(begin, end):
        if load8(place) in (_QUOTE, _BACKSLASH):
            marks += 1
    target = end + marks + 1
    store8(target, _QUOTE)
    place = end - 1
    last = target
    while place >= begin:
        byte = load8(place)
        target -= 1
        store8(target, byte)
        if byte in (_QUOTE, _BACKSLASH):
            target -= 1
            store8(target, _BACKSLASH)
        place -= 1
    store8(begin, _QUOTE)
    return last + 1


@part
def _put_hex_bytes(address, length, out):
    r"""Write the bytes of `\x…`; -1 if a character is not hexadecimal."""
    if length < 2 or length & 1 or load16(address) != _HEX_MARK:
        return np.int64(-1)
    end = address + length
    address += 2
    while address < end:
        count = min(end - address, 8)
        text = load64(address)
        if count < 8:
            text = (text & ((1 << (8 * count)) - 1)) | 0x3030303030303030 << (8 * count)
        value = hex_bytes(text)
        if value < 0:
            return value
        # The first byte is the highest.
        swapped = (value & 0xFF) << 24 | (value & 0xFF00) << 8 | (value >> 8) & 0xFF00 | value >> 24
        store32(out, swapped)
        address += count
        out += count >> 1
    return out


@part
def _put_avro_binary(address, length, code, out):
    """Write a binary cell of a number, boolean or bytes; -2 if the encoding is that of a string."""
    if code == _INT64 and length == 8:
        return put_long(load64(address), out)
    if code == _INT32 and length == 4:
        return put_long(load32_signed(address), out)
    if code == _INT16 and length == 2:
        return put_long((load16(address) ^ 0x8000) - 0x8000, out)
    if code == _FLOAT64 and length == 8:
        store64(out, load64(address))
        return out + 8
    if code == _FLOAT32 and length == 4:
        store32(out, load32(address))
        return out + 4
    if code == _BYTES and length >= 0:
        return put_block(address, length, out)
    if code == _BINARY_BOOLEAN and length == 1 and load8(address) <= 1:
        store8(out, load8(address))
        return out + 1
    return np.int64(-2) if code == _BINARY_HEX or code >= FIRST_DOCUMENT else np.int64(-1)


@part
def _put_avro_text(address, length, code, parameter, out):
    """Write a text cell of another type than a string; -2 if the encoding is that of a string."""
    if code == _RAW:
        return put_integer_text(address, length, parameter, out)
    if _NUMBERS_OF_TIME[code & 63]:
        value = time_number(address, length, code)
        return put_long(value, out) if value != NO_TIME else np.int64(-1)
    if code in (_TIME_NS, _TIMESTAMP_NS):
        value = nanoseconds(address, length, code)
        return put_long(value, out) if value != NO_TIME else np.int64(-1)
    if code in (_BOOLEAN, _BIT1):
        byte = load8(address)
        true = ord("t") if code == _BOOLEAN else ord("1")
        false = ord("f") if code == _BOOLEAN else ord("0")
        if length != 1 or byte not in (true, false):
            return np.int64(-1)
        store8(out, 1 if byte == true else 0)
        return out + 1
    if code == _DECIMAL:
        return put_decimal_bytes(address, length, parameter, out)
    if code in (_DOUBLE, _NUMERIC_DOUBLE):
        return put_float_text(address, length, 64, out)
    if code == _FLOAT:
        return put_float_text(address, length, 32, out)
    if code == _BYTES_HEX:
        size = (length - 2) >> 1
        if size < 0:
            return np.int64(-1)
        return _put_hex_bytes(address, length, put_long(size, out))
    if code == _VARIABLE_DECIMAL:
        return put_variable_decimal_bytes(address, length, out)
    return np.int64(-2)


@part
def put_value(form, kind, address, length, code, parameter, documents, out):
    """Write a cell's value in one of the binary forms, without a union's branch; returns its end,
    or -1. The kernel at `documents` writes cells that hold BSON."""
    if length < 0:
        return np.int64(-1)
    begin = out
    end = np.int64(-2)
    if form == _AVRO:
        if code == _STRING and kind != BINARY:
            return put_block(address, length, out)
        if kind == BINARY:
            if code == _BSON_TEXTS:
                return _call(documents, (address, length, code, AS_AVRO, out))
            end = _put_avro_binary(address, length, code, out)
        else:
            end = _put_avro_text(address, length, code, parameter, out)
        begin = out + _MAX_LENGTH_BYTES
    elif form == _RAW_FORM:
        if kind == BINARY:
            return copy(address, length, out) if code == _BYTES else np.int64(-1)
        return _put_hex_bytes(address, length, out) if code == _BYTES_HEX else np.int64(-1)
    elif kind == BINARY:
        end = _put_binary_text(address, length, code, out)
    elif code == _STRING:
        end = copy(address, length, out)
    else:
        end = _put_scalar_text(address, length, code, parameter, out)
    if end == -2:
        if kind == BINARY:
            end = _put_string_of_bytes(documents, address, length, code, begin)
        elif code == _TRUNCATED_STRING:
            end = copy(address, units_length(address, length, parameter), begin)
        else:
            end = put_text(address, length, code, parameter, begin)
        if end >= 0 and form == _AVRO:
            return put_block(begin, end - begin, out)
    if end >= 0 and form == _QUOTED:
        return quote(out, end)
    return end
