"""JSON's strings, booleans and bytes, written by kernels as by Kafka Connect's JsonConverter
(Jackson)."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.bytes_text import put_base64
from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import (
    copy16,
    copy16_json_mask,
    count_trailing_zeros,
    load8,
    store8,
    store64,
)

_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_TRUE = int.from_bytes(b"true", "little")
_FALSE = int.from_bytes(b"false", "little")


def _escape(byte: int) -> int:
    """Return Jackson's escape of a byte as an int64: its characters from the lowest byte on, its
    length in the highest byte."""
    short = {8: b"b", 9: b"t", 10: b"n", 12: b"f", 13: b"r", _QUOTE: b'"', _BACKSLASH: b"\\"}
    text = b"\\" + short.get(byte, b"u00%02X" % byte)
    return int.from_bytes(text.ljust(7, b"\0") + bytes([len(text)]), "little")


# Escapes by byte; only those of control characters, the quote and the backslash are used.
_ESCAPES = np.array([_escape(byte) for byte in range(_BACKSLASH + 1)], np.int64)


@part
def _put_escaped_unit(unit, out):
    store8(out, _BACKSLASH)
    store8(out + 1, 117)  # u
    for i in range(4):
        digit = (unit >> (12 - 4 * i)) & 15
        store8(out + 2 + i, digit + 48 if digit < 10 else digit + 55)


@part
def _put_surrogates(address, end, out):
    """Write a character of four bytes as two escapes, as Jackson writes it to bytes; return the
    end. If the bytes are no such character, only the first one is copied, and the end is
    `out + 1`."""
    store8(out, load8(address))
    if end - address < 4:
        return out + 1
    point = (
        ((load8(address) & 7) << 18)
        | ((load8(address + 1) & 63) << 12)
        | ((load8(address + 2) & 63) << 6)
        | (load8(address + 3) & 63)
    )
    if point < 0x10000 or point > 0x10FFFF:
        return out + 1
    _put_escaped_unit(0xD800 + ((point - 0x10000) >> 10), out)
    _put_escaped_unit(0xDC00 + ((point - 0x10000) & 0x3FF), out + 6)
    return out + 12


@part
def put_string(address, length, out):
    """Write a JSON string; return its end. The output needs room for `6 * length + 18` bytes."""
    store8(out, _QUOTE)
    out += 1
    end = address + length
    while address < end:
        mask = copy16_json_mask(out, address)
        count = end - address
        if count < 16:
            mask &= (1 << count) - 1
        else:
            count = 16
        while mask:
            place = count_trailing_zeros(mask)
            if load8(address + place) >= 0xF0:
                end_of_pair = _put_surrogates(address + place, end, out + place)
                address += place + (4 if end_of_pair != out + place + 1 else 1)
                out = end_of_pair
                count = np.int64(0)
                break
            escape = _ESCAPES[load8(address + place)]
            size = escape >> 56
            store64(out + place, escape)
            copy16(out + place + size, address + place + 1)
            out += size - 1
            mask &= mask - 1
        out += count
        address += count
    store8(out, _QUOTE)
    return out + 1


@part
def put_boolean(value, out):
    """Write `true` or `false`; return its end. Writes up to 8 bytes."""
    store64(out, _TRUE if value else _FALSE)
    return out + (4 if value else 5)


@part
def put_bytes(address, length, out):
    """Write base64 of bytes in quotes; return its end."""
    store8(out, _QUOTE)
    out = put_base64(address, length, out + 1)
    store8(out, _QUOTE)
    return out + 1
