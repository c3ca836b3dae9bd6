from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import bson
import pytest
from bson.int64 import Int64
from bson.timestamp import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.connectors.mongodb.position import MongoPosition, at_token
from headrace.documents.fields import PathRule
from headrace.errors import HeadraceError
from tests.connectors.mongodb.streaming.scripted import (
    Event,
    Read,
    Row,
    ScriptedCursor,
    at,
    event,
    read,
    token,
)
from tests.documents.plain_bson import encode_value
from tests.examples import examples

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
NOON_MS = 1714564800000
SESSION = {"id": bson.Binary(b"s" * 16, 4), "uid": b"u" * 32}


def rows_of(*batches: Sequence[Event], **more: Any) -> Read:
    """The rows that are received of these batches."""
    last = batches[-1][-1]
    scripted = [(batch, batch[-1]["_id"]) for batch in batches]
    time = last["clusterTime"]
    events = [event for batch in batches for event in batch if "splitEvent" not in event]
    of_that_time = sum(event.get("clusterTime") == time for event in events)
    complete = (at(time.time, time.inc) << 64) + max(of_that_time, 1)

    def done(stream: Read) -> bool:
        return stream.receiver.received.complete >= complete

    return read(ScriptedCursor(scripted), done, **more)


def document(row: Row) -> Any:
    assert row.new is not None
    return None if row.new[1] is None else bson.decode(row.new[1][1:])


def test_every_part_of_an_event_is_found() -> None:
    update = {
        "updatedFields": {"a.b": 1},
        "removedFields": ["c"],
        "truncatedArrays": [{"field": "d", "newSize": 2}],
        "disambiguatedPaths": {"a.b": ["a", "b"]},
    }
    change = event(
        "update",
        5,
        7,
        wallTime=NOON,
        fullDocument={"_id": 1, "n": 2},
        fullDocumentBeforeChange={"_id": 1, "n": 1},
        updateDescription=update,
        lsid=SESSION,
        txnNumber=Int64(3),
        collectionUUID=bson.Binary(b"c" * 16, 4),
    )
    (row,) = rows_of([change]).rows
    assert (row.operation, row.collection) == ("u", "d.c")
    assert (row.place, row.increment) == ((at(5, 7), 0), 7)
    assert row.old == [encode_value(1), encode_value({"_id": 1, "n": 1})]
    assert row.new == [encode_value(1), encode_value({"_id": 1, "n": 2})]
    assert row.extra == [
        encode_value({"a.b": 1}),
        encode_value(["c"]),
        encode_value([{"field": "d", "newSize": 2}]),
    ]
    assert row.session == [encode_value(SESSION)]
    assert (row.transaction, row.wall_ms, row.commit_ms) == (3, NOON_MS, NOON_MS)


def test_what_the_server_leaves_out_is_null() -> None:
    inserted = event("insert", 5, fullDocument={"_id": 1})
    updated = event("update", 6, fullDocument=None, updateDescription={"updatedFields": {}})
    looked_up = event("update", 7) | {"fullDocument": None, "fullDocumentBeforeChange": None}
    deleted = event("delete", 8)
    insert, update, gone, delete, tombstone = rows_of([inserted, updated, looked_up, deleted]).rows
    assert (insert.old, insert.extra, insert.session) == (None, None, None)
    assert (insert.transaction, insert.wall_ms, insert.commit_ms) == (None, None, 5000)
    assert update.new == [encode_value(1), None]
    assert update.extra == [encode_value({}), None, None]
    assert (gone.old, gone.new) == ([encode_value(1), None], [encode_value(1), None])
    assert (delete.old, delete.new) == ([encode_value(1), None], None)
    assert (tombstone.operation, tombstone.old) == ("tombstone", delete.old)


def test_a_replacement_has_no_update_description() -> None:
    (row,) = rows_of([event("replace", 5, fullDocument={"_id": 1})]).rows
    assert (row.operation, row.extra) == ("u", None)


def test_the_shard_key_is_no_part_of_the_key() -> None:
    change = event("insert", 5, fullDocument={"_id": 9}, documentKey={"region": "north", "_id": 9})
    (row,) = rows_of([change]).rows
    assert row.new is not None
    assert row.new[0] == encode_value(9)


def test_an_id_that_is_null_is_a_key() -> None:
    (row,) = rows_of([event("delete", 5, key=None, documentKey={"_id": None})]).rows[:1]
    assert row.old == [b"\x0a", None]


def test_keys_that_are_shown_alike_belong_together() -> None:
    ids = [5, Int64(5), 5.0, "5", {"a": 1}, {"a": Int64(1)}, 6]
    rows = rows_of([event("insert", 5, n, key=key) for n, key in enumerate(ids, 1)]).rows
    hashes = [row.hash for row in rows]
    assert hashes[0] == hashes[1]
    assert hashes[4] == hashes[5]
    assert len(set(hashes)) == 5


def test_events_that_are_no_changes_make_no_rows_and_move_the_position() -> None:
    others = [
        event("drop", 6, documentKey=None),
        event("rename", 7, documentKey=None, to={"db": "d", "coll": "e"}),
        event("dropDatabase", 8, documentKey=None, ns={"db": "d"}),
        event("createIndexes", 9, documentKey=None, operationDescription={"indexes": []}),
        event("invalidate", 10, documentKey=None, ns=None),
    ]
    stream = rows_of([event("insert", 5), *others])
    assert len(stream.rows) == 1
    end = MongoPosition().after(stream.receiver.received.end)
    assert end == MongoPosition(at(10), 1, bson.encode(others[-1]["_id"]), 1)
    assert stream.receiver.received.filtered == 0


def test_events_of_other_collections_are_left_out_and_counted() -> None:
    changes = [
        event("insert", 5, 1, ns={"db": "d", "coll": "c"}),
        event("insert", 5, 2, ns={"db": "d", "coll": "other"}),
        event("insert", 5, 3, ns={"db": "d", "coll": "c"}),
    ]
    stream = rows_of(changes, captures=lambda _database, name: name == "c")
    assert [row.increment for row in stream.rows] == [1, 3]
    assert stream.receiver.received.filtered == 1


def test_a_thousand_collections_are_distinguished() -> None:
    changes = [
        event("insert", 5, n, ns={"db": f"d{n % 7}", "coll": f"c.{n}"}) for n in range(1, 1001)
    ]
    again = event("insert", 5, 1001, ns=changes[0]["ns"])
    rows = rows_of(changes[:500], [*changes[500:], again]).rows
    assert [row.collection for row in rows[:1000]] == [f"d{n % 7}.c.{n}" for n in range(1, 1001)]
    assert rows[1000].collection == rows[0].collection


def test_events_of_one_time_are_numbered_also_after_a_restart() -> None:
    changes = [event("insert", 5, 1, key=key) for key in range(6)] + [event("insert", 5, 2, key=9)]
    stream = rows_of(changes[:4], changes[4:])
    places = [(at(5, 1), number) for number in range(6)] + [(at(5, 2), 0)]
    assert [row.place for row in stream.rows] == places
    assert [(end.time, end.number) for end in stream.ends] == [
        *((at(5, 1), number) for number in range(1, 7)),
        (at(5, 2), 1),
    ]
    assert [end.token for end in stream.ends] == [bson.encode(e["_id"]) for e in changes]
    again = rows_of(changes[3:], start=stream.ends[2])
    assert [row.place for row in again.rows] == places[3:]


def test_the_token_after_a_batch_is_a_position_of_its_own() -> None:
    cursor, complete = ScriptedCursor([([event("insert", 5)], token(9))]), at(9, 2) << 64
    stream = read(cursor, lambda stream: stream.receiver.received.complete >= complete)
    end = MongoPosition().after(stream.receiver.received.end)
    assert end == at_token(bson.encode(token(9)))
    assert stream.receiver.received.complete == complete


def test_a_stream_continues_after_the_token_of_its_start() -> None:
    cursor = ScriptedCursor([([event("insert", 5)], token(5))])
    start = at_token(bson.encode(token(4)))
    read(cursor, lambda stream: len(stream.rows) == 1, start=start)
    (start_of_stream,) = cursor.starts
    assert start_of_stream["startAfter"].raw == start.token


def test_fragments_of_large_events_become_one_event() -> None:
    text = "x" * 100_000
    whole = event("update", 6, fullDocument={"_id": 1, "text": text}, wallTime=NOON)
    first = {"_id": token(6, 1, "AA"), "splitEvent": {"fragment": 1, "of": 2}}
    second = {
        name: member for name, member in whole.items() if name not in ("_id", "fullDocument")
    } | {"_id": token(6, 1, "BB"), "splitEvent": {"fragment": 2, "of": 2}}
    batches = [event("insert", 5), first | {"fullDocument": whole["fullDocument"]}], [second]
    third = event("insert", 7)
    stream = rows_of(batches[0], [*batches[1], third])
    assert [row.operation for row in stream.rows] == ["c", "u", "c"]
    assert document(stream.rows[1]) == {"_id": 1, "text": text}
    assert stream.ends[1].token == bson.encode(second["_id"])
    assert stream.rows[2].place == (at(7), 0)


def test_another_event_between_fragments_is_refused() -> None:
    first = event("update", 6) | {"splitEvent": {"fragment": 1, "of": 2}}
    with pytest.raises(HeadraceError) as caught:
        rows_of([first, event("insert", 7)])
    assert caught.value.code == "mongodb.broken_event"


@pytest.mark.parametrize("name", ["_id", "clusterTime", "documentKey"])
def test_an_event_that_a_pipeline_took_apart_is_refused(name: str) -> None:
    change = {member: value for member, value in event("insert", 5).items() if member != name}
    cursor = ScriptedCursor([([change], token(5))])
    with pytest.raises(HeadraceError) as caught:
        read(cursor, lambda _found: False)
    assert caught.value.code == "mongodb.broken_event"
    assert name in caught.value.message


def test_an_event_larger_than_a_segment_is_received() -> None:
    large = event("insert", 5, fullDocument={"_id": 1, "text": "x" * (15 << 20)})
    update = event(
        "update",
        6,
        fullDocument=large["fullDocument"],
        fullDocumentBeforeChange=large["fullDocument"],
    )
    rows = rows_of([large, event("insert", 5, 2), update], [event("insert", 7)]).rows
    assert [row.operation for row in rows] == ["c", "c", "u", "c"]
    assert document(rows[2]) == large["fullDocument"]


RULES = [PathRule(("secret",)), PathRule(("a", "b"), "x")]


def test_fields_are_left_out_and_renamed_in_every_part_but_the_key() -> None:
    change = event(
        "update",
        5,
        key={"secret": 1},
        fullDocument={"_id": {"secret": 1}, "secret": 2, "a": {"b": 3}},
        fullDocumentBeforeChange={"secret": 1, "a": {"b": 2, "c": 1}, "z": 1},
        updateDescription={
            "updatedFields": {"secret": 2, "a.b": 3},
            "removedFields": ["secret.deep", "a.b", "z"],
            "truncatedArrays": [
                {"field": "secret", "newSize": 1},
                {"field": "a.b", "newSize": 2},
            ],
        },
    )
    other = change | {"ns": {"db": "d", "coll": "other"}}
    row, untouched = rows_of([change, other], fields=RULES).rows
    key = encode_value({"secret": 1})
    assert row.new == [key, encode_value({"_id": {"secret": 1}, "a": {"x": 3}})]
    assert row.old == [key, encode_value({"a": {"c": 1, "x": 2}, "z": 1})]
    assert [decoded(cell) for cell in row.extra or ()] == [
        {"a.x": 3},
        ["a.x", "z"],
        [{"field": "a.x", "newSize": 2}],
    ]
    assert untouched.new == [key, encode_value(change["fullDocument"])]


def decoded(cell: bytes | None) -> Any:
    """A document, or the values of an array."""
    assert cell is not None
    members = bson.decode(cell[1:])
    return list(members.values()) if cell[:1] == b"\x04" else members


def test_documents_that_rules_concern_may_be_of_any_size() -> None:
    documents = [{"_id": 1, "secret": "s", "text": "x" * (1 << size)} for size in (10, 18, 22)]
    changes = [event("insert", 5, n, fullDocument=d) for n, d in enumerate(documents, 1)]
    rows = rows_of(changes, fields=RULES).rows
    assert [document(row) for row in rows] == [
        {name: value for name, value in d.items() if name != "secret"} for d in documents
    ]


def test_a_field_that_gets_a_name_that_is_taken_ends_the_stream() -> None:
    change = event("insert", 5, fullDocument={"a": {"b": 1, "x": 2}})
    with pytest.raises(HeadraceError) as caught:
        rows_of([change], fields=RULES)
    assert caught.value.code == "documents.value_not_representable"


def counted(*, cut: int | None = None) -> tuple[list[tuple[str, int, int]], list[MongoPosition]]:
    """Two transactions and what is around them: operation, ordinal and number of the place of each
    row; a `cut` begins a new reader after that end."""
    of_first = {"lsid": SESSION, "txnNumber": Int64(1)}
    of_second = {"lsid": SESSION, "txnNumber": Int64(2)}
    changes = [
        event("insert", 5, 1, key=0),
        *(event("insert", 6, 1, key=key, **of_first) for key in (1, 2, 3)),
        *(event("insert", 7, 1, key=key, **of_second) for key in (4, 5)),
        event("insert", 8, 1, key=6),
    ]
    batches = [(batch, batch[-1]["_id"]) for batch in (changes[:2], changes[2:5], changes[5:])]
    start = None
    if cut is not None:
        start = counted()[1][cut]
        tokens = [bson.encode(change["_id"]) for change in changes]
        rest = changes[tokens.index(start.token or b"") + 1 :]
        batches = [(rest, changes[-1]["_id"])]

    def done(stream: Read) -> bool:
        return stream.receiver.received.complete > at(8, 1) << 64

    stream = read(ScriptedCursor(batches), done, borders="p.transaction", start=start)
    if cut is not None:
        assert start is not None
        stream.rows[:] = [
            r for r in stream.rows if (r.place[0] << 64 | r.place[1]) >= start.committed
        ]
    return [(row.operation, row.ordinal, row.place[1]) for row in stream.rows], stream.ends


COUNTED = [
    ("c", 2, 0),
    ("B", 1, 0),
    ("c", 2, 0),
    ("c", 2, 1),
    ("c", 2, 2),
    ("E", 0, 3),
    ("B", 1, 0),
    ("c", 2, 0),
    ("c", 2, 1),
    ("E", 0, 2),
    ("c", 2, 0),
]


def test_transactions_that_are_counted_have_rows_where_they_begin_and_end() -> None:
    rows, ends = counted()
    assert rows == COUNTED
    # Inside of a transaction the stream goes on before it.
    first, *within = ends[:4]
    assert {end.token for end in within} == {first.token}
    assert [end.number for end in within] == [1, 2, 3]


@pytest.mark.parametrize(("cut", "rest"), [(0, 1), (1, 3), (2, 4), (3, 5), (4, 8), (5, 9), (6, 11)])
def test_after_each_event_of_a_transaction_the_rest_of_it_follows(cut: int, rest: int) -> None:
    assert counted(cut=cut)[0] == COUNTED[rest:]


keys = st.one_of(
    st.integers(-5, 5),
    st.integers(-5, 5).map(Int64),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.dictionaries(st.sampled_from("ab"), st.integers(0, 3)),
    st.binary(min_size=12, max_size=12).map(bson.ObjectId),
)
documents = st.dictionaries(st.text("abc", min_size=1, max_size=3), keys, max_size=3)
changes_of_any_kind = st.sampled_from(["insert", "update", "replace", "delete", "drop"])
members = st.fixed_dictionaries(
    {"operation": changes_of_any_kind, "key": keys, "step": st.integers(0, 2)},
    optional={
        "fullDocument": documents,
        "fullDocumentBeforeChange": documents,
        "wallTime": st.just(NOON),
        "ns": st.sampled_from([{"db": "d", "coll": "c"}, {"db": "d", "coll": "other"}]),
    },
)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(members, min_size=1, max_size=12), st.data())
def test_any_events_become_their_rows(drawn: list[dict[str, Any]], data: st.DataObject) -> None:
    changes, increment = [], 1
    for step in drawn:
        increment += step.pop("step")
        changes.append(event(step.pop("operation"), 5, increment, step.pop("key"), **step))
    cut = data.draw(st.integers(0, len(changes)))
    batches = [batch for batch in (changes[:cut], changes[cut:]) if batch]
    stream = rows_of(*batches, captures=lambda _database, name: name == "c")
    expected, number, time = [], 0, None
    for change in changes:
        number = number + 1 if change["clusterTime"] == time else 1
        time = change["clusterTime"]
        operation = {"insert": "c", "update": "u", "replace": "u", "delete": "d"}.get(
            change["operationType"]
        )
        if operation is None or change["ns"]["coll"] != "c":
            continue
        key = encode_value(change["documentKey"]["_id"])
        before, after = (
            None if change.get(name) is None else encode_value(change[name])
            for name in ("fullDocumentBeforeChange", "fullDocument")
        )
        place = (at(5, time.inc), number - 1)
        old = [key, before] if before is not None or operation == "d" else None
        new = None if operation == "d" else [key, after]
        operations = (operation, "tombstone") if operation == "d" else (operation,)
        expected += [(operation, place, old, new) for operation in operations]
    assert [(row.operation, row.place, row.old, row.new) for row in stream.rows] == expected
    assert Timestamp(5, increment) == changes[-1]["clusterTime"]
