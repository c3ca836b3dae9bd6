"""Offsets that were edited by hand: each is read, or is one clear error."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.db2.position import Db2Position
from headrace.connectors.mongodb.position import MongoPosition
from headrace.connectors.postgresql.position import PostgresPosition
from headrace.errors import HeadraceError
from headrace.offsets.offset import Offset
from headrace.offsets.position import PlacePosition
from headrace.snapshots.chunks import Chunk
from headrace.snapshots.tables import SnapshotTable

PENDING = ["public.t", "1", None, None]
INSERT = {"at": [1, 2, 3, 4], "lsn": 5, "last_commit": None, "time_us": 6, "table": PENDING,
          "lower": None, "upper": ["7"], "parts": 8, "notification": {"id": "1"}}  # fmt: skip
BEYOND: dict[str, Any] = {
    "v": 2,
    "server": "p",
    "epoch": 1,
    "system": "x",
    "slices": 2,
    "order": "key",
    "consistent": 7,
    "heartbeat": 1,
    "snapshot": {
        "taken_us": 1,
        "txid": 5,
        "xids": "1:1:",
        "table": 0,
        "after": {"leaf": 0, "lower": ["1"], "ordinal": 2},
        "chunks": [
            {"table": 0, "ordinal": 0, "kind": "key", "leaf": 0, "lower": None, "upper": ["1"],
             "first": "run", "last": "", "rows": 5},
        ],
        "tables": [[1, "public", "t", "key", [[1, "public", "t", 4, 5]], True, "id > 1"]],
        "told": [{"id": "1"}],
        "blocking": True,
    },
    "signals": {
        "tables": [PENDING],
        "after": ["1"],
        "maximum": ["2"],
        "scanned": 1,
        "stops": [["public.t"]],
        "blocking": [PENDING],
        "xid": 3,
        "ordinal": 4,
        "file": 5,
        "kafka": [["signals", 0, 7]],
        "inserts": [INSERT],
    },
}  # fmt: skip
TOKEN = "MQAAAAJfZGF0YQAhAAAAODI2NjAwMDAwMDAwMDAwMDAxMkIwMjI5Mjk2RTA0MDAwAAA="
POSITIONS: list[tuple[type[Any], dict[str, Any]]] = [
    (PlacePosition, {"committed": 9, "transaction": 10, "messages": 1}),
    (
        PostgresPosition,
        {"lsn_commit": 9, "last_commit": 8, "ts_usec": 1, "txn": 10, "txn_index": 1, "lsn": 10,
         "xmin": 700},
    ),
    (
        MongoPosition,
        {"sec": 1, "ord": 2, "ordinal": 3, "resume_ordinal": 3, "lsid": "{}", "txnNumber": 4},
    ),
    (
        Db2Position,
        {
            "commit_lsn": "00000000:00000000:0000000000000010",
            "transaction_lsn": "00000000:00000000:0000000000000020",
            "messages": 1,
            "change_lsn": "00000000:00000000:000000000000001f",
            "event_serial_no": 1,
        },
    ),
]  # fmt: skip
VALUES: list[Any] = [None, True, -1, 1 << 200, 1.5, float("nan"), "", "x", "é" * 30, [], [None],
                     [[]], {}, {"v": {}}]  # fmt: skip


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything inside of a JSON value."""
    if isinstance(value, dict):
        members: Iterator[tuple[Any, Any]] = iter(value.items())
    elif isinstance(value, list):
        members = iter(enumerate(value))
    else:
        return
    for name, member in members:
        yield (*path, name)
        yield from places(member, (*path, name))


def edited(data: dict[str, Any], path: tuple[Any, ...], edit: Callable[[Any, Any], None]) -> Any:
    copied = copy.deepcopy(data)
    inner: Any = copied
    for name in path[:-1]:
        inner = inner[name]
    edit(inner, path[-1])
    return copied


def read(data: Any, position: type[Any]) -> None:
    """Reads an offset as a connector and its snapshot do."""
    offset = Offset.from_json(data, "p", position.from_json)
    if offset.snapshot is not None:
        for table in offset.snapshot.tables:
            SnapshotTable.from_json(table)
        for chunk in offset.snapshot.chunks:
            Chunk.from_json(chunk)
    offset.to_json()
    assert offset.position.committed >= 0


def refusal(data: Any, position: type[Any]) -> str:
    """The code of the error for an offset; empty: it is read."""
    try:
        read(data, position)
    except HeadraceError as error:
        return error.code
    return ""


@pytest.mark.parametrize(("position", "members"), POSITIONS)
def test_every_value_of_another_type_is_taken_or_reported(
    position: type[Any], members: dict[str, Any]
) -> None:
    data = BEYOND | members
    read(data, position)
    refusals = set()
    for path in places(data):
        edits = [
            lambda inner, name, value=value: inner.__setitem__(name, value) for value in VALUES
        ]
        for edit in (*edits, lambda inner, name: inner.__delitem__(name)):
            refusals.add((path[0], refusal(edited(data, path, edit), position)))
    assert {(name, "offset.broken") for name in data if name != "server"} <= refusals
    codes = {"", "offset.broken", "offset.other_server", "offset.newer"}
    assert {code for _, code in refusals} <= codes


@given(
    st.sampled_from([None, True, 0, "", "AAAA", TOKEN, [], {}, 5.5]) | st.text(),
    st.integers() | st.none(),
)
def test_a_resume_token_is_read_or_refused(token: object, seconds: int | None) -> None:
    data = BEYOND | {"sec": seconds, "ord": 0, "ordinal": 0, "resume_token": token}
    assert refusal(data, MongoPosition) in ("", "offset.broken", "mongodb.broken_token")


def test_what_is_no_object_is_broken() -> None:
    for data in ([], None, "x", 5):
        with pytest.raises(HeadraceError) as caught:
            Offset.from_json(data, "p", PlacePosition.from_json)  # type: ignore[arg-type]
        assert caught.value.code == "offset.broken"
