"""Records sent to topics that their values name."""

from __future__ import annotations

from unittest import mock

import pyarrow as pa
import pytest

from headrace.connect.json_records import read_records, write_records
from headrace.errors import HeadraceError
from headrace.transforms import apply_json, routing
from headrace.transforms.json_form import read_chain
from headrace.transforms.routing import Routes
from tests.transforms.test_chain import properties, record


def test_records_are_split_by_topic_and_stay_where_it_is_null_or_blank() -> None:
    (records,) = read_records([record(value=text) for text in "abcdef"])
    topics = pa.array(["x", None, "y", "x", " ", "t"], pa.large_string())
    routes = Routes()
    pieces = list(routes.split(records, topics))
    written = write_records(pieces)
    assert [written[n]["topic"] for n in range(6)] == ["x", "t", "y", "x", "t", "t"]
    assert [written[n]["value"]["payload"] for n in range(6)] == list("abcdef")
    again = {piece.shape for piece in routes.split(records, topics)}
    assert again == {piece.shape for piece in pieces}
    assert records.shape in again


def test_only_so_many_routes_are_kept_those_used_last() -> None:
    (records,) = read_records([record()])
    routes = Routes()
    with mock.patch.object(routing, "MAX_ROUTES", 2):
        first, second = (routes.shape(records.shape, topic) for topic in "ab")
        assert routes.shape(records.shape, "b") is second
        assert routes.shape(records.shape, "a") is first
        routes.shape(records.shape, "c")
        assert routes.shape(records.shape, "a") is first
        assert routes.shape(records.shape, "b") is not second


@pytest.mark.parametrize(
    "step",
    [
        {"type": "RegexRouter", "regex": "(a+)+b", "replacement": "$1"},
        {"type": "ByLogicalTableRouter", "topic.regex": "(a|aa)+b", "topic.replacement": "$1"},
        {"type": "Filter", "language": "groovy", "condition": "!(value ==~ /(a+)+b/)"},
        {"type": "Filter", "language": "spark.sql", "condition": "NOT (value RLIKE '(a|a)*b')"},
        {
            "type": "Filter",
            "language": "spark.sql",
            "condition": "NOT (value LIKE '%a%a%a%a%a%a%a%a%a%b')",
        },
    ],
)
def test_no_expression_hangs(step: dict[str, str]) -> None:
    entry = record("a" * 200, "a" * 4_000)
    outcomes = apply_json(properties(a=step), [entry])
    assert outcomes == [entry]


def test_what_could_hang_is_refused_at_the_start() -> None:
    router = {"type": "ByLogicalTableRouter", "topic.regex": "(a|aa)+$b", "topic.replacement": "x"}
    with pytest.raises(HeadraceError, match=r"transforms\.a\.topic\.regex.*could take too long"):
        read_chain(properties(a=router))


@pytest.mark.parametrize(
    ("option", "step"),
    [
        ("condition", {"type": "Filter", "language": "groovy",
                       "condition": "value.v =~ /a*a*a*a*(?=b)c/"}),
        ("condition", {"type": "Filter", "language": "groovy",
                       "condition": "value.v ==~ /a*a*(?=b)c/"}),
        ("condition", {"type": "Filter", "language": "groovy",
                       "condition": "value.v.matches('a*a*(?=b)c')"}),
        ("condition", {"type": "Filter", "language": "spark.sql",
                       "condition": "value.v RLIKE 'a*(?=b)c'"}),
        ("topic.regex", {"type": "Filter", "language": "groovy", "condition": "true",
                         "topic.regex": "a*a*a*(?=b)c"}),
        ("regex", {"type": "RegexRouter", "regex": "a*a*a*(?=b)c", "replacement": "x"}),
    ],
)  # fmt: skip
def test_what_takes_a_power_of_a_row_s_text_is_refused_at_the_start(
    option: str, step: dict[str, str]
) -> None:
    with pytest.raises(HeadraceError, match=rf"transforms\.a\.{option}.*could take too long"):
        read_chain(properties(a=step))


def test_an_ambiguous_expression_renames_as_others_do() -> None:
    router = {"type": "RegexRouter", "regex": "((?:[a-z]+_?)+)\\.(.*)", "replacement": "$2-$1"}
    outcomes = apply_json(properties(a=router), [record("shop_eu.orders")])
    assert outcomes[0] is not None
    assert outcomes[0]["topic"] == "orders-shop_eu"
