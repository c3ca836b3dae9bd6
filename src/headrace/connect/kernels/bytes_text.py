"""Bytes as text: base64 and hexadecimal digits.

The rules on memory are those of `headrace.connect.kernels.memory`.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import numpy as np

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import load8, store8, store16

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
# Two base64 characters for each 12 bits.
BASE64_PAIRS = np.array(
    [_ALPHABET[i >> 6] | _ALPHABET[i & 63] << 8 for i in range(4096)], np.uint16
)
# Two lower-case hexadecimal digits for each byte.
HEXADECIMAL_PAIRS = np.frombuffer(b"".join(b"%02x" % i for i in range(256)), np.uint16)

_PAD = ord("=")


@part
def put_three_bytes(bits, out):
    """Write base64 of three bytes, the first one highest: 4 bytes."""
    store16(out, np.int64(BASE64_PAIRS[(bits >> 12) & 4095]))
    store16(out + 2, np.int64(BASE64_PAIRS[bits & 4095]))


@part
def put_base64(address, length, out):
    """Write base64 of bytes, padded; return its end. Writes no further bytes."""
    while length > 0:
        bits = load8(address) << 16
        if length > 1:
            bits |= load8(address + 1) << 8
        if length > 2:
            bits |= load8(address + 2)
        put_three_bytes(bits, out)
        out += 4
        address += 3
        length -= 3
    if length < 0:
        store8(out - 1, _PAD)
    if length < -1:
        store8(out - 2, _PAD)
    return out


@part
def put_hexadecimal(address, length, out):
    """Write two lower-case hexadecimal digits for each byte; return their end."""
    for i in range(length):
        store16(out + 2 * i, np.int64(HEXADECIMAL_PAIRS[load8(address + i)]))
    return out + 2 * length
