"""Chunks: together they are the table, exactly, whatever its key."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from headrace.connectors.postgresql.capture import Capture
from headrace.connectors.postgresql.catalog.catalog import Catalog
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.ddl.lock_watch import LockWatch
from headrace.connectors.postgresql.reading.dialect import PAGE_BYTES
from headrace.connectors.postgresql.reading.snapshot_source import PostgresSnapshotSource
from headrace.connectors.registry import parse_configuration
from headrace.connectors.waiting import Waiting
from headrace.snapshots.chunks import Chunk, ChunkKind, rows_per_chunk
from headrace.snapshots.tables import SnapshotTable
from tests.servers.postgresql import Database


@contextmanager
def held(database: Database) -> Iterator[PostgresSnapshotSource]:
    """A snapshot of the current rows."""
    config = parse_configuration(database.properties())
    assert isinstance(config, PostgresConfig)
    catalog = Catalog(config)
    waiting = Waiting(lambda: False)
    watch = LockWatch(config, waiting.report)
    source = PostgresSnapshotSource(config, Capture(config), catalog, waiting, watch)
    source.hold(None)
    try:
        yield source
    finally:
        source.close()
        catalog.close()


def table_of(source: PostgresSnapshotSource, name: str = "t") -> SnapshotTable:
    (table,) = (table for table in source.tables() if table.table == name)
    return table


def planned(source: PostgresSnapshotSource, table: SnapshotTable, rows: int) -> list[Chunk]:
    """Key ranges, walked as the snapshot does."""
    chunks = []
    for number, leaf in enumerate(table.leaves):
        lower = None
        while True:
            upper = source.next_bound(table, leaf, lower, rows)
            chunks.append(Chunk(0, len(chunks), ChunkKind.KEY, number, lower, upper))
            if upper is None:
                break
            lower = upper
    return chunks


def copied(
    source: PostgresSnapshotSource,
    table: SnapshotTable,
    chunk: Chunk,
    connection: psycopg.Connection | None = None,
) -> list[bytes]:
    """The lines of a chunk in the snapshot, or as a connection sees them."""
    query = source.query(table, chunk, None)
    assert query is not None
    assert source.held is not None
    with (connection or source.held.connection).cursor().copy(query.query.statement) as copy:
        return b"".join(copy).splitlines()


KEYS = {
    "negative": ("id int", "SELECT i - 250 FROM generate_series(1, 500) i"),
    "numeric": (
        "id numeric",
        "SELECT i / 7::numeric - 30 FROM generate_series(1, 400) i"
        " UNION VALUES ('NaN'::numeric), ('Infinity'), ('-Infinity')",
    ),
    "float": (
        "id float8",
        "SELECT i / 7::float8 FROM generate_series(1, 400) i UNION VALUES ('NaN'::float8)",
    ),
    "text": (
        "id text",
        "SELECT chr(33 + i % 90) || E'\\\\ \\'' || i FROM generate_series(1, 400) i"
        " UNION VALUES (''), (E'a\\nb\\tc'), ('ß😀'), ('Null'), ('\\N')",
    ),
    "char": ("id char(8)", "SELECT 'k' || i FROM generate_series(1, 400) i"),
    "uuid": ("id uuid", "SELECT md5(i::text)::uuid FROM generate_series(1, 400) i"),
    "bytea": ("id bytea", "SELECT decode(md5(i::text), 'hex') FROM generate_series(1, 400) i"),
    "timestamptz": (
        "id timestamptz",
        "SELECT '2026-03-29 00:30 UTC'::timestamptz + i * interval '333 s'"
        " FROM generate_series(1, 400) i UNION VALUES ('infinity'::timestamptz), ('-infinity'),"
        " ('0044-03-15 BC')",
    ),
    "interval": ("id interval", "SELECT i * interval '1 day 7 s' FROM generate_series(1, 400) i"),
    "array": ("id int[]", "SELECT ARRAY[i % 9, i] FROM generate_series(1, 400) i"),
    "enum": ("id mood", "SELECT unnest(enum_range(NULL::mood))"),
    "domain": ("id positive", "SELECT i FROM generate_series(1, 400) i"),
}


@pytest.mark.postgres
@pytest.mark.parametrize("kind", KEYS)
def test_chunks_by_any_type_of_key_are_the_table(database: Database, kind: str) -> None:
    column, rows = KEYS[kind]
    database.execute(
        "CREATE TYPE mood AS ENUM ('z', 'a', 'it''s', 'k'); CREATE DOMAIN positive AS bigint;"
        f"CREATE TABLE t ({column} PRIMARY KEY, n int);"
        f" INSERT INTO t SELECT x, 1 FROM ({rows}) r(x)"
    )
    with held(database) as source, database.connect() as connection:
        table = table_of(source)
        assert table.kind == ChunkKind.KEY
        chunks = planned(source, table, 3 if kind == "enum" else 37)
        assert len(chunks) > 1
        pieces = [copied(source, table, chunk) for chunk in chunks]
        with connection.cursor().copy("COPY (SELECT * FROM t ORDER BY id) TO STDOUT") as copy:
            whole = b"".join(copy).splitlines()
    assert [row for piece in pieces for row in piece] == whole
    assert all(pieces)


@pytest.mark.postgres
@pytest.mark.parametrize("size", [1, 10, 1000])
def test_chunks_by_a_composite_key_are_the_table(database: Database, size: int) -> None:
    database.execute(
        'CREATE TABLE "Odd t" (n int, "the %s" text COLLATE "C", "a""b" date, d numeric,'
        ' PRIMARY KEY ("the %s", "a""b", d));'
        "INSERT INTO \"Odd t\" SELECT i, 'x''' || i % 5, date '2026-01-01' + i % 3, i"
        " FROM generate_series(1, 400) i"
    )
    with held(database) as source:
        table = table_of(source, "Odd t")
        assert table.kind == ChunkKind.KEY
        pieces = [copied(source, table, c) for c in planned(source, table, size)]
    assert Counter(row.split(b"\t")[0] for p in pieces for row in p) == Counter(
        str(i).encode() for i in range(1, 401)
    )


@pytest.mark.postgres
def test_chunks_by_page_are_the_table(database: Database) -> None:
    database.execute(
        "CREATE TABLE t (n int, v text);"
        "INSERT INTO t SELECT i, repeat('x', 300) FROM generate_series(1, 500) i"
    )
    with held(database) as source:
        table = table_of(source)
        assert table.kind == ChunkKind.PAGES
        assert table.pages > 10
        bounds = [None, *range(3, table.pages, 3), None]
        rows = [
            row
            for i, (lower, upper) in enumerate(itertools.pairwise(bounds))
            for row in copied(source, table, Chunk(0, i, ChunkKind.PAGES, 0, lower, upper))
        ]
    assert sorted(int(row.split(b"\t")[0]) for row in rows) == list(range(1, 501))


@pytest.mark.postgres
def test_the_open_last_chunk_holds_rows_that_came_after_planning(database: Database) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3)")
    with held(database) as source, database.connect() as connection:
        table = table_of(source)
        chunks = planned(source, table, 2)
        database.execute("INSERT INTO t VALUES (0), (9)")
        rows = [row for chunk in chunks for row in copied(source, table, chunk, connection)]
    assert rows == [b"0", b"1", b"2", b"3", b"9"]


@pytest.mark.postgres
def test_an_empty_table_is_seen_as_empty(database: Database) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    with held(database) as source:
        assert source.tables() == []
        database.execute("INSERT INTO t VALUES (1)")
        assert source.tables() == []
    with held(database) as source:
        table = table_of(source)
        assert source.next_bound(table, table.leaves[0], None, 5) is None


@pytest.mark.postgres
def test_partitions_are_chunked_one_by_one(database: Database) -> None:
    database.execute(
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);"
        "CREATE TABLE low PARTITION OF p FOR VALUES FROM (0) TO (50);"
        "CREATE TABLE high PARTITION OF p FOR VALUES FROM (50) TO (500) PARTITION BY RANGE (id);"
        "CREATE TABLE higher PARTITION OF high FOR VALUES FROM (50) TO (500);"
        "INSERT INTO p SELECT generate_series(0, 199)"
    )
    with held(database) as source:
        table = table_of(source, "p")
        assert [leaf.name for leaf in table.leaves] == ["higher", "low"]
        rows = [row for chunk in planned(source, table, 30) for row in copied(source, table, chunk)]
    assert sorted(map(int, rows)) == list(range(200))


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("key", "cut"),
    [
        ("UNIQUE (a)", ChunkKind.PAGES),
        ("UNIQUE (b)", ChunkKind.KEY),
        ("UNIQUE (b) INCLUDE (a)", ChunkKind.KEY),
        ("CHECK (a > 0)", ChunkKind.PAGES),
    ],
)
def test_only_keys_without_nulls_are_chunked_by_key(
    database: Database, key: str, cut: ChunkKind
) -> None:
    database.execute(f"CREATE TABLE t (a int, b int NOT NULL, {key})")
    database.execute("INSERT INTO t VALUES (1, 1)")
    with held(database) as source:
        assert table_of(source).kind == cut


def rows_of_a_chunk(database: Database) -> int:
    with held(database) as source:
        (leaf,) = table_of(source).leaves
        return rows_per_chunk(source.rows(leaf), leaf.pages * PAGE_BYTES, 500_000, 2)


@pytest.mark.postgres
@pytest.mark.parametrize("statement", ["", "ANALYZE t", "ANALYZE t; INSERT INTO t SELECT * FROM t"])
def test_a_chunk_has_about_its_bytes_with_old_statistics_and_without(
    database: Database, statement: str
) -> None:
    database.execute(
        "CREATE TABLE t (n bigint, v text);"
        "INSERT INTO t SELECT i, repeat('x', 90) FROM generate_series(1, 40000) i"
    )
    for part in filter(None, statement.split("; ")):
        database.execute(part)
    assert 2500 < rows_of_a_chunk(database) < 4200


@pytest.mark.postgres
def test_statistics_from_before_a_load_do_not_make_tiny_chunks(database: Database) -> None:
    database.execute(
        "CREATE TABLE t (n bigint, v text); ALTER TABLE t SET (autovacuum_enabled=off)"
    )
    database.execute("INSERT INTO t SELECT i, repeat('x', 90) FROM generate_series(1, 100) i")
    database.execute("ANALYZE t")
    database.execute("INSERT INTO t SELECT i, repeat('x', 90) FROM generate_series(1, 60000) i")
    with held(database) as source:
        assert 40000 < table_of(source).leaves[0].rows < 80000
    assert 2500 < rows_of_a_chunk(database) < 4200
