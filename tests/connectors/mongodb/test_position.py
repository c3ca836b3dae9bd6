from __future__ import annotations

import base64
import json
from typing import Any

import bson
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.rows import NULL
from headrace.connectors.mongodb.position import MongoPosition, at_token, token_time
from headrace.connectors.mongodb.streaming import index
from headrace.errors import HeadraceError

# What MongoDB 6.0.5 sent: after an event, and at a time without events.
OF_EVENT = (
    "826B02AA99000000022B022C0100296E5A100461C08B1E1CE04C3A82BDDB4B15DEFC9D461E5F6964002B020004"
)
OF_TIME = "826B02AA99000000022B0229296E04"
TIME = 0x6B02AA99 << 32 | 2


def token(data: str | bytes) -> bytes:
    return bson.encode({"_data": data})


def stored(position: MongoPosition) -> MongoPosition:
    return MongoPosition.from_json(json.loads(json.dumps(position.to_json())))


positions = st.builds(
    MongoPosition,
    time=st.integers(0, (1 << 64) - 1),
    number=st.integers(0, 1 << 40),
    token=st.just(token(OF_EVENT)),
    token_number=st.integers(0, 1 << 40),
    session=st.none() | st.text(),
    transaction_number=st.none() | st.integers(0, (1 << 63) - 1),
)


@given(positions)
def test_a_position_comes_back_from_an_offset(position: MongoPosition) -> None:
    assert stored(position) == position


@given(positions, positions)
def test_places_are_in_the_order_of_cluster_times_and_of_events_within_them(
    first: MongoPosition, other: MongoPosition
) -> None:
    before = (first.time, first.number) < (other.time, other.number)
    assert (first.committed < other.committed) == before
    assert MongoPosition.at(first.committed).is_at(first)


def test_an_offset_has_debeziums_members() -> None:
    position = MongoPosition(TIME, 3, token(OF_EVENT), 3, '{"id": 1}', 5)
    assert position.to_json() == {
        "sec": 0x6B02AA99,
        "ord": 2,
        "ordinal": 3,
        "resume_token": base64.b64encode(token(OF_EVENT)).decode(),
        "lsid": '{"id": 1}',
        "txnNumber": 5,
    }


@pytest.mark.parametrize("text", [OF_EVENT, OF_TIME, OF_TIME.lower()])
def test_a_token_that_is_stored_as_its_data_alone_is_read(text: str) -> None:
    assert MongoPosition.from_json({"resume_token": text}).token == token(text)


def test_a_token_has_its_time() -> None:
    assert token_time(token(OF_EVENT)) == token_time(token(OF_TIME)) == TIME
    assert token_time(token(bytes.fromhex(OF_TIME))) == TIME
    assert at_token(token(OF_TIME)) == MongoPosition(TIME, 0, token(OF_TIME))


def test_an_offset_of_debezium_after_which_no_event_came_has_the_time_of_its_token() -> None:
    offset = {"sec": -1, "ord": -1, "resume_token": OF_TIME}
    assert MongoPosition.from_json(offset) == MongoPosition(TIME, 0, token(OF_TIME))


def test_an_offset_without_a_token_is_a_time() -> None:
    assert MongoPosition.from_json({"sec": 5, "ord": 7}) == MongoPosition(5 << 32 | 7)


@pytest.mark.parametrize("text", ["", "82", "no token", OF_EVENT[:-1] + "x"])
def test_what_is_no_token_is_refused(text: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        MongoPosition.from_json({"resume_token": text})
    assert caught.value.code == "mongodb.broken_token"
    assert caught.value.remedy


@pytest.mark.parametrize(
    "document",
    [{}, {"_data": 5}, {"_data": "zz"}, {"_data": "83" + OF_TIME[2:]}, {"_data": "82"}, {"a": "b"}],
)
def test_a_token_without_a_time_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(HeadraceError) as caught:
        token_time(bson.encode(document))
    assert caught.value.code == "mongodb.broken_token"


def test_after_an_event_of_the_index_the_token_is_still_to_be_read() -> None:
    end = np.zeros(1, index.END)[0]
    for name, value in (("time", TIME), ("number", 2), ("token", 4096), ("token_size", 90)):
        end[name] = value
    end["token_number"], end["transaction"] = 2, NULL
    position = MongoPosition().after(end)
    assert position == MongoPosition(TIME, 2, None, 2)
    assert position.unread is not None
    assert (position.unread.token, position.unread.token_size) == (4096, 90)
