from __future__ import annotations

import numpy as np
import pytest

from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.visibility import VisibleTransactions
from headrace.relational.events import RelationFacts
from headrace.signals.progress import Pending
from headrace.snapshots.incremental.rows import ChunkRows, ReadChunk
from headrace.snapshots.incremental.sizes import ChunkSizes
from tests.connectors.postgresql.facts import KEYS

ONE, OTHER = Pending("public.one", "1"), Pending("public.other", "1")
FACTS = RelationFacts("public", "one", "one", (), ())


def chunk(
    rows: int,
    table: Pending = ONE,
    *,
    width: int = 10,
    done: str | None = None,
    cut: bool = False,
) -> ReadChunk:
    offsets = np.arange(rows + 1) * width
    images, hashes = np.zeros(rows * width, np.uint8), np.zeros(rows, np.uint64)
    chunk_rows = ChunkRows(FACTS, images, offsets, hashes, KEYS, cut=cut)
    return ReadChunk(table, chunk_rows, VisibleTransactions("1:1:"), 0, done=done)


def sizes() -> ChunkSizes:
    return ChunkSizes(1000, adapts=True, lanes=4, max_bytes=16_000_000)


def unknown() -> float | None:
    """A table that nobody has analyzed."""
    return None


def test_chunks_grow_while_they_are_read_fast_and_shrink_to_the_first_size_when_slow() -> None:
    chunk_sizes = sizes()
    chunk_sizes.adapt(0.01, [chunk(1000)])
    assert chunk_sizes.rows(ONE, unknown) == 4000
    chunk_sizes.adapt(0.1, [chunk(4000)] * 2)
    assert chunk_sizes.rows(ONE, unknown) == 8000
    for _ in range(9):
        chunk_sizes.adapt(5.0, [chunk(1000)] * 4)
    assert chunk_sizes.rows(ONE, unknown) == 1000


def test_chunks_of_large_rows_hold_no_more_bytes_than_a_range_has_room_for() -> None:
    chunk_sizes = sizes()
    chunk_sizes.adapt(0.01, [chunk(1000, width=40_000)])
    assert chunk_sizes.rows(ONE, unknown) == 100


def test_the_first_chunk_holds_no_more_bytes_by_the_statistics_either() -> None:
    chunk_sizes = sizes()
    assert chunk_sizes.chunk_bytes == 4_000_000
    assert chunk_sizes.rows(ONE, lambda: 40_000.0) == 100
    assert chunk_sizes.rows(ONE, lambda: 1e9) == 1
    assert chunk_sizes.rows(ONE, lambda: 100.0) == 1000
    chunk_sizes.adapt(0.01, [chunk(100, width=1_000)])
    assert chunk_sizes.rows(ONE, lambda: 40_000.0) == 4000


def test_chunks_are_read_one_at_a_time_while_their_bytes_cut_them() -> None:
    chunk_sizes = sizes()
    for _ in range(3):
        chunk_sizes.adapt(0.01, [chunk(1000)])
    chunk_sizes.adapt(0.01, [chunk(100, width=40_000, cut=True)])
    assert (chunk_sizes.parallel_chunks, chunk_sizes.rows(ONE, unknown)) == (1, 100)
    chunk_sizes.adapt(0.01, [chunk(100, width=40_000)])
    assert chunk_sizes.parallel_chunks == 2


def test_every_table_begins_with_the_first_size_and_every_snapshot_with_one_chunk() -> None:
    chunk_sizes = sizes()
    assert chunk_sizes.parallel_chunks == 1
    for _ in range(3):
        chunk_sizes.adapt(0.01, [chunk(1000)])
    assert chunk_sizes.parallel_chunks == 4
    assert chunk_sizes.rows(ONE, unknown) > chunk_sizes.rows(OTHER, unknown) == 1000
    chunk_sizes.reset()
    assert (chunk_sizes.parallel_chunks, chunk_sizes.rows(ONE, unknown)) == (1, 1000)


@pytest.mark.parametrize(
    ("more", "grows", "at_once"),
    [
        ({}, True, 4),
        ({"headrace.incremental.snapshot.adaptive": "false"}, False, 4),
        ({"incremental.snapshot.chunk.size": "1024"}, False, 4),
        ({"headrace.incremental.snapshot.threads": "2"}, True, 2),
        ({"headrace.compatibility": "debezium-3.6"}, False, 1),
    ],
)
def test_a_size_that_somebody_chose_is_kept(
    more: dict[str, str], grows: bool, at_once: int
) -> None:
    config = PostgresConfig.parse(
        {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "topic.prefix": "p",
            "database.hostname": "h",
            "database.user": "u",
            "database.password": "x",
            "database.dbname": "d",
        }
        | more
    )
    chunk_sizes = ChunkSizes.of(config)
    for _ in range(4):
        chunk_sizes.adapt(0.01, [chunk(1024)])
    assert (chunk_sizes.rows(ONE, unknown) > 1024, chunk_sizes.parallel_chunks) == (grows, at_once)
