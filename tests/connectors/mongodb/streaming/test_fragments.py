from __future__ import annotations

from typing import Any

import bson
import pytest
from bson.timestamp import Timestamp

from headrace.connectors.mongodb.streaming.fragments import Fragments
from headrace.errors import HeadraceError

# As MongoDB's manual shows the events of $changeStreamSplitLargeEvent.
FIRST = {
    "_id": {"_data": "82A1"},
    "splitEvent": {"fragment": 1, "of": 3},
    "wallTime": None,
    "fullDocument": {"_id": 1, "text": "x" * 1000},
}
SECOND = {
    "_id": {"_data": "82A2"},
    "splitEvent": {"fragment": 2, "of": 3},
    "wallTime": bson.datetime_ms.DatetimeMS(5),
    "fullDocumentBeforeChange": {"_id": 1, "text": "y" * 1000},
}
THIRD = {
    "_id": {"_data": "82A3"},
    "splitEvent": {"fragment": 3, "of": 3},
    "operationType": "update",
    "clusterTime": Timestamp(5, 1),
    "ns": {"db": "d", "coll": "c"},
    "documentKey": {"_id": 1},
    "fullDocument": {"_id": "not this one"},
}


def joined(*events: dict[str, Any]) -> bytes | None:
    fragments = Fragments()
    for event in events[:-1]:
        assert fragments.add(bson.encode(event)) is None
        assert fragments.is_open
    whole = fragments.add(bson.encode(events[-1]))
    assert not fragments.is_open
    return whole


def test_fragments_become_one_event_with_the_last_ones_token() -> None:
    whole = joined(FIRST, SECOND, THIRD)
    assert whole is not None
    options = bson.CodecOptions(datetime_conversion=bson.DatetimeConversion.DATETIME_MS)
    assert bson.decode(whole, options) == {
        "_id": {"_data": "82A3"},
        "wallTime": SECOND["wallTime"],
        "fullDocument": FIRST["fullDocument"],
        "fullDocumentBeforeChange": SECOND["fullDocumentBeforeChange"],
        "operationType": "update",
        "clusterTime": Timestamp(5, 1),
        "ns": {"db": "d", "coll": "c"},
        "documentKey": {"_id": 1},
    }


def test_one_event_may_follow_another() -> None:
    fragments = Fragments()
    single = {**THIRD, "splitEvent": {"fragment": 1, "of": 1}}
    for _ in range(2):
        assert fragments.add(bson.encode(single)) is not None


@pytest.mark.parametrize(
    "events",
    [
        [SECOND],
        [FIRST, FIRST],
        [FIRST, THIRD],
        [FIRST, {"_id": {"_data": "82A2"}, "operationType": "insert"}],
        [{"splitEvent": {"fragment": 1}}],
        [{"splitEvent": {"fragment": 1.0, "of": 2}}],
        [{"splitEvent": {"fragment": 2, "of": 1}}],
        [{"splitEvent": "one of two"}],
    ],
)
def test_what_is_not_the_next_fragment_is_refused(events: list[dict[str, Any]]) -> None:
    fragments = Fragments()
    for event in events[:-1]:
        fragments.add(bson.encode(event))
    with pytest.raises(HeadraceError) as caught:
        fragments.add(bson.encode(events[-1]))
    assert caught.value.code == "mongodb.broken_event"
