"""Avro's binary encoding of numbers and bytes, for kernels."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import copy, store8


@part
def put_long(value, out):
    """Write an int or long: zig-zag, seven bits per byte, lowest first; return its end. Writes at
    most 10 bytes."""
    value = (value << 1) ^ (value >> 63)
    while value & ~0x7F:
        store8(out, (value & 0x7F) | 0x80)
        value = (value >> 7) & 0x1FFFFFFFFFFFFFF
        out += 1
    store8(out, value)
    return out + 1


@part
def put_block(address, length, out):
    """Write a string or bytes: the length and the bytes; return its end."""
    return copy(address, length, put_long(length, out))
