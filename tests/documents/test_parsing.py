"""Extended JSON read back: what the writer writes of a value is that value."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import value_to_extended_json
from headrace.documents.parsing.plain import bson_of
from headrace.errors import HeadraceError
from tests.documents.plain_bson import encode, encode_value
from tests.documents.values import values


@given(values, st.sampled_from([Dialect.STRICT, Dialect.CANONICAL, Dialect.MANUAL]))
def test_a_text_that_was_read_is_written_as_the_same_text(value: object, dialect: Dialect) -> None:
    try:
        text = value_to_extended_json(encode_value(value), dialect)
        parsed = bson_of(text)
    except HeadraceError:
        # Fields of documents may have the names that mean types.
        assume(False)
        raise
    assert value_to_extended_json(parsed, dialect) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("NaN", "NaN"),
        ('{"$numberLong": "5"}', '{"$numberLong": "5"}'),
        ('{"$date": "2024-05-01T00:00:00.25Z"}', '{"$date": {"$numberLong": "1714521600250"}}'),
        ('{"$date": "2024-05-01T02:00:00+02:00"}', '{"$date": {"$numberLong": "1714521600000"}}'),
        (
            '{"$uuid": "b68a35a7-17ad-35b3-af2a-ae46edb4545a"}',
            '{"$binary": {"base64": "too1pxetNbOvKq5G7bRUWg==","subType": "04"}}',
        ),
        ('{"$numberDecimal": "-Infinity"}', '{"$numberDecimal": "-Infinity"}'),
        ('{"$regex": {"$gt": 1}}', '{"$regex": {"$gt": {"$numberInt": "1"}}}'),
    ],
)
def test_spellings_that_the_writer_has_not_are_read(text: str, value: object) -> None:
    expected = {5: '{"$numberInt": "5"}', "NaN": '{"$numberDouble": "NaN"}'}.get(value, value)  # type: ignore[call-overload]
    assert value_to_extended_json(bson_of(text), Dialect.CANONICAL) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"_id": 1, "n": ',
        '{"$oid": "12"}',
        '{"$date": {}}',
        '{"$numberDecimal": "1E9999"}',
        '{"$numberLong": "many"}',
        "99999999999999999999",
        "[" * 300 + "]" * 300,
        "",
    ],
)
def test_a_text_that_is_no_extended_json_is_refused(text: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        bson_of(text)
    assert caught.value.code == "documents.text_not_understood"


@given(st.dictionaries(st.sampled_from("abc"), st.integers(-9, 9), max_size=3))
def test_a_document_is_read_as_it_was_encoded(document: dict[str, int]) -> None:
    assert bson_of(str(document).replace("'", '"')) == b"\x03" + encode(document)


def test_levels_are_counted_through_the_scopes_of_code() -> None:
    def nested(levels: int) -> str:
        return '{"$code": "f", "$scope": {"x": ' * levels + "1" + "}}" * levels

    parsed = bson_of(nested(256))
    assert value_to_extended_json(parsed, Dialect.STRICT).count("$scope") == 256
    with pytest.raises(HeadraceError, match="nested deeper than 256 levels"):
        bson_of(nested(257))
