from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from headrace.connect.rows import Sequences
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition
from headrace.errors import HeadraceError
from headrace.offsets.offset import LARGEST_EPOCH
from headrace.offsets.snapshot_progress import SnapshotProgress

BETWEEN: dict[str, Any] = {
    "v": 1,
    "server": "headrace",
    "epoch": 2,
    "system": "7301",
    "lsn_commit": 400,
    "last_commit": 390,
    "ts_usec": 1_700_000_000_000_000,
    "slices": 3,
    "order": "key",
}
INSIDE = BETWEEN | {"txn": 900, "txn_index": 7, "lsn": 850}
SNAPSHOT: dict[str, Any] = {
    "taken_us": 5,
    "txid": 9,
    "xids": "9:9:",
    "table": 1,
    "after": {"leaf": 0, "lower": None, "ordinal": 12},
    "chunks": [],
    "tables": [[1, "public", "t"]],
}


def read(data: dict[str, Any]) -> PostgresOffset:
    return PostgresOffset.from_json(
        json.loads(json.dumps(data)), "headrace", PostgresPosition.from_json
    )


@pytest.mark.parametrize(
    "stored",
    [
        {"v": 1, "server": "headrace"},
        BETWEEN,
        BETWEEN | {"last_commit": None, "ts_usec": None},
        INSIDE,
        INSIDE | {"consistent": 70, "heartbeat": 4, "xmin": 740},
        BETWEEN | {"snapshot": SNAPSHOT},
        BETWEEN | {"signals": {"ordinal": 3, "file": 8}},
    ],
)
def test_a_stored_offset_is_written_again_as_it_was(stored: dict[str, Any]) -> None:
    assert read(stored).to_json() == stored


def test_an_offset_of_version_1_keeps_its_sequences_and_is_upgraded() -> None:
    old = read(INSIDE)
    assert (old.is_old, old.sequences) == (True, Sequences(2, 41))
    new = old.upgraded()
    assert new.to_json() == INSIDE | {"v": 2, "epoch": 3, "slices": 1}
    assert (new.is_old, new.sequences) == (False, Sequences(3, 57))
    assert replace(old, heartbeat=1).to_json()["v"] == 1
    with pytest.raises(HeadraceError, match=r"offset\.newer"):
        read(INSIDE | {"v": 3})


def test_positions_are_reported_by_their_places_only() -> None:
    place = read(BETWEEN)
    for alike in ({"slices": 1}, {"order": "position"}, {"heartbeat": 9}, {"xmin": 77}):
        assert place.same_position(read(BETWEEN | alike))
    for other in (
        {"lsn_commit": 401},
        {"epoch": 3},
        {"last_commit": 391},
        {"snapshot": SNAPSHOT},
        {"signals": {"ordinal": 1}},
    ):
        assert not place.same_position(read(BETWEEN | other))
    assert not place.same_position(read(INSIDE))
    assert not read(INSIDE).same_position(read(INSIDE | {"txn_index": 8}))


def test_a_position_as_people_read_it() -> None:
    assert str(read(BETWEEN).position) == "0/190"
    assert str(read(INSIDE).position) == "0/384 message 7"


def test_the_ordinals_of_a_blocking_snapshot_count_as_used_after_it() -> None:
    inside = read(BETWEEN | {"snapshot": SNAPSHOT | {"blocking": True}})
    later = inside.after_snapshot()
    assert later.snapshot is None
    assert later.signals is not None
    assert later.signals.ordinal == 12
    snapshot = inside.snapshot
    assert isinstance(snapshot, SnapshotProgress)
    initial = replace(inside, snapshot=replace(snapshot, blocking=False))
    assert initial.after_snapshot().signals is None


@pytest.mark.parametrize(
    ("stored", "code"),
    [
        (BETWEEN | {"v": 1_000}, "newer"),
        (BETWEEN | {"server": "another"}, "other_server"),
        ({"a": 1}, "broken"),
        (BETWEEN | {"v": 0}, "broken"),
    ],
)
def test_an_offset_of_something_else_is_refused(stored: dict[str, Any], code: str) -> None:
    with pytest.raises(HeadraceError, match=rf"offset\.{code}"):
        read(stored)


def test_an_epoch_that_sequence_cannot_show_is_refused() -> None:
    last = PostgresOffset("headrace", PostgresPosition(1), LARGEST_EPOCH)
    assert f"{last.epoch:04x}" == "ffff"
    with pytest.raises(HeadraceError, match=r"offset\.epochs_used_up"):
        replace(last, epoch=last.epoch + 1)
    with pytest.raises(HeadraceError, match="epoch is not a number"):
        read(last.to_json() | {"epoch": LARGEST_EPOCH + 1})
