"""Numbers, texts and names that break what reads them."""

from __future__ import annotations

import json
from random import Random

MAX_BYTES = 1_000_000
"""Largest size of a record."""
_LENGTHS = (3, 40, 400, 4_299, 4_301, 20_000, 147_456, 400_000)


class Raw(str):
    """JSON as it is written."""

    __slots__ = ()


def length(random: Random) -> int:
    """Rarely a large one."""
    return random.choice(_LENGTHS) if random.randrange(12) == 0 else random.choice((1, 3, 40, 400))


def number(random: Random) -> Raw:
    """A number of JSON: mostly one that no type of 64 bits holds."""
    match random.randrange(8):
        case 0 | 1:
            return Raw(random.choice(_NUMBERS))
        case 2:
            digits = random.choice(("1", "-7", "0", "9.9", "-0.0", "123456.789"))
            return Raw(f"{digits}e{random.choice(_EXPONENTS)}")
        case 3:
            return Raw(random.choice("123456789") * length(random))
        case 4:
            return Raw("1" + "0" * length(random))
        case 5:
            return Raw("-0." + "0" * length(random) + "1")
        case 6:
            return Raw(str(random.randrange(-(1 << 66), 1 << 66)))
    return Raw(str(random.randrange(-300, 300)))


_EXPONENTS = (
    "99999999", "9999999999", "-99999999", "-9999999999", "400", "-400", "5", "+5", "10001",
    "-10001", "6144", "2147483648", "-2147483649", "9" * 40, "999999999999999999", "425000000",
)  # fmt: skip
_NUMBERS = (
    "0", "-0", "-0.0", "127", "128", "-129", "32768", "2147483647", "2147483648", "-2147483649",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "18446744073709551616", "1e308", "1e309", "5e-324", "1.5", "12.50", "1E+2", "253402300800000",
    "86400000", "86400000000000", "-62135596800001", "NaN", "Infinity", "-Infinity", "1_000", "01",
)  # fmt: skip

TEXTS = (
    "", " ", "a", "\ud800", "\udfff", "x\ud800y", "\udc00\ud800", "\0", "é😀", "\x7f", "\x1f",
    "\u2028", "NaN", "Infinity", "-Infinity", "NAN", "POSITIVE_INFINITY", "1_000", "1e99999999",
    "1e-99999999", "true", "null", "٣", "0x1p3", "1e400", "2024-01-01T00:00:00Z",
    "10000-01-01T00:00:00Z",
    "+999999999-12-31T23:59:59.999999999Z", "-999999999-01-01T00:00:00Z", "0000-00-00T00:00:00Z",
    "2024-02-30T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00+18:00", "12:30:00Z",
    "2024-01-01T00:00:00+19:00", "2024-01-01T00:00:00.123456789123Z", "25:61:61Z", "24:00:00+00",
    "P1Y2M3DT4H5M6.7S", "P999999999999Y", "__debezium_unavailable_value", '{"a":1}', '{"a":', "[1,",
    '{"a":1e99999999}', '{"a":"\\ud800"}', '[1,"a",{"b":null}]', "AAAA", "AA==", "A", "=", "/+8=",
    "2024-01-01", "9999999-01-01", "00:00:00", "id", "after", "before", "op", "c", "u", "d", "r",
    "t", "5f0f5f0f5f0f5f0f5f0f5f0f", "${x}", "a.b", "a,b", "ff",
    "123e4567-e89b-12d3-a456-426614174000",
)  # fmt: skip


def text(random: Random) -> str:
    """A text: of the list, or a long one."""
    match random.randrange(9):
        case 0:
            return random.choice(("A", "9", "é", "\ud83d", "[", '{"a":', "\\", '"', "1,")) * length(
                random
            )
        case 1:
            return str(number(random))
    return random.choice(TEXTS)


def anything(random: Random, depth: int = 0) -> object:
    """Any value of JSON."""
    match random.randrange(9):
        case 0:
            return None
        case 1:
            return random.choice((True, False))
        case 2 | 3:
            return number(random)
        case 4 if depth < 3:
            return [anything(random, depth + 1) for _ in range(random.randrange(4))]
        case 5 if depth < 3:
            names = [name(random) for _ in range(random.randrange(4))]
            return {each: anything(random, depth + 1) for each in names}
        case 6 if random.randrange(8) == 0:
            return deep(random)
    return text(random)


def deep(random: Random) -> Raw:
    """A nested value, up to the size of a record."""
    levels = random.choice((30, 99, 101, 900, 1_100, 5_000, 60_000))
    opening, closing = random.choice((("[", "]"), ('{"a":', "}"), ('{"$code":"","$scope":', "}")))
    return Raw(opening * levels + "1" + closing * levels)


def name(random: Random) -> str:
    """The name of a member."""
    return random.choice(_NAMES) if random.randrange(4) else text(random)[:60]


_NAMES = (
    "id", "a", "b", "_id", "name", "v", "scale", "value", "wkb", "srid", "x", "y", "$oid", "$date",
    "$numberDouble", "$set", "__deleted", "__op", "a.b", "payload", "aggregateid", "type", "é",
)  # fmt: skip

SCALES = (
    "0", "2", "-2", "40", "41", "-40", "1000", "10000", "10001", "100000", "-100000", "1000000000",
    "-1000000000", "2147483647", "-2147483648", "2147483648", "9" * 30, "9" * 5000, "x", "", " 2 ",
    "1_0", "1e3", "2.0", "+3", "٣", None, 2, 2.5, True, [], {}, Raw("1e99"), "\ud800",
)  # fmt: skip
"""Scales of decimals, as the schema's parameter has them."""


def dumped(value: object, *, escapes: bool = True) -> str:
    """JSON; half characters are escapes."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        members = (f"{dumped(str(n))}:{dumped(each, escapes=escapes)}" for n, each in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(dumped(each, escapes=escapes) for each in value) + "]"
    if isinstance(value, str) and not escapes:
        try:
            value.encode()
        except UnicodeEncodeError:
            return json.dumps(value)
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def repeated(items: list[object], times: int) -> list[object]:
    """The items so often, at most as often as a record of MAX_BYTES holds them."""
    size = len(dumped(items))
    return items * min(times, max(1, MAX_BYTES // size))
