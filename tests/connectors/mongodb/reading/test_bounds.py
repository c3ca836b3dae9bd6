from __future__ import annotations

import json

import bson
import pytest
from hypothesis import given

from headrace.connectors.mongodb.reading.bounds import bound_text, bound_value, shown_bound, with_id
from headrace.documents.bson import Kind
from headrace.errors import HeadraceError
from tests.documents.plain_bson import encode_value
from tests.documents.values import scalars


def value_of(python_value: object) -> bytes:
    raw = bson.encode({"_id": python_value})
    return raw[4:5] + raw[9:-1]


@given(scalars)
def test_a_bound_of_any_type_is_read_back_as_the_same_bytes(scalar: object) -> None:
    value = encode_value(scalar)
    assert bound_value(bound_text(value)) == value
    assert bytes(with_id(value).raw) == b"".join(
        ((len(value) + 9).to_bytes(4, "little"), value[:1], b"_id\0", value[1:], b"\0")
    )


@pytest.mark.parametrize(
    ("python_value", "text"),
    [
        (7, '{"$numberInt": "7"}'),
        (bson.Int64(7), '{"$numberLong": "7"}'),
        ("$x", '"$x"'),
        (bson.ObjectId("0123456789abcdef01234567"), '{"$oid": "0123456789abcdef01234567"}'),
        ({"a": 1}, '{"a": {"$numberInt": "1"}}'),
        (bson.MaxKey(), '{"$maxKey": 1}'),
    ],
)
def test_people_can_read_a_bound(python_value: object, text: str) -> None:
    assert bound_text(value_of(python_value)) == text


@pytest.mark.parametrize(
    ("python_value", "shown"),
    [
        (7, "7"),
        (bson.Int64(-7), "-7"),
        ("$x", "$x"),
        (bson.ObjectId("0123456789abcdef01234567"), "0123456789abcdef01234567"),
        (True, "true"),
        (1.5, '{"$numberDouble": "1.5"}'),
        ({"a": 1}, '{"a": {"$numberInt": "1"}}'),
    ],
)
def test_notifications_show_a_bound_as_debezium_does(python_value: object, shown: str) -> None:
    assert shown_bound(bound_text(value_of(python_value))) == shown


def test_what_extended_json_cannot_say_is_base64() -> None:
    symbol = bytes([Kind.SYMBOL]) + b"\x02\x00\x00\x00a\x00"
    assert json.loads(bound_text(symbol)) == {"$bson": "DgIAAABhAA=="}


@pytest.mark.parametrize("text", ["", "{", '{"$oid": "7"}', '{"$bson": "?"}'])
def test_a_broken_bound_is_reported(text: str) -> None:
    with pytest.raises(HeadraceError, match="bound of a chunk") as caught:
        bound_value(text)
    assert caught.value.code == "mongodb.broken_bound"
