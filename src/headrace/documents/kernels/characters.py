"""Texts in Extended JSON: the characters that BSON's Java library escapes, and their escapes.

The library (`org.bson.json.StrictCharacterStreamJsonWriter`) decides by the Unicode category of a
UTF-16 unit in its Java's version of Unicode. Java 17, which Debezium requires, has Unicode 13; a
character of a later version is escaped. For a reader of JSON both forms are equal.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import unicodedata

import numpy as np

from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import (
    copy16_plain_mask,
    count_trailing_zeros,
    load8,
    store8,
    store32,
    store64,
)

_ESCAPED_CATEGORIES = frozenset(("Lm", "Mn", "Me", "Mc", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"))

# Characters that Unicode 14 to 16 added to the other categories in the basic plane: first and last.
_ADDED_LATER = """
    061D-061D 0870-088E 08B5-08B5 08C8-08C8 0C5D-0C5D 0CDD-0CDD 170D-170D 171F-171F 1B4C-1B4C
    1B4E-1B4F 1B7D-1B7F 1C89-1C8A 20C0-20C0 2427-2429 2C2F-2C2F 2C5F-2C5F 2E53-2E5D 2FFC-2FFF
    31E4-31E5 31EF-31EF 9FFD-9FFF A7C0-A7C1 A7CB-A7CD A7D0-A7D1 A7D3-A7D3 A7D5-A7DC FBC2-FBC2
    FD40-FD4F FDCF-FDCF FDFE-FDFF
"""


def _raw_bits() -> np.ndarray:
    """A bit for each UTF-16 unit that is written as it is, 64 to a word."""
    categories = map(unicodedata.category, map(chr, range(0x10000)))
    raw = ~np.fromiter(map(_ESCAPED_CATEGORIES.__contains__, categories), bool, 0x10000)
    for added in _ADDED_LATER.split():
        first, last = (int(end, 16) for end in added.split("-"))
        raw[first : last + 1] = False
    raw[[ord('"'), ord("\\")]] = False
    return np.packbits(raw, bitorder="little").view(np.int64)


RAW_BITS = _raw_bits()


def _short_escape(unit: int, *, escaped: bool) -> int:
    """An escape of up to 7 bytes; its length is in the highest byte."""
    short = {8: b"b", 9: b"t", 10: b"n", 12: b"f", 13: b"r", 34: b'"', 92: b"\\"}
    text = b"\\" + short.get(unit, b"u%04x" % unit)
    if escaped:
        text = text.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return int.from_bytes(text.ljust(7, b"\0") + bytes([len(text)]), "little")


# Indexed by `escaped` and unit.
_ESCAPES = np.array(
    [[_short_escape(unit, escaped=escaped) for unit in range(128)] for escaped in (False, True)],
    np.int64,
)

# Four lowercase hexadecimal digits for 16 bits, as bytes of an integer, by half.
_HEXADECIMAL = np.frombuffer(b"".join(b"%02x" % i for i in range(256)), np.uint16)
_REPLACEMENT = int.from_bytes("\ufffd".encode(), "little")
_MALFORMED = -1


@part
def _put_unit_escape(unit, escaped, out):
    r"""Write `\uxxxx`; returns its end."""
    store8(out, 92)
    store8(out + 1, 92)
    out += 1 + escaped
    high, low = np.int64(_HEXADECIMAL[unit >> 8]), np.int64(_HEXADECIMAL[unit & 255])
    store64(out, 117 | high << 8 | low << 24)
    return out + 5


@part
def _is_raw(unit):
    return (RAW_BITS[unit >> 6] >> (unit & 63)) & 1


@part
def is_tail(byte):
    """Whether a byte is a continuation byte of UTF-8."""
    return byte & 0xC0 == 0x80


@part
def wide_point(address, left):
    """Return the code point of a character of 3 or 4 bytes; for bytes that Java does not decode as
    a character, -1 minus the number of bytes that one replacement character replaces."""
    first = load8(address)
    second = load8(address + 1) if left > 1 else np.int64(0)
    third = load8(address + 2) if left > 2 else np.int64(0)
    if first < 0xF0:
        if left > 1 and (not is_tail(second) or (first == 0xE0 and second < 0xA0)):
            return np.int64(_MALFORMED - 1)
        if left < 3:
            return _MALFORMED - left
        if not is_tail(third):
            return np.int64(_MALFORMED - 2)
        point = (first & 15) << 12 | (second & 63) << 6 | third & 63
        return np.int64(_MALFORMED - 3) if point & 0xF800 == 0xD800 else point
    if first > 0xF4:
        return np.int64(_MALFORMED - 1)
    if left > 1:
        too_low = first == 0xF0 and second < 0x90
        too_high = first == 0xF4 and second > 0x8F
        if not is_tail(second) or too_low or too_high:
            return np.int64(_MALFORMED - 1)
    if left > 2 and not is_tail(third):
        return np.int64(_MALFORMED - 2)
    if left < 4:
        return _MALFORMED - left
    fourth = load8(address + 3)
    if not is_tail(fourth):
        return np.int64(_MALFORMED - 3)
    return (first & 7) << 18 | (second & 63) << 12 | (third & 63) << 6 | fourth & 63


@part
def _put_rare_run(address, end, escaped, out):
    """Write the characters up to the next plain ASCII character, at least one; returns their length
    in bytes, and the end of the output.

    Bytes that are not UTF-8 become U+FFFD, as many as from Java's decoder.
    """
    start = address
    while address < end:
        byte = load8(address)
        if byte < 0x80:
            if byte >= 32 and byte < 127 and byte != 34 and byte != 92:
                break
            escape = _ESCAPES[escaped, byte]
            store64(out, escape)
            out += escape >> 56
            address += 1
            continue
        left = end - address
        size = np.int64(1)
        point = np.int64(_MALFORMED - 1)
        if 0xC2 <= byte < 0xE0:
            if left > 1 and is_tail(load8(address + 1)):
                point = (byte & 31) << 6 | load8(address + 1) & 63
                size = np.int64(2)
        elif byte >= 0xE0:
            point = wide_point(address, left)
            size = np.int64(3 if byte < 0xF0 else 4)
        if point < 0:
            store32(out, _REPLACEMENT)
            out += 3
            address += _MALFORMED - point
            continue
        if point >= 0x10000:
            out = _put_unit_escape(0xD800 + ((point - 0x10000) >> 10), escaped, out)
            out = _put_unit_escape(0xDC00 + ((point - 0x10000) & 0x3FF), escaped, out)
        elif _is_raw(point):
            for i in range(size):
                store8(out + i, load8(address + i))
            out += size
        else:
            out = _put_unit_escape(point, escaped, out)
        address += size
    return address - start, out


@part
def put_characters(address, length, escaped, out):
    """Write the contents of a JSON string; returns their end. `escaped` (0 or 1): in the form
    inside another JSON string. Writes up to `7 * length` bytes and 16 more."""
    end = address + length
    while address < end:
        mask = copy16_plain_mask(out, address)
        count = end - address
        if count > 16:
            count = np.int64(16)
        plain = min(count_trailing_zeros(mask), count)
        address += plain
        out += plain
        if plain < count:
            size, out = _put_rare_run(address, end, escaped, out)
            address += size
    return out
