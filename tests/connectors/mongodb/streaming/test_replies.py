from __future__ import annotations

from typing import Any

import bson
import pytest
from bson.int64 import Int64
from bson.timestamp import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.mongodb.streaming.replies import members, read_reply
from headrace.errors import HeadraceError

TOKEN = {"_data": "826B02AA99000000022B0229296E04"}
CURSOR: dict[str, Any] = {
    "nextBatch": [{"_id": TOKEN, "n": 1}, {"_id": TOKEN, "n": 2}],
    "postBatchResumeToken": TOKEN,
    "id": Int64(77),
    "ns": "db.$cmd.aggregate",
}
REPLY: dict[str, Any] = {"cursor": CURSOR, "ok": 1.0, "operationTime": Timestamp(5, 2)}


@pytest.mark.parametrize("name", ["firstBatch", "nextBatch"])
def test_a_reply_says_where_its_batch_is(name: str) -> None:
    cursor = {name: CURSOR["nextBatch"], **{k: v for k, v in CURSOR.items() if k != "nextBatch"}}
    reply = read_reply(bson.encode({**REPLY, "cursor": cursor}))
    batch = bson.decode(reply.data[reply.first : reply.last])
    assert list(batch.values()) == CURSOR["nextBatch"]
    assert not reply.is_empty
    assert bson.decode(reply.token) == TOKEN
    assert (reply.cursor, reply.namespace) == (77, "db.$cmd.aggregate")
    assert reply.operation_time == 5 << 32 | 2


def test_a_reply_without_events_is_empty() -> None:
    reply = read_reply(bson.encode({**REPLY, "cursor": {**CURSOR, "nextBatch": []}}))
    assert reply.is_empty


def without(document: dict[str, Any], name: str) -> dict[str, Any]:
    return {member: value for member, value in document.items() if member != name}


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"ok": 1.0},
        {**REPLY, "cursor": 5},
        *({**REPLY, "cursor": without(CURSOR, name)} for name in ("nextBatch", "id", "ns")),
        {**REPLY, "cursor": {**CURSOR, "id": 5}},
        {**REPLY, "cursor": {**CURSOR, "nextBatch": {}}},
        {**REPLY, "cursor": {**CURSOR, "postBatchResumeToken": "text"}},
    ],
)
def test_a_reply_that_lacks_something_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(HeadraceError) as caught:
        read_reply(bson.encode(document))
    assert caught.value.code == "mongodb.broken_reply"


def test_a_server_without_tokens_after_its_batches_is_no_mongodb() -> None:
    with pytest.raises(HeadraceError) as caught:
        read_reply(bson.encode({**REPLY, "cursor": without(CURSOR, "postBatchResumeToken")}))
    assert caught.value.code == "mongodb.unsupported_server"


@given(st.data())
def test_a_mutated_reply_is_read_or_refused(data: st.DataObject) -> None:
    raw = bytearray(bson.encode(REPLY))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        reply = read_reply(bytes(raw))
    except HeadraceError as error:
        known = ("mongodb.broken_reply", "mongodb.unsupported_server")
        assert error.code in known  # noqa: PT017 - or it is read
    else:
        assert 0 < reply.first < reply.last <= len(raw)


def test_the_members_of_a_document_are_found_where_they_are() -> None:
    document = {"a": 1, "b": "text", "c": {"d": [1, 2]}, "e": None}
    raw = bson.encode(document)
    assert {
        name: raw[member.begin : member.end].hex() for name, member in members(raw).items()
    } == {
        "a": "01000000",
        "b": b"\5\0\0\0text\0".hex(),
        "c": bson.encode({"d": [1, 2]}).hex(),
        "e": "",
    }
