"""Options of regular expressions: Debezium's driver sorts them; servers keep them as written."""

from __future__ import annotations

import pytest

from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import value_to_extended_json
from headrace.documents.values import regex_parts


def regex(options: bytes) -> bytes:
    return b"\x0ba\0" + options + b"\0"


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        (Dialect.STRICT, '{"$regex": "a","$options": "is"}'),
        (Dialect.RELAXED, '{"$regularExpression": {"pattern": "a","options": "is"}}'),
        (Dialect.RELAXED_SPACED, '{"$regularExpression": {"pattern": "a", "options": "is"}}'),
        (Dialect.CANONICAL, '{"$regularExpression": {"pattern": "a","options": "is"}}'),
    ],
)
def test_options_are_sorted_as_the_java_driver_writes_them(dialect: Dialect, text: str) -> None:
    assert value_to_extended_json(regex(b"si"), dialect) == text
    assert value_to_extended_json(regex(b"is"), dialect) == text


@pytest.mark.parametrize(
    "options", [b"", b"i", b"xsmi", b"lumsix", b"ssii", b"\xc3\xa9a", b"z" * 90]
)
def test_both_writers_sort_alike(options: bytes) -> None:
    pattern, sorted_options = regex_parts(regex(options)[1:])
    assert pattern == "a"
    assert f'"options": "{sorted_options}"' in value_to_extended_json(
        regex(options), Dialect.CANONICAL
    )
    if options.isascii():
        assert sorted_options == "".join(sorted(options.decode()))
