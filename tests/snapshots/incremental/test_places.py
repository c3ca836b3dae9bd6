from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.heartbeats import heartbeat_slice
from headrace.connectors.postgresql.position import PostgresOffset, PostgresPosition
from headrace.offsets.ordinals import INSERT_PARTS, ordinals_used
from headrace.signals.progress import SignalProgress

STORED = {
    "v": 1,
    "server": "headrace",
    "epoch": 1,
    "system": "1",
    "lsn_commit": 5000,
    "last_commit": 4900,
    "ts_usec": 1,
    "slices": 1,
    "order": "position",
}


def stored(**more: Any) -> PostgresOffset:
    return PostgresOffset.from_json(STORED | more, "headrace", PostgresPosition.from_json)


@given(
    heartbeats=st.integers(0, 1 << 40),
    inserts=st.integers(0, 1 << 40),
    insert_comes=st.lists(st.booleans(), min_size=1, max_size=20),
)
def test_places_between_transactions_rise_from_any_stored_offset(
    heartbeats: int, inserts: int, insert_comes: list[bool]
) -> None:
    offset = stored(heartbeat=heartbeats, signals={"ordinal": inserts})
    ordinals = [heartbeats, inserts]  # an offset of an earlier version may have given both away
    for comes in insert_comes:
        assert offset.signals is not None
        if comes:
            used = offset.signals.ordinal
            ordinals.append(ordinals_used(offset.heartbeat, used) + 1)
            offset = replace(offset, signals=SignalProgress(ordinal=used + 1))
        else:
            offset = replace(offset, heartbeat=offset.heartbeat + 1)
            ordinals.append(heartbeat_slice(offset, "topic").ordinal)
    given_now = ordinals[2:]
    assert given_now == sorted(set(given_now))
    assert given_now[0] > max(heartbeats, inserts)


@given(heartbeats=st.integers(0, 1 << 40))
def test_what_is_inserted_inside_a_transaction_comes_after_the_heartbeat_that_cut_it(
    heartbeats: int,
) -> None:
    offset = stored(heartbeat=heartbeats, txn=6000, txn_index=3, lsn=5500)
    heartbeat = heartbeat_slice(offset, "topic")
    assert (heartbeat.position, heartbeat.kind, heartbeat.ordinal) == (6000, 2, 3)
    assert 1 << 31 <= heartbeat.part < INSERT_PARTS
    assert INSERT_PARTS < 1 << 32  # eight digits, with room for 2^30 records


def test_a_blocking_snapshot_of_an_earlier_version_keeps_the_ordinals_of_its_chunks() -> None:
    snapshot = {
        "taken_us": 1,
        "txid": None,
        "xids": "10:10:",
        "table": 1,
        "after": {"leaf": 0, "lower": None, "ordinal": (2 << 24) + 7},
        "chunks": [],
        "tables": [],
        "done": True,
        "blocking": True,
    }
    offset = stored(snapshot=snapshot, signals={"ordinal": 2}, heartbeat=3)
    after = offset.after_snapshot()
    assert after.snapshot is None
    assert after.signals is not None
    assert ordinals_used(after.heartbeat, after.signals.ordinal) >= (2 << 24) + 7
