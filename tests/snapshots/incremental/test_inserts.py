"""Chunks and notifications between the log's rows, against a plain list of records."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.connect.images import make_image
from headrace.connect.rows import NULL, ORDER, ROW, TRANSACTION, low_half, place_of
from headrace.relational.events import RelationFacts
from headrace.signals.notifications import Notifier
from headrace.signals.progress import Insert, Pending
from headrace.snapshots.incremental.inserts import (
    Insertions,
    chunk_block,
    merge,
    merge_orders,
    notification_block,
    places_of,
)
from headrace.snapshots.incremental.places import InsertionPoint
from headrace.snapshots.incremental.rows import ChunkRows, ReadChunk
from headrace.snapshots.incremental.visibility import SeenBefore
from headrace.spool.segment import Segment
from tests.connectors.postgresql.facts import KEYS

TOPICS = ("log a", "log b", "chunk a", "chunk b")
FACTS = {
    number: RelationFacts("public", topic, topic, (), ()) for number, topic in enumerate(TOPICS)
}
PLACES = (1, 2, (1 << 64) + 1, (7 << 64) | (1 << 63))
places = st.tuples(st.sampled_from(PLACES), st.sampled_from([1, 2]), st.integers(0, 3))


@st.composite
def logs(draw: st.DrawFn) -> np.ndarray:
    """Rows in the order of the log, of relations 5 and 7, in two transactions."""
    placed_parts = sorted(draw(st.lists(st.tuples(*[places], st.integers(0, 2)), unique=True)))
    rows = np.zeros(len(placed_parts), ROW)
    for row, ((position, kind, ordinal), part) in zip(rows, placed_parts, strict=True):
        row["position_high"], row["position"] = position >> 64, low_half(position)
        row["kind"], row["ordinal"] = kind, ordinal
        row["part"], row["new"] = part, 11
        row["relation"] = draw(st.sampled_from([5, 7]))
        row["transaction"] = draw(st.integers(0, 1))
    return rows


@st.composite
def inserted(draw: st.DrawFn) -> list[tuple[Insert, list[bytes]]]:
    """Chunks (their rows' images) and notifications (one image), in the order of their places."""
    inserts_with_images = []
    count = draw(st.integers(0, 4))
    ats = sorted(draw(st.lists(places, min_size=count, max_size=count, unique=True)))
    for position, kind, ordinal in ats:
        cells = draw(st.none() | st.lists(st.text(max_size=5), min_size=1, max_size=4))
        notification = None
        if cells is None:
            notification = {"id": "1", "type": "STARTED", "aggregate_type": "x"} | {
                "additional_data": {}, "timestamp": 7,
            }  # fmt: skip
        insert = Insert(
            (position, kind, ordinal, 1 << 8), 30, 20, 1_000_000, notification=notification
        )
        inserts_with_images.append((insert, [make_image([cell]) for cell in cells or ()]))
    return inserts_with_images


def transaction_image(place: int, kind: int) -> bytes:
    """None at some places."""
    return make_image([f"{place:x}/{kind}"]) if place % 2 else b""


@given(logs(), inserted())
def test_inserts_stand_where_their_places_are_and_keep_their_images(
    rows: np.ndarray, given_inserts: list[tuple[Insert, list[bytes]]]
) -> None:
    blocks = []
    for number, (insert, images) in enumerate(given_inserts):
        if insert.notification is not None:
            blocks.append(notification_block(insert, "notifications"))
            continue
        offsets = np.cumsum([0, *map(len, images)], dtype=np.int64)
        array = np.frombuffer(b"".join(images), np.uint8)
        hashes = np.arange(len(images), dtype=np.uint64)
        facts = FACTS[2 + number % 2]
        rows_read = ChunkRows(facts, array, offsets, hashes, KEYS)
        blocks.append(chunk_block(insert, rows_read, transaction_image))
    transactions = np.zeros(2, TRANSACTION)
    transactions["xid"] = (1, 2)
    segment = Segment(1 << 20, sum(block.size for block in blocks) + 1)
    at = places_of(rows, blocks)
    before = rows.copy()
    merged, entries, relations = merge(
        rows, transactions, {5: FACTS[0], 7: FACTS[1]}, blocks, at, segment
    )

    def place(row: np.void) -> tuple[int, ...]:
        return place_of(row), *(int(row[name]) for name in ("kind", "ordinal", "part"))

    expected = [(place(row), FACTS[int(row["relation"] == 7)], b"") for row in before]
    for block, (insert, images) in zip(blocks, given_inserts, strict=True):
        for part, image in enumerate(images or [block.images.tobytes()]):
            where = (*insert.at[:3], insert.at[3] + part)
            expected.append((where, block.facts, image))
    expected.sort(key=lambda record: record[0])
    assert [place(row) for row in merged] == [where for where, _, _ in expected]
    for row, (where, facts, image) in zip(merged, expected, strict=True):
        assert relations[int(row["relation"])] == facts, where
        if image:
            start = int(row["new"]) - segment.start
            assert segment.array[start : start + int(row["size"])].tobytes() == image
            entry = entries[row["transaction"]]
            expected_image = transaction_image(*where[:2]) if row["operation"] == ord("r") else b""
            start = int(entry["image"]) - segment.start if expected_image else 0
            assert segment.array[start : start + int(entry["size"])].tobytes() == expected_image
            assert entries[row["transaction"]]["xid"] == NULL
            assert entries[row["transaction"]]["position"] == low_half(where[0])
        else:
            assert row["new"] == 11
            assert entries[row["transaction"]]["xid"] in (1, 2)
    orders = np.zeros(len(before), ORDER)
    orders["total"] = np.arange(1, len(before) + 1)
    counted = merge_orders(orders, blocks, at)
    assert len(counted) == len(merged)
    assert counted["total"][[not image for _, _, image in expected]].tolist() == list(
        range(1, len(before) + 1)
    )
    segment.drop()


@given(st.integers(1, 3000), st.integers(0, 9000))
def test_a_chunk_that_is_read_again_keeps_below_the_place_of_what_comes_next(
    rows: int, more: int
) -> None:
    """This holds whatever came into its range since; the offset has the number of places that were
    kept."""
    config: Any = SimpleNamespace(
        notification_enabled_channels=(), topic_prefix="s", notification_sink_topic_name=None
    )
    chunk = ReadChunk(Pending("t", "1"), _rows(rows), SeenBefore(1), 1)
    insertions, place = Insertions(Notifier(config)), InsertionPoint(5, 1, 7, 3, 5, None)
    insertions.add_rows(chunk, _rows(rows), place)
    (insert,) = (Insert.from_json(insert.to_json()) for insert in insertions.inserts)
    again = chunk_block(insert, _rows(rows + more)).rows
    parts = again["part"].tolist()
    assert parts == sorted(parts)
    assert parts[0] == 3
    assert parts[-1] < place.part
    assert len(set(parts)) >= min(rows + more, 2 * rows, rows + 1024)


def _rows(count: int) -> ChunkRows:
    image = make_image(["x"])
    offsets = np.arange(count + 1, dtype=np.int64) * len(image)
    array = np.frombuffer(image * count, np.uint8)
    return ChunkRows(FACTS[2], array, offsets, np.arange(count, dtype=np.uint64), KEYS)
