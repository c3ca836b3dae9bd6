"""Values in Oracle's internal formats, which LogMiner writes as HEXTORAW if it does not know the
columns' types.

Every function takes the stored bytes and returns headrace's text, or None for bytes that are not
such a value. Sources: Oracle Call Interface Programmer's Guide, "Data Types" (internal formats of
NUMBER, DATE, TIMESTAMP and INTERVAL), and the drivers that read them.
"""

from __future__ import annotations

import struct
from datetime import datetime, timedelta

from headrace.connectors.oracle.types import literals

_ZERO = b"\x80"
_EXCESS = 0x80000000
_REGION = 0x80
_NANO_DIGITS = 9


def number(raw: bytes) -> str | None:
    """Return a NUMBER: an exponent of 100 and its digits, which are shifted by one; of negative
    numbers everything is inverted, and a byte 102 ends them."""
    if raw == _ZERO:
        return "0"
    if not raw or len(raw) > 22:
        return None
    negative = raw[0] < 128
    if negative:
        exponent = (raw[0] ^ 0x7F) - 65
        digits = [101 - byte for byte in raw[1:].removesuffix(b"\x66")]
    else:
        exponent = (raw[0] & 0x7F) - 65
        digits = [byte - 1 for byte in raw[1:]]
    if not digits or not all(0 <= digit < 100 for digit in digits):
        return None
    text = "".join(f"{digit:02}" for digit in digits)
    point = 2 * (exponent + 1)
    if point <= 0:
        whole, fraction = "0", "0" * -point + text
    else:
        whole, fraction = text[:point].ljust(point, "0"), text[point:]
    fraction = fraction.rstrip("0")
    return literals.number(f"{'-' if negative else ''}{whole}{'.' if fraction else ''}{fraction}")


def _clock(raw: bytes) -> str:
    year = (raw[0] - 100) * 100 + raw[1] - 100
    nanos = int.from_bytes(raw[7:11], "big") if len(raw) >= 11 else 0
    hour, minute, second = raw[4] - 1, raw[5] - 1, raw[6] - 1
    return f"{year:04}-{raw[2]:02}-{raw[3]:02} {hour:02}:{minute:02}:{second:02}.{nanos:09}"


def timestamp(raw: bytes, digits: int) -> str | None:
    """Return a DATE or a TIMESTAMP of so many fraction digits: century and year with 100 more,
    month, day, hour, minute and second with one more, and nanoseconds if there are any."""
    if len(raw) not in (7, 11):
        return None
    whole, _, fraction = _clock(raw).partition(".")
    return literals.timestamp(f"{whole}.{fraction[:digits]}")


def zoned_timestamp(raw: bytes, digits: int) -> str | None:
    """Return a TIMESTAMP WITH TIME ZONE: the bytes of a TIMESTAMP in UTC, then hours with 20 and
    minutes with 60 more of the offset. The first bit marks regions: their values keep UTC, as the
    names are the database's own. A value WITH LOCAL TIME ZONE has no offset: it is in UTC."""
    if len(raw) in (7, 11):
        return literals.zoned_timestamp(_clock(raw), digits)
    if len(raw) != 13:
        return None
    if raw[11] & _REGION:
        return literals.zoned_timestamp(_clock(raw[:11]), digits)
    text = timestamp(raw[:11], digits or _NANO_DIGITS)
    if text is None or text.endswith("BC"):
        return None
    minutes = (raw[11] - 20) * 60 + raw[12] - 60
    clock, _, fraction = text.partition(".")
    try:
        local = datetime.fromisoformat(clock) + timedelta(minutes=minutes)
    except OverflowError:
        return None
    hours, rest = divmod(abs(minutes), 60)
    offset = f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"
    return literals.zoned_timestamp(
        f"{local.isoformat(' ', 'seconds')}.{fraction} {offset}", digits
    )


def years_to_months(raw: bytes) -> str | None:
    """Return an INTERVAL YEAR TO MONTH: years with 2^31 more, months with 60 more."""
    if len(raw) != 5:
        return None
    years, months = int.from_bytes(raw[:4], "big") - _EXCESS, raw[4] - 60
    sign = "-" if years < 0 or months < 0 else ""
    return literals.years_to_months(f"{sign}{abs(years)}-{abs(months)}")


def days_to_seconds(raw: bytes) -> str | None:
    """Return an INTERVAL DAY TO SECOND: days with 2^31 more, hours, minutes and seconds with 60
    more, and nanoseconds with 2^31 more."""
    if len(raw) != 11:
        return None
    days, nanos = int.from_bytes(raw[:4], "big") - _EXCESS, int.from_bytes(raw[7:], "big") - _EXCESS
    hours, minutes, seconds = (byte - 60 for byte in raw[4:7])
    sign = "-" if min(days, hours, minutes, seconds, nanos) < 0 else ""
    clock = f"{abs(hours)}:{abs(minutes)}:{abs(seconds)}.{abs(nanos):09}"
    return literals.days_to_seconds(f"{sign}{abs(days)} {clock}")


def binary_float(raw: bytes) -> str | None:
    """Return a BINARY_FLOAT (4 bytes) or BINARY_DOUBLE (8): IEEE 754, so encoded that bytes compare
    in the order of numbers: the sign bit is set in numbers from zero on, all bits are inverted in
    smaller ones."""
    if len(raw) not in (4, 8):
        return None
    bits = int.from_bytes(raw, "big")
    top = 1 << (8 * len(raw) - 1)
    bits = bits ^ top if bits & top else bits ^ (2 * top - 1)
    ordered = bits.to_bytes(len(raw), "big")
    double = len(raw) == 8
    (value,) = struct.unpack(">d" if double else ">f", ordered)
    return literals.binary_float(repr(value), double=double)
