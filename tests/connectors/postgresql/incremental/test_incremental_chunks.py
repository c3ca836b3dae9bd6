"""The rows of an incremental snapshot's chunks, and their order."""

from __future__ import annotations

import pytest

from tests.connectors.postgresql.harness import Reader
from tests.connectors.postgresql.incremental.tables import (  # noqa: F401 - fixtures ask for them
    TABLES,
    ask,
    many,
    opened_windows,
    properties,
    reads,
)
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize(
    "condition",
    ["id > 5; DROP TABLE t", "pg_sleep(600) IS NULL", "id IN (SELECT 1)", "nothing = 1", "v"],
)
def test_a_filter_that_is_not_a_condition_on_the_table_is_refused_and_the_stream_continues(
    reader: Reader, tables: Database, condition: str, caplog: pytest.LogCaptureFixture
) -> None:
    ask(
        tables,
        data_collections=["public.t"],
        additional_conditions=[{"data-collection": "public.t", "filter": condition}],
    )
    tables.execute("INSERT INTO t VALUES (50, 'after')")
    reader.drain()
    assert "public.t is not read" in caplog.text
    assert reads(reader) == []
    assert "after" in [e["after"].get("v") for e in reader.events() if e.get("op") == "c"]


def test_windows_hold_several_chunks_of_several_tables_in_the_order_of_their_keys(
    reader: Reader, tables: Database
) -> None:
    many(tables)
    reader.drain()
    ask(tables, data_collections=["public.other", "public.t"])
    reader.drain()
    read = [e for e in reader.events() if e.get("op") == "r"]
    assert [e["source"]["table"] for e in read] == ["other"] * 55 + ["t"] * 1000
    assert [e["after"]["id"] for e in reads(reader)] == list(range(1, 1001))
    source_keys = tables.execute("SELECT a, b FROM other ORDER BY a, b")
    assert [(e["after"]["a"], e["after"]["b"]) for e in reads(reader, "other")] == source_keys
    # 106 chunks of ten rows: one, two, then four at a time.
    assert opened_windows(tables) == 28


def test_chunks_are_read_one_after_the_other_when_the_server_has_no_more_connections(
    tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    many(tables)
    tables.execute(
        "CREATE ROLE limited LOGIN REPLICATION PASSWORD 'x';"
        "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO limited;"
        "CREATE PUBLICATION dbz FOR TABLE t, other, signals"
    )
    try:
        limited_properties = properties(tables, database__user="limited", publication__name="dbz")
        reader = Reader(limited_properties | {"publication.autocreate.mode": "disabled"})
        reader.step()
        reader.drain()
        ask(tables, data_collections=["public.t"])
        ask(tables, "pause-snapshot")
        reader.drain()
        used = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'limited'"
        tables.execute(f"ALTER ROLE limited CONNECTION LIMIT {tables.execute(used)[0][0]}")
        ask(tables, "resume-snapshot")
        reader.drain()
        reader.stop()
    finally:
        tables.execute("DROP OWNED BY limited; DROP ROLE limited")
    assert "not read in parallel" in caplog.text
    assert [e["after"]["id"] for e in reads(reader)] == list(range(1, 1001))


def test_heartbeats_do_not_make_chunks_be_read_again(tables: Database) -> None:
    many(tables)
    reader = Reader(properties(tables, heartbeat__interval__ms="1"))
    reader.step()
    ask(tables, data_collections=["public.t"])
    for _ in range(200):
        reader.step(0.05)
        if len(reads(reader)) >= 1000:
            break
    reader.stop()
    assert [e["after"]["id"] for e in reads(reader)] == list(range(1, 1001))
    assert opened_windows(tables) == 27


def test_a_chunk_that_fails_ends_its_table_and_not_its_neighbours(
    tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    many(tables)
    # Rows are read along the index, so that only the chunk with row 65 fails.
    tables.execute(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET enable_sort = off',"
        " current_database()); END $$"
    )
    reader = Reader(properties(tables))
    reader.step()
    reader.drain()
    ask(
        tables,
        data_collections=["public.t", "public.other"],
        additional_conditions=[{"data-collection": "public.t", "filter": "100 / (id - 65) <> 900"}],
    )
    reader.drain()
    reader.stop()
    assert "division by zero" in caplog.text
    assert [e["after"]["id"] for e in reads(reader)] == list(range(1, 61))
    assert len(reads(reader, "other")) == 55


def test_progress_is_notified_while_chunks_are_read(
    reader: Reader, tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    many(tables)
    tables.execute("ANALYZE t")
    reader.drain()
    assert reader.open().metrics()["incremental"] is None
    ask(tables, data_collections=["public.t"])
    ask(tables, "pause-snapshot")
    with caplog.at_level("INFO", "headrace.snapshots.incremental.metrics"):
        reader.drain()
        paused = reader.open().metrics()["incremental"]
        assert paused["State"] == "PAUSED"
        ask(tables, "resume-snapshot")
        reader.step()
        ask(tables, "pause-snapshot")
        reader.drain()
        running_metrics = reader.open().metrics()["incremental"]
        ask(tables, "resume-snapshot")
        reader.drain()
    assert (running_metrics["Table"], running_metrics["RemainingTableCount"]) == ("public.t", 1)
    assert (running_metrics["TableFrom"], running_metrics["TableTo"]) == (None, "1000")
    completed_metrics = reader.open().metrics()["incremental"]
    assert (completed_metrics["State"], completed_metrics["RowsScanned"]) == ("COMPLETED", 1000)
    assert "completed after 1000 rows" in caplog.text


def test_a_condition_limits_the_rows(reader: Reader, tables: Database) -> None:
    ask(
        tables,
        data_collections=["public.t"],
        additional_conditions=[{"data-collection": "PUBLIC.T", "filter": "id < 3 OR v LIKE '% 7'"}],
    )
    reader.drain()
    assert [e["after"]["id"] for e in reads(reader)] == [1, 2, 7]


def test_keys_with_nulls_are_all_read_in_order(reader: Reader, tables: Database) -> None:
    tables.execute(
        "INSERT INTO other SELECT CASE WHEN i % 4 > 0 THEN i % 4 END,"
        " CASE WHEN i % 5 > 0 THEN 'b' || i END, 'v' || i FROM generate_series(1, 40) i"
    )
    reader.drain()
    ask(tables, data_collections=["public.other"])
    reader.drain()
    expected_values = tables.execute("SELECT v FROM other ORDER BY a, b")
    read_rows = [
        (e["after"]["a"], e["after"]["b"], e["after"]["v"]) for e in reads(reader, "other")
    ]
    assert sorted(v for _, _, v in read_rows) == sorted(v for (v,) in expected_values)


def test_a_table_without_key_is_read_by_a_surrogate_key(reader: Reader, tables: Database) -> None:
    tables.execute(
        "ALTER TABLE other DROP CONSTRAINT other_a_b_key;"
        "INSERT INTO other SELECT i, 'b', 'v' FROM generate_series(1, 25) i"
    )
    ask(tables, data_collections=["public.other"], surrogate_key="a")
    reader.drain()
    assert [e["after"]["a"] for e in reads(reader, "other")] == list(range(1, 26))
