"""Records sent to topics that their values name."""

from __future__ import annotations

from unittest import mock

import pyarrow as pa

from headrace.connect.json_records import read_records, write_records
from headrace.transforms import routing
from headrace.transforms.routing import Routes
from tests.transforms.test_chain import record


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
    with mock.patch.object(routing, "MOST_ROUTES", 2):
        first, second = (routes.shape(records.shape, topic) for topic in "ab")
        assert routes.shape(records.shape, "b") is second
        assert routes.shape(records.shape, "a") is first
        routes.shape(records.shape, "c")
        assert routes.shape(records.shape, "a") is first
        assert routes.shape(records.shape, "b") is not second
