"""JSON as MongoDB's Java driver takes it: the values are those of its BsonDocument.parse."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.mongodb.shell_json import parse_shell_json, to_extended_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a:1}", {"a": 1}),
        (r"{'a':'x\'y'}", {"a": "x'y"}),
        ("{a:[1,2,],}", {"a": [1, 2]}),
        ("{$expr:{$gt:['$a',1]}}", {"$expr": {"$gt": ["$a", 1]}}),
        (r'{"a":"\u0041\n"}', {"a": "A\n"}),
        ('{a:"x\ny"}', {"a": "x\ny"}),
        ("{a:ObjectId('507F1f77bcf86cd799439011')}", {"a": {"$oid": "507f1f77bcf86cd799439011"}}),
        ("{a:ISODate('2020-01-01')}", {"a": {"$date": {"$numberLong": "1577836800000"}}}),
        ("[ISODate('2020-01-01T00:00:00.5Z')]", [{"$date": {"$numberLong": "1577836800500"}}]),
        ("{a:new Date(5)}", {"a": {"$date": {"$numberLong": "5"}}}),
        ("{a:NumberLong(5)}", {"a": {"$numberLong": "5"}}),
        ("{a:NumberLong('5')}", {"a": {"$numberLong": "5"}}),
        ("{a:NumberInt('5')}", {"a": 5}),
        ("{a:NumberDecimal('1.5')}", {"a": {"$numberDecimal": "1.5"}}),
        (r"{a:/x\/y/i}", {"a": {"$regularExpression": {"pattern": "x/y", "options": "i"}}}),
        ("{a:RegExp('x','i')}", {"a": {"$regularExpression": {"pattern": "x", "options": "i"}}}),
        ("{a:Timestamp(1,2)}", {"a": {"$timestamp": {"t": 1, "i": 2}}}),
        ("{a:UUID('00112233-4455-6677-8899-aabbccddeeff')}",
         {"a": {"$binary": {"base64": "ABEiM0RVZneImaq7zN3u/w==", "subType": "04"}}}),
        ("{a:BinData(0,'AQI=')}", {"a": {"$binary": {"base64": "AQI=", "subType": "00"}}}),
        ("{a:HexData(0,'01')}", {"a": {"$binary": {"base64": "AQ==", "subType": "00"}}}),
        ("{a:MinKey, b:MaxKey()}", {"a": {"$minKey": 1}, "b": {"$maxKey": 1}}),
        ("{a:undefined}", {"a": {"$undefined": True}}),
        ("[NaN, Infinity, -Infinity, 1e3]",
         [{"$numberDouble": "NaN"}, {"$numberDouble": "Infinity"},
          {"$numberDouble": "-Infinity"}, 1000.0]),
        ("[1e400, -1e400]", [{"$numberDouble": "Infinity"}, {"$numberDouble": "-Infinity"}]),
    ],
)  # fmt: skip
def test_the_shells_spellings_are_read(text: str, value: object) -> None:
    assert parse_shell_json(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "{a:1 /* c */}", "{a.b:1}", "{a: tru}", "{a:+1}", "{a:.5}", "{1:2}", "{a:1;b:2}", '{"a:1}',
     "{a 1}", "{a:1}}", "[1 2]", "{a:ObjectId('5')}", "{a:NumberInt('x')}", "{a:ISODate()}",
     "{a:99999999999999999999}", "[" * 500, "{a:ObjectId(5)}", "{a:BinData(0,'?')}", "new",
     "{a:-}", r"'\ud800'"],
)  # fmt: skip
def test_what_cannot_be_read_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_shell_json(text)


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("{a: 99999999999999999999}", 5, "the number needs more than 64 bits"),
        ("{a: NumberInt(99999999999)}", 5, "the arguments of NumberInt"),
        ("{a: NumberInt('-2147483649')}", 5, "the arguments of NumberInt"),
        ("{a: NumberLong('9223372036854775808')}", 5, "the arguments of NumberLong"),
        ("{a: 'x", 5, "the string is not closed"),
    ],
)
def test_an_error_has_the_position_of_the_value(text: str, position: int, reason: str) -> None:
    with pytest.raises(ValueError, match=rf"^position {position}: {reason}"):
        parse_shell_json(text)


@given(st.text(alphabet="{}[]:,0123456789.eE-Infty", max_size=40))
def test_extended_json_of_any_text_is_valid_json(text: str) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    with suppress(ValueError):
        json.loads(to_extended_json(text), parse_constant=refuse)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@given(JSON, st.booleans())
def test_any_json_is_read_as_it_is(value: Any, ascii_only: bool) -> None:
    assert parse_shell_json(json.dumps(value, ensure_ascii=ascii_only)) == value


@given(st.text(alphabet="{}[]:,'\"/\\ a1.-$eNDate()\n", max_size=40))
def test_no_text_is_anything_but_a_value_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        parse_shell_json(text)
