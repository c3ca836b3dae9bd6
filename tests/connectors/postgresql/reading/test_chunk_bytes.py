"""Chunks of an incremental snapshot are bounded in bytes, whatever the rows are like."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.connectors.postgresql.reading.key_ranges import PostgresRanges
from headrace.snapshots.incremental.chunk_source import Skipped
from headrace.snapshots.incremental.rows import ChunkRows
from tests.connectors.postgresql.harness import Reader, properties_with, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres
WIDE = 250_000


TABLES = (
    # The size of its chunks is a guess as long as the table has no statistics.
    "CREATE TABLE wide (id int PRIMARY KEY, v text) WITH (autovacuum_enabled = false);"
    "ALTER TABLE wide ALTER v SET STORAGE EXTERNAL;"
    "CREATE TABLE narrow (id int PRIMARY KEY);"
    "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data text);"
    "INSERT INTO narrow SELECT generate_series(1, 5)"
)


@pytest.fixture
def chunks(monkeypatch: pytest.MonkeyPatch) -> list[ChunkRows]:
    """The rows of every range that was read."""
    chunk_rows: list[ChunkRows] = []
    original = PostgresRanges.read_range

    def watched(*arguments: Any) -> ChunkRows | Skipped:
        rows = original(*arguments)
        assert isinstance(rows, ChunkRows)
        chunk_rows.append(rows)
        return rows

    monkeypatch.setattr(PostgresRanges, "read_range", watched)
    return chunk_rows


properties = properties_with(
    {
        "table.include.list": "public\\.(wide|narrow)",
        "snapshot.mode": "no_data",
        "signal.data.collection": "public.signals",
        "headrace.range.max.bytes": "16MB",
    }
)


def fill(database: Database, first: int, last: int, size: int) -> None:
    database.execute(
        f"INSERT INTO wide SELECT i, repeat('x', {size}) FROM generate_series({first}, {last}) i"
    )


def read_all(reader_properties: dict[str, str], database: Database) -> list[int]:
    """Ids of the rows in the order of their delivery; their tables are complete."""
    reader = Reader(reader_properties)
    reader.step()
    signal_data = json.dumps({"data-collections": ["public.wide", "public.narrow"]})
    database.execute(f"INSERT INTO signals VALUES ('1', 'execute-snapshot', '{signal_data}')")

    def read(table: str) -> list[dict[str, Any]]:
        return [
            event["after"]
            for event in map(json.loads, (r["value"] for r in reader.records if r["value"]))
            if event.get("op") == "r" and event["source"]["table"] == table
        ]

    try:
        wait_for(lambda: (reader.step(), len(read("narrow")) == 5)[1])
    finally:
        reader.stop()
    sizes = dict(database.execute("SELECT id, length(v) FROM wide"))
    assert {row["id"]: len(row["v"]) for row in read("wide")} == sizes
    return [row["id"] for row in read("wide")]


@pytest.mark.parametrize("reads_by", ["socket", "libpq"])
def test_a_first_chunk_of_wide_rows_ends_at_its_limit(
    tables: Database, chunks: list[ChunkRows], monkeypatch: pytest.MonkeyPatch, reads_by: str
) -> None:
    if reads_by == "libpq":
        monkeypatch.setenv("HEADRACE_LIBPQ_READER", "1")
    fill(tables, 1, 120, WIDE)  # 30 MB that no statistics know of
    reader_properties = properties(tables, headrace__slice__order="position")
    assert read_all(reader_properties, tables) == list(range(1, 121))
    limit = (16 << 20) // 4 // 4
    assert chunks[0].cut
    assert max(len(rows.images) for rows in chunks) <= limit
    assert len(chunks[0]) == limit // WIDE


def test_the_first_chunk_is_as_large_as_the_statistics_say(
    tables: Database, chunks: list[ChunkRows]
) -> None:
    fill(tables, 1, 120, WIDE)
    tables.execute("ANALYZE wide")
    read_all(properties(tables), tables)
    assert not any(rows.cut for rows in chunks)
    assert 2 <= len(chunks[0]) <= 4


def test_chunks_of_narrow_rows_that_grew_end_where_wide_rows_begin(
    tables: Database, chunks: list[ChunkRows]
) -> None:
    fill(tables, 1, 30_000, 10)
    fill(tables, 30_001, 30_060, WIDE)
    fill(tables, 30_061, 40_000, 10)
    reader_properties = properties(tables, headrace__slice__order="position")
    assert read_all(reader_properties, tables) == list(range(1, 40_001))
    assert max(len(rows.images) for rows in chunks) <= (16 << 20) // 4 // 4


def test_one_row_that_is_larger_than_the_limit_is_a_chunk_of_its_own(
    tables: Database, chunks: list[ChunkRows]
) -> None:
    fill(tables, 1, 3, 3_000_000)
    read_all(properties(tables), tables)
    assert [len(rows) for rows in chunks if len(rows.images) > 1 << 20] == [1, 1, 1]


@pytest.mark.parametrize(
    "more",
    [
        {"incremental__snapshot__chunk__size": "1000"},
        {"headrace__compatibility": "debezium-3.6"},
        {"read__only": "true"},
    ],
)
def test_a_size_that_somebody_chose_is_bounded_in_bytes_too(
    tables: Database, chunks: list[ChunkRows], more: dict[str, str]
) -> None:
    fill(tables, 1, 200, WIDE)
    read_all(properties(tables, **more), tables)
    assert max(len(rows.images) for rows in chunks) <= 16 << 20
    assert chunks[0].cut


def test_a_chunk_that_was_cut_is_read_again_after_a_restart(
    tables: Database, chunks: list[ChunkRows]
) -> None:
    fill(tables, 1, 60, WIDE)
    reader = Reader(properties(tables, headrace__slice__order="position"))
    reader.step()
    signal_data = json.dumps({"data-collections": ["public.wide"]})
    tables.execute(f"INSERT INTO signals VALUES ('1', 'execute-snapshot', '{signal_data}')")

    def keys() -> list[int]:
        return [json.loads(r["key"])["id"] for r in reader.records if '"op":"r"' in r["value"]]

    def inserts() -> list[dict[str, Any]]:
        return reader.offsets[-1].get("signals", {}).get("inserts", [])

    wait_for(lambda: (reader.step(), inserts())[1])
    first = keys()
    end = reader.offsets.pop()
    reader.restart()
    again = reader.read(end)
    assert [json.loads(r["key"])["id"] for r in again if '"op":"r"' in r["value"]] == first
    reader.offsets.append(end)
    wait_for(lambda: (reader.restart().step(), len(keys()) >= 60)[1])
    reader.stop()
    assert keys() == list(range(1, 61))
    assert any(rows.cut for rows in chunks)
