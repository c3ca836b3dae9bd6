from __future__ import annotations

import json
from contextlib import suppress

import bson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.mongodb.reading.filters import filter_bytes, signal_filter


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ('{"a": 1}', {"a": 1}),
        ("{a: {$gt: 5}, 'b': true}", {"a": {"$gt": 5}, "b": True}),
        (
            '{_id: ObjectId("0123456789abcdef01234567")}',
            {"_id": bson.ObjectId("0123456789abcdef01234567")},
        ),
        ("{}", {}),
    ],
)
def test_a_filter_is_written_as_the_shell_has_it(text: str, condition: object) -> None:
    assert bson.decode(filter_bytes(text)) == condition


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("[1]", "not a JSON object"),
        ("a = 1", "not JSON"),
        ('{"a": 1' + " " * 100_000, "characters"),
    ],
)
def test_what_is_no_filter_is_reported(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        filter_bytes(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"$where": "sleep(1000)"}',
        '{"$or": [{"a": 1}, {"$where": "1"}]}',
        '{"$expr": {"$function": {"body": "", "args": [], "lang": "js"}}}',
    ],
)
def test_a_signal_runs_no_code_on_the_server(text: str) -> None:
    assert filter_bytes(text)
    with pytest.raises(ValueError, match="is not allowed in a filter"):
        signal_filter(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"price": {"$numberDecimal": "abc"}}',
        '{price: NumberDecimal("1,50")}',
        '{"a": {"$numberLong": []}}',
        '{"a": {"$numberInt": "99999999999999999999"}}',
        '{"a": {"$date": []}}',
        '{"a": {"$date": {"$numberLong": "99999999999999999999"}}}',
        '{"a": {"$dbPointer": 5}}',
        '{"a": {"$binary": 5}}',
        '{"a": {"$timestamp": {"t": -1, "i": 1}}}',
        '{"a": {"$regularExpression": []}}',
        "{a: Date(1e400)}",
        '{"a\\u0000b": 1}',
    ],
)
def test_a_filter_that_is_no_extended_json_is_reported(text: str) -> None:
    for read in (filter_bytes, signal_filter):
        with pytest.raises(ValueError, match="the filter cannot be used: "):
            read(text)


_NAMES = ("$numberDecimal", "$numberLong", "$numberInt", "$numberDouble", "$date", "$oid", "$uuid",
          "$binary", "$timestamp", "$regularExpression", "$regex", "$options", "$code", "$scope",
          "$symbol", "$dbPointer", "$ref", "$id", "$db", "$minKey", "$maxKey", "$undefined",
          "base64", "subType", "t", "i", "pattern", "options", "a")  # fmt: skip
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["1,50", "abc", "-1", "99999999999999999999", "00", "1e9999", "2024-01-01"]),
    lambda inner: st.lists(inner, max_size=2)
    | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(_VALUES)
def test_whatever_a_signal_asks_for_is_a_filter_or_a_value_error(value: object) -> None:
    text = json.dumps({"a": value})
    with suppress(ValueError):
        assert len(signal_filter(text)) >= 5


def test_a_date_of_a_year_that_python_has_not_is_sent() -> None:
    raw = signal_filter('{"at": {"$lt": {"$date": {"$numberLong": "253402300800000"}}}}')
    assert (253402300800000).to_bytes(8, "little") in raw
