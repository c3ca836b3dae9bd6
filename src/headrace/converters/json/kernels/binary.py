"""Compiled encoders for binary cells: numbers and bytes in a driver's format become JSON text.

Part of `headrace.converters.json.kernels.cells`, whose rules on memory apply.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.images import BINARY
from headrace.connect.kernels.bytes_text import put_hexadecimal
from headrace.connect.kernels.functions import entry, part
from headrace.connect.kernels.java_floats import put_double, put_single
from headrace.connect.kernels.json_text import put_boolean, put_bytes
from headrace.connect.kernels.memory import load8, load16, load32, load32_signed, load64, store8
from headrace.connect.kernels.text import put_int
from headrace.converters.json.kernels.cells import encode

_BOOLEAN = int(Encoding.BINARY_BOOLEAN)
_INT16, _INT32, _INT64 = int(Encoding.INT16_LE), int(Encoding.INT32_LE), int(Encoding.INT64_LE)
_FLOAT32, _FLOAT64 = int(Encoding.FLOAT32_LE), int(Encoding.FLOAT64_LE)
_BYTES, _BINARY_HEX = int(Encoding.BYTES), int(Encoding.BINARY_HEX)

_QUOTE, _LAST_OF_NAN, _LAST_OF_INFINITY = ord('"'), ord("N"), ord("y")


@part
def _quote_non_finite(text, end):
    """Put quotes around a float's text if JSON has no such number (NaN, Infinity); return its
    end."""
    if load8(end - 1) in (_LAST_OF_NAN, _LAST_OF_INFINITY):
        length = end - text
        for place in range(text + length, text, -1):
            store8(place, load8(place - 1))
        store8(text, _QUOTE)
        store8(end + 1, _QUOTE)
        return end + 2
    return end


@part
def _put_hexadecimal(address, length, out):
    store8(out, _QUOTE)
    out = put_hexadecimal(address, length, out + 1)
    store8(out, _QUOTE)
    return out + 1


@part
def encode_binary(address, length, code, out):
    """Write the JSON value of a binary cell, as `cells.encode` does for text cells."""
    if code == _INT64 and length == 8:
        return put_int(load64(address), out)
    if code == _FLOAT64 and length == 8:
        return _quote_non_finite(out, put_double(load64(address), out))
    if code == _BYTES and length >= 0:
        return put_bytes(address, length, out)
    if code == _INT32 and length == 4:
        return put_int(load32_signed(address), out)
    if code == _INT16 and length == 2:
        return put_int((load16(address) ^ 0x8000) - 0x8000, out)
    if code == _FLOAT32 and length == 4:
        return _quote_non_finite(out, put_single(load32(address), out))
    if code == _BOOLEAN and length == 1 and load8(address) <= 1:
        return put_boolean(load8(address) == 1, out)
    if code == _BINARY_HEX and length >= 0:
        return _put_hexadecimal(address, length, out)
    return np.int64(-1)


@entry
def encode_cell(kind, address, length, code, parameter, out):
    """Write the JSON value of a cell that has a value and does not hold BSON; entry point for
    kernels that call it by its address."""
    if kind == BINARY:
        return encode_binary(address, length, code, out)
    return encode(address, length, code, parameter, out)
