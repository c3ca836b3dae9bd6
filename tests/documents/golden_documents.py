"""The documents whose Extended JSON is recorded from Java: every type and kind of character."""

from __future__ import annotations

import datetime as dt
import math
import struct
import uuid
from random import Random

import bson
from bson.code import Code
from bson.dbref import DBRef
from bson.regex import Regex

from tests.documents.plain_bson import Pointer, Symbol, Undefined, encode

OBJECT_ID = bson.ObjectId("596e275826f08b2730779e1f")

_INTEGERS = [0, 1, -1, 9, 10, 1004, 99_999_999, 100_000_000, 2**31 - 1, -(2**31)]
_LONGS = [0, 5, -5, 2**31, 10**16 - 1, 10**16, 2**63 - 1, -(2**63)]
_DOUBLES = [
    0.0, -0.0, 1.0, -1.0, 10.0, 100.0, 1000.0, 12.34, 0.1, 0.3, 19.95, 2.5, 1e-2, 1e-3, 9.999e-4,
    1e-5, 123456.789, 9999999.0, 1e7, 12345678.0, 1e10, -1.5e10, 1e15, 1e16, 9007199254740993.0,
    1e21, 1e22, 1e23, 1e100, 1.7976931348623157e308, 2.2250738585072014e-308, 5e-324, 1e-323,
    1.5e-323, 2e-320, 3.141592653589793, 2.718281828459045, 1 / 3, 2 / 3, 0.1 + 0.2, 4.35, 1e-100,
    100.25, 0.001, 0.0625, 45.5019, -73.5674, math.inf, -math.inf, math.nan,
]  # fmt: skip
_DECIMALS = [
    "0", "-0", "1", "-1", "123.45678", "0.1", "0.001", "0.000001", "0.0000001", "1E+3", "1E-7",
    "1.23E+5", "-1.23E-10", "12345678901234567890.1234", "0E+3", "0E-3", "0E-7", "-0E+10", "0.000",
    "9.999999999999999999999999999999999E+6144", "1E-6176", "1.0", "1.00E+2", "100", "1E+6111",
    "9999999999999999999999999999999999", "NaN", "Infinity", "-Infinity", "18446744073709551616",
    "9223372036854775807", "9223372036854775808", "0.1234567890123456789012345678901234",
]  # fmt: skip
# More digits than a Decimal128 has: as a coefficient of 113 bits, and of the longer form.
_DECIMAL_BITS = [
    "ffffffff638e8dfac087adbe09edff5f", "ffffffffffffffffffffffffffff4130",
    "0000000000000000000000000000106c", "ffffffffffffffffffffffffffff7fec",
]  # fmt: skip
_STRINGS = [
    "", "1234", "Ana Maria", 'a "quoted" text', "back\\slash", "/", "'", "<&>", "\b\f\n\r\t",
    "\0", "\x01\x1f\x7f", "\x80\x9f\xa0\xad", "é à ü ß ñ", "Москва", "Ελλάδα", "العربية",
    "हिन्दी", "ไทย", "日本語のテスト", "データー", "東京都", "한국어", "e\u0301", "\u0301", "ʰ", "ǅ",
    "Ⅷ", "½",
    "\u2028\u2029", "\u200b\u200d\ufeff", "‿ – — ( ) « » “ ”", "€ + ^ ©", "\u3000", "\ue000",
    "\ufffd", "\ufffe\uffff", "\u0378", "😀", "a😀b", "👩‍👩‍👧", "𝒳", "\U0010ffff", "\u061d\u20c0",
    "x" * 15 + '"' + "y" * 16 + "é" + "z" * 17, "0123456789abcdef", "0123456789abcde\n",
]  # fmt: skip
_DATES = [
    0, 1, -1, 10, 120, 123, 999, 1000, 1508400000120, 1508400000123, 951782400000, 4107542399999,
    253402300799999, 253402300800000, -62135596800000, 2**63 - 1, -(2**63),
]  # fmt: skip
_BYTES = [b"", b"\0", b"kafka", b"\xff\xfe", b"\xfb\xff\xbf", bytes(range(60))]
_SUBTYPES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 128, 255]
_NESTED: list[object] = [
    {}, [], [[]], [{}], {"a": {}}, {"a": []}, {"hi": "kafka", "nums": [10.0, 100.0, 1000.0]},
    [1, bson.Int64(2), 3.0, "4", None, True, [5, {"six": 7}]],
    {"a": {"b": {"c": {"d": {"e": [[[[1]]]]}}}}}, {"": {"": ""}}, {"a.b": 1, "$c": 2, 'd"e': 3},
    {"address": {"street": "1 Rue de l'Église", "geo": {"lat": 45.5, "lon": -73.5}}, "tags": ["a"]},
    {"ключ": 1, "キー": 2, "😀": 3}, DBRef("orders", OBJECT_ID), DBRef("orders", 7, "shop"),
    [DBRef("a", [1])],
]  # fmt: skip


def _broken_texts() -> list[bytes]:
    """Documents with a string that is no UTF-8."""
    texts = [
        b"\x80", b"\xc0\x80", b"\xc2", b"\xc2a", b"\xe0\x80\x80", b"\xe3\x81", b"\xe3\x81a",
        b"\xed\xa0\x80", b"\xed\xa0\x80\xed\xb0\x80", b"\xf0\x80\x80\x80", b"\xf0\x9f\x98",
        b"\xf0\x9f\x98a", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff", b"a\xffb\xfec",
        b"\xe3\xe3\x81\x82", b"\xf0\x9f\xe3\x81\x82", b"\xf0", b"\xf0\x9f", b"ok \xe2\x82 ok",
    ]  # fmt: skip
    documents = []
    for text in texts:
        value = struct.pack("<i", len(text) + 1) + text + b"\0"
        body = b"\x02_id\0" + value
        documents.append(struct.pack("<i", len(body) + 5) + body + b"\0")
    return documents


def doubles() -> list[float]:
    """Doubles of all sizes."""
    random = Random("doubles")
    numbers = list(_DOUBLES)
    for _ in range(300):
        bits = random.getrandbits(64)
        (value,) = struct.unpack("<d", struct.pack("<Q", bits))
        numbers += [value] if math.isfinite(value) else []
        numbers.append(random.randint(-(10**9), 10**9) / 10 ** random.randint(0, 9))
        numbers.append(random.random() * 10.0 ** random.randint(-12, 20))
    return numbers


def golden_documents() -> list[bytes]:
    """BSON documents with an `_id`."""
    values: list[object] = [None, True, False, OBJECT_ID, Undefined(), bson.MinKey(), bson.MaxKey()]
    values += [*_INTEGERS, *map(bson.Int64, _LONGS), *_STRINGS, *map(bson.DatetimeMS, _DATES)]
    values += [bson.Decimal128(text) for text in _DECIMALS]
    values += [bson.Decimal128.from_bid(bytes.fromhex(bid)) for bid in _DECIMAL_BITS]
    values += _BYTES + [bson.Binary(b"\1\2\3", subtype) for subtype in _SUBTYPES]
    values += [uuid.UUID("b68a35a7-17ad-35b3-af2a-ae46edb4545a"), Pointer("db.c", OBJECT_ID)]
    values += [Regex("^a", "i"), Regex("", ""), Regex('a"/b\\n', "imsx"), Regex("é\u0301", "")]
    values += [Code("f"), Code("function() {\n}"), Code("f", {}), Code("f", {"x": 1, "y": [2]})]
    values += [
        bson.Timestamp(1710000000, 7),
        bson.Timestamp(0, 0),
        bson.Timestamp(2**32 - 1, 2**31),
    ]
    values += [Symbol("s"), Symbol('"é'), Pointer("", OBJECT_ID), *_NESTED]
    documents = [encode({"_id": value}) for value in values]
    documents += [encode({"_id": n, f"v{n}": value, "w": value}) for n, value in enumerate(values)]
    placed = dt.datetime(2026, 1, 2, 3, 4, 5, 678000)  # noqa: DTZ001
    documents.append(
        encode({"_id": 1, "placedAt": placed, **{f"m{n}": v for n, v in enumerate(values)}})
    )
    return documents + _broken_texts()
