from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.connectors.registry import send_signal
from headrace.errors import HeadraceError
from tests.connectors.postgresql.harness import Reader, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres


@pytest.fixture
def tables(database: Database) -> Database:
    return with_tables(database)


def with_tables(database: Database) -> Database:
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v text, big text);"
        "ALTER TABLE t ALTER big SET STORAGE EXTERNAL;"
        "CREATE TABLE other (a int, b text, v text, UNIQUE (a, b));"
        "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL,"
        " data varchar(2048));"
        "INSERT INTO t SELECT i, 'row ' || i, repeat('x', 3000) FROM generate_series(1, 30) i"
    )
    return database


def properties(database: Database, **more: str) -> dict[str, str]:
    return database.properties() | {
        "table.include.list": "public\\.(t|other)",
        "snapshot.mode": "no_data",
        "signal.data.collection": "public.signals",
        "incremental.snapshot.chunk.size": "10",
        **{name.replace("__", "."): value for name, value in more.items()},
    }


def ask(database: Database, kind: str = "execute-snapshot", **data: Any) -> None:
    text = json.dumps({name.replace("_", "-"): value for name, value in data.items()})
    database.execute(
        "INSERT INTO signals VALUES (gen_random_uuid()::text, '"
        + kind
        + "', '"
        + text.replace("'", "''")
        + "')"
    )


def in_window(database: Database, statement: str) -> None:
    """Have the server run `statement` in the transaction that opens the first window."""
    database.execute(
        "CREATE FUNCTION in_window() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF NOT EXISTS (SELECT FROM signals WHERE type = 'snapshot-window-close') THEN "
        + statement
        + "; END IF; RETURN NULL; END $$;"
        "CREATE TRIGGER in_window AFTER INSERT ON signals FOR EACH ROW"
        " WHEN (NEW.type = 'snapshot-window-open') EXECUTE FUNCTION in_window()"
    )


@pytest.fixture
def reader(tables: Database) -> Iterator[Reader]:
    found = Reader(properties(tables))
    found.step()  # the slot
    yield found
    found.stop()


def reads(reader: Reader, table: str = "t") -> list[dict]:
    found = [e for e in reader.events() if e.get("op") == "r" and e["source"]["table"] == table]
    assert all(e["source"]["snapshot"] == "incremental" for e in found)
    return found


def rows(database: Database, table: str = "t") -> dict[str, str]:
    return {
        json.dumps({"id": found[0]}): found[1]
        for found in database.execute(f"SELECT id, v FROM {table}")
    }


def folded(reader: Reader) -> dict[str, str]:
    return {key: row["v"] for key, row in reader.fold("t").items()}


def test_a_row_whose_key_changes_in_the_window_is_not_read_again(
    reader: Reader, tables: Database
) -> None:
    in_window(
        tables,
        "UPDATE t SET v = 'newer', big = '' WHERE id = 3; DELETE FROM t WHERE id = 4;"
        "UPDATE t SET id = 100 WHERE id = 5; INSERT INTO t VALUES (0, 'born')",
    )
    ask(tables, data_collections=["public.t"])
    reader.drain()
    ids = [event["after"]["id"] for event in reads(reader)]
    # 100 is read in its own, later window.
    assert sorted(ids) == [1, 2, *range(6, 31), 100]
    assert folded(reader) == rows(tables)
    sequences = [record["sequence"] for record in reader.records]
    assert len(set(sequences)) == len(sequences)


def test_a_row_whose_event_in_the_window_lacks_values_is_read_all_the_same(
    reader: Reader, tables: Database
) -> None:
    in_window(tables, "UPDATE t SET v = 'newer' WHERE id = 3")
    ask(tables, data_collections=["public.t"])
    reader.drain()
    assert [e["after"]["big"] for e in reader.events() if e.get("op") == "u"] == [
        "__debezium_unavailable_value"
    ]
    assert [e["after"]["id"] for e in reads(reader)] == list(range(1, 31))
    assert {row["big"] for row in reader.fold("t").values()} == {"x" * 3000}
    assert folded(reader) == rows(tables)


def test_a_truncate_in_the_window_drops_the_chunk_even_when_it_gives_no_event(
    reader: Reader, tables: Database
) -> None:
    # A truncate waits for the chunk's query, so it is made to come right before the window closes.
    tables.execute(
        "CREATE FUNCTION before_close() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " TRUNCATE t; RETURN NEW; END $$;"
        "CREATE TRIGGER before_close BEFORE INSERT ON signals FOR EACH ROW"
        " WHEN (NEW.type = 'snapshot-window-close') EXECUTE FUNCTION before_close()"
    )
    ask(tables, data_collections=["public.t"])
    reader.drain()
    assert reads(reader) == []
    assert rows(tables) == {}


def test_a_restart_goes_on_behind_the_last_chunk_that_was_delivered(
    reader: Reader, tables: Database
) -> None:
    ask(tables, data_collections=["public.t"])
    tables.execute("UPDATE t SET v = 'changed' WHERE id % 7 = 0")
    for _ in range(200):
        reader.step()
        signals = reader.offsets[-1].get("signals", {})
        reader.restart()
        tables.execute(f"UPDATE t SET v = v || '.' WHERE id = {len(reader.offsets) % 30}")
        if reads(reader) and not signals.get("tables"):
            break
    reader.drain()
    assert folded(reader) == rows(tables)
    assert sorted(e["after"]["id"] for e in reads(reader)) == list(range(1, 31))


def test_a_range_that_a_dead_process_planned_is_read_again_with_rows_as_new_or_newer(
    reader: Reader, tables: Database
) -> None:
    ask(tables, data_collections=["public.t"])
    while True:
        end = json.loads(json.dumps(reader.plan()))
        inserts = end.get("signals", {}).get("inserts", [])
        if inserts:
            break
        reader.read(end)
        reader.offsets.append(end)
    first = reader.read(end)
    # The same process plans the same rows.
    again = reader.read(end)
    assert without_clocks(again) == without_clocks(first)
    reader.restart()
    tables.execute(
        "UPDATE t SET v = 'newer' WHERE id = 2; DELETE FROM t WHERE id = 3;"
        "UPDATE t SET id = 200 WHERE id = 4"
    )
    reader.records += reader.read(end)
    reader.offsets.append(end)
    reader.drain()
    assert folded(reader) == rows(tables)


def without_clocks(records: list[dict]) -> list[tuple]:
    found = []
    for record in records:
        value = json.loads(record["value"])
        for name in ("ts_ms", "ts_us", "ts_ns"):
            value.pop(name)
        found.append((record["sequence"], record["key"], value))
    return found


@pytest.mark.parametrize("streamed_before", [True, False])
def test_a_change_that_is_in_the_log_but_not_visible_yet_is_not_undone_by_the_chunk(
    reader: Reader, tables: Database, streamed_before: bool
) -> None:
    """A transaction that waits for a standby is in the log, and no snapshot sees it."""
    tables.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    tables.execute("ALTER SYSTEM SET synchronous_commit = 'local'")
    tables.execute("SELECT pg_reload_conf()")
    if streamed_before:
        reader.drain()
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    try:
        wait_for(lambda: tables.execute("SHOW synchronous_standby_names")[0][0] == "nobody")
        ask(tables, data_collections=["public.t"])
        thread = threading.Thread(target=wait_for_standby, args=(tables,))
        thread.start()
        wait_for(lambda: tables.execute(waiting))

        # Signal and change are both in the log when the chunk is read.
        def changes() -> list[dict]:
            reader.step(0.5)
            return [e for e in reader.events() if e.get("op") == "u"]

        wait_for(changes)
        changed = changes()
        assert tables.execute("SELECT v FROM t WHERE id = 3")[0][0] == "row 3"
        assert [e["after"]["v"] for e in changed] == ["waits"]
    finally:
        tables.execute("ALTER SYSTEM RESET synchronous_standby_names")
        tables.execute("ALTER SYSTEM RESET synchronous_commit")
        tables.execute("SELECT pg_reload_conf()")
    thread.join(120)
    reader.drain()
    # Its row is dropped, and read when the change is visible, because the event lacks a value.
    assert len(reads(reader)) == 30
    assert {row["big"] for row in reader.fold("t").values()} == {"x" * 3000}
    assert folded(reader) == rows(tables)


def wait_for_standby(database: Database) -> None:
    with database.connect() as connection:
        connection.execute("SET synchronous_commit = on")
        connection.execute("UPDATE t SET v = 'waits' WHERE id = 3")
        connection.commit()


@pytest.mark.parametrize(
    "condition",
    ["id > 5; DROP TABLE t", "pg_sleep(600) IS NULL", "id IN (SELECT 1)", "nothing = 1", "v"],
)
def test_a_filter_that_is_not_a_condition_on_the_table_is_refused_and_the_stream_goes_on(
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


def many(database: Database) -> None:
    database.execute(
        "INSERT INTO t SELECT i, 'row ' || i, 'x' FROM generate_series(31, 1000) i;"
        "INSERT INTO other SELECT i / 7, 'b' || i, 'v' FROM generate_series(1, 55) i"
    )


def opened_windows(database: Database) -> int:
    found = database.execute("SELECT count(*) FROM signals WHERE type = 'snapshot-window-open'")
    return int(found[0][0])


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
    wanted = tables.execute("SELECT a, b FROM other ORDER BY a, b")
    assert [(e["after"]["a"], e["after"]["b"]) for e in reads(reader, "other")] == wanted
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
        given = properties(tables, database__user="limited", publication__name="dbz")
        reader = Reader(given | {"publication.autocreate.mode": "disabled"})
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
    assert "not read at the same time" in caplog.text
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


def test_chunks_that_share_a_window_undo_no_change_of_it(tables: Database) -> None:
    many(tables)
    reader = Reader(properties(tables, incremental__snapshot__chunk__size="100"))
    reader.step()
    reader.drain()
    tables.execute(
        "CREATE FUNCTION in_window() RETURNS trigger LANGUAGE plpgsql AS $$"
        " DECLARE n int := (SELECT count(*) FROM signals); BEGIN"
        " UPDATE t SET v = v || '!', big = '' WHERE id % 17 = n % 17;"
        " UPDATE t SET id = 2000 + id WHERE id < 1000 AND id % 113 = n % 113;"
        " UPDATE t SET id = -id WHERE id BETWEEN 1 AND 1000 AND id % 127 = n % 127;"
        " DELETE FROM t WHERE id % 101 = n % 101; RETURN NULL; END $$;"
        "CREATE TRIGGER in_window AFTER INSERT ON signals FOR EACH ROW"
        " WHEN (NEW.type LIKE 'snapshot-window-%') EXECUTE FUNCTION in_window()"
    )
    ask(tables, data_collections=["public.t"])
    reader.drain()
    reader.stop()
    assert opened_windows(tables) <= 8
    assert folded(reader) == rows(tables)


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


def test_progress_is_told_while_chunks_are_read(
    reader: Reader, tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    many(tables)
    tables.execute("ANALYZE t")
    reader.drain()
    assert reader.open().metrics()["incremental"] is None
    ask(tables, data_collections=["public.t"])
    ask(tables, "pause-snapshot")
    with caplog.at_level("INFO", "headrace.connectors.postgresql.incremental_metrics"):
        reader.drain()
        paused = reader.open().metrics()["incremental"]
        assert paused["State"] == "PAUSED"
        ask(tables, "resume-snapshot")
        reader.step()
        ask(tables, "pause-snapshot")
        reader.drain()
        found = reader.open().metrics()["incremental"]
        ask(tables, "resume-snapshot")
        reader.drain()
    assert (found["Table"], found["RemainingTableCount"]) == ("public.t", 1)
    assert (found["TableFrom"], found["TableTo"]) == (None, "1000")
    done = reader.open().metrics()["incremental"]
    assert (done["State"], done["RowsScanned"]) == ("COMPLETED", 1000)
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
    wanted = tables.execute("SELECT v FROM other ORDER BY a, b")
    found = [(e["after"]["a"], e["after"]["b"], e["after"]["v"]) for e in reads(reader, "other")]
    assert sorted(v for _, _, v in found) == sorted(v for (v,) in wanted)


def test_a_table_without_key_is_read_by_a_surrogate_key(reader: Reader, tables: Database) -> None:
    tables.execute(
        "ALTER TABLE other DROP CONSTRAINT other_a_b_key;"
        "INSERT INTO other SELECT i, 'b', 'v' FROM generate_series(1, 25) i"
    )
    ask(tables, data_collections=["public.other"], surrogate_key="a")
    reader.drain()
    assert [e["after"]["a"] for e in reads(reader, "other")] == list(range(1, 26))


def test_stopping_everything_delivers_no_further_chunk(tables: Database) -> None:
    reader = Reader(
        properties(
            tables,
            notification__enabled__channels="sink",
            notification__sink__topic__name="told",
        )
    )
    reader.step()
    ask(tables, data_collections=["public.t", "public.other"])
    ask(tables, "stop-snapshot")
    reader.drain()
    reader.stop()
    assert len(reads(reader)) <= 10
    told = [e["type"] for e in reader.events() if "aggregate_type" in e]
    assert told[-1] == "ABORTED"
    assert "tables" not in reader.offsets[-1]["signals"]


def test_slices_that_carry_their_bytes_hold_chunks_and_notifications(tables: Database) -> None:
    reader = Reader(
        properties(
            tables,
            notification__enabled__channels="sink,log",
            notification__sink__topic__name="told",
        ),
        inline=True,
    )
    reader.step()
    ask(tables, data_collections=["public.t"])
    reader.drain()
    reader.stop()
    assert folded(reader) == rows(tables)
    told = [e["type"] for e in reader.events() if "aggregate_type" in e]
    assert told == [
        "SKIPPED", "STARTED", "IN_PROGRESS", "IN_PROGRESS", "IN_PROGRESS",
        "TABLE_SCAN_COMPLETED", "COMPLETED",
    ]  # fmt: skip


def test_watermarks_that_cannot_be_written_end_the_snapshot_and_not_the_stream(
    reader: Reader, tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    ask(tables, data_collections=["public.t"])
    tables.execute("ALTER TABLE signals ADD CHECK (type <> 'snapshot-window-open') NOT VALID")
    tables.execute("INSERT INTO t VALUES (50, 'after')")
    reader.drain()
    assert "given up" in caplog.text
    assert "after" in [e["after"].get("v") for e in reader.events() if e.get("op") == "c"]


@pytest.mark.parametrize("table", ["public.signals", ""])
def test_without_watermarks_a_window_closes_where_the_log_was(
    tables: Database, table: str, tmp_path: Path
) -> None:
    file = tmp_path / "signals.jsonl"
    reader = Reader(
        properties(
            tables,
            signal__data__collection=table,
            read__only="true",
            signal__enabled__channels="source,file",
            signal__file=str(file),
            signal__poll__interval__ms="0",
        )
    )
    reader.step()
    reader.drain()
    send = {"id": "1", "type": "execute-snapshot", "data": {"data-collections": ["public.t"]}}
    file.write_text("not a signal\n" + json.dumps(send) + "\n")
    changed = 0
    for number in range(40):
        if not reader.step(0.3) and number > 3:
            break
        if number % 2:
            tables.execute(f"UPDATE t SET v = v || '.' WHERE id = {number % 30}")
            changed += 1
    reader.drain()
    reader.stop()
    assert folded(reader) == rows(tables)
    assert len(reads(reader)) + changed >= 30
    assert tables.execute("SELECT count(*) FROM signals")[0][0] == 0


def test_a_signal_file_is_heeded_once_whenever_the_process_dies(
    reader: Reader, tables: Database, tmp_path: Path
) -> None:
    file = tmp_path / "signals.jsonl"
    reader = Reader(
        properties(
            tables,
            signal__enabled__channels="file",
            signal__file=str(file),
            signal__poll__interval__ms="0",
        )
    )
    reader.step()
    reader.drain()
    send = {"type": "execute-snapshot", "data": {"data-collections": ["public.t"]}}
    file.write_text(json.dumps(send) + "\n")
    # Planned and lost: the file was moved aside, and no checkpoint knows of it.
    end = reader.plan()
    assert end != reader.offsets[-1]
    reader.restart()
    reader.drain()
    reader.restart()
    reader.drain()
    reader.stop()
    assert sorted(e["after"]["id"] for e in reads(reader)) == list(range(1, 31))
    assert list(tmp_path.iterdir()) == []


def test_a_signal_is_sent_by_the_signal_table_or_the_file(
    reader: Reader, tables: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "signals.jsonl"
    given = properties(
        tables,
        signal__enabled__channels="source,file",
        signal__file=str(file),
        signal__poll__interval__ms="0",
    )
    reader = Reader(given)
    reader.step()
    reader.drain()
    with caplog.at_level("INFO", logger="headrace.signals"):
        headrace.signal(given, "log", {"message": "from the table at {}"})
        send_signal(reader.config, "log", '{"message": "from the file"}', channel="file")
        reader.drain()
    reader.stop()
    assert "from the table at 0/" in caplog.text
    assert "from the file" in caplog.text
    with pytest.raises(HeadraceError, match="data-collections is empty"):
        headrace.signal(given, "execute-snapshot", {})


def test_a_signal_table_that_is_not_there_stops_the_start(tables: Database) -> None:
    reader = Reader(properties(tables, signal__data__collection="public.nothing"))
    with pytest.raises(HeadraceError, match="does not exist"):
        reader.step()
    tables.execute("ALTER TABLE signals ADD more int")
    reader = Reader(properties(tables))
    with pytest.raises(HeadraceError, match="instead of three"):
        reader.step()


def test_a_blocking_snapshot_reads_tables_in_parallel_while_the_stream_waits(
    reader: Reader, tables: Database
) -> None:
    tables.execute("INSERT INTO other SELECT i, 'b' || i, 'v' FROM generate_series(1, 5) i")
    ask(
        tables,
        data_collections=["public.(t|other)"],
        type="blocking",
        additional_conditions=[
            {"data-collection": "public.t", "filter": "SELECT * FROM public.t WHERE id <= 20"},
            {"data-collection": "public.other", "filter": "SELECT * FROM t; DROP TABLE t"},
        ],
    )
    tables.execute("UPDATE t SET v = 'later' WHERE id = 3")
    reader.drain()
    tables.execute("INSERT INTO t VALUES (50, 'after')")
    reader.drain()
    read = [e for e in reader.events() if e.get("op") == "r"]
    assert [e["after"]["id"] for e in read] == list(range(1, 21))
    markers = [e["source"]["snapshot"] for e in read]
    assert (markers[0], set(markers[1:-1]), markers[-1]) == ("first", {"true"}, "last")
    assert folded(reader) | rows(tables) == rows(tables)
    assert folded(reader)[json.dumps({"id": 50})] == "after"
    sequences = [record["sequence"] for record in reader.records]
    assert len(set(sequences)) == len(sequences)
    assert sorted(sequences) == sequences


def test_a_blocking_snapshot_goes_on_after_a_restart(tables: Database) -> None:
    tables.execute("INSERT INTO t SELECT i, 'many' FROM generate_series(100, 5000) i; ANALYZE t")
    reader = Reader(properties(tables, headrace__snapshot__chunk__bytes="20kB"))
    reader.step()
    reader.drain()
    ask(tables, data_collections=["public.t"], type="BLOCKING")
    restarts = 0
    while restarts == 0 or "snapshot" in reader.offsets[-1]:
        reader.step()
        if "snapshot" in reader.offsets[-1]:
            reader.restart()
            restarts += 1
            tables.execute(f"UPDATE t SET v = v || '.' WHERE id = {100 + len(reader.offsets)}")
    reader.drain()
    assert restarts > 2
    reader.stop()
    assert folded(reader) == rows(tables)


@pytest.mark.parametrize("inline", [False, True])
def test_the_initial_snapshot_is_told_of(tables: Database, inline: bool) -> None:
    tables.execute(
        "INSERT INTO t SELECT i, 'many' FROM generate_series(100, 5000) i;"
        "INSERT INTO other VALUES (1, 'b', 'v'); ANALYZE t"
    )
    reader = Reader(
        properties(
            tables,
            snapshot__mode="initial",
            headrace__snapshot__chunk__bytes="20kB",
            notification__enabled__channels="sink",
            notification__sink__topic__name="told",
        ),
        inline=inline,
    )
    reader.drain()
    tables.execute("INSERT INTO t VALUES (50, 'after')")
    reader.restart()
    reader.drain()
    reader.stop()
    told = [e for e in reader.events() if e.get("aggregate_type") == "Initial Snapshot"]
    assert [e["type"] for e in told] == [
        "STARTED", "IN_PROGRESS", "TABLE_SCAN_COMPLETED", "IN_PROGRESS", "TABLE_SCAN_COMPLETED",
        "COMPLETED", "SKIPPED",
    ]  # fmt: skip
    scanned = {
        e["additional_data"]["scanned_collection"]: e["additional_data"]["total_rows_scanned"]
        for e in told
        if e["type"] == "TABLE_SCAN_COMPLETED"
    }
    assert scanned == {"public.other": "1", "public.t": "4931"}
    sequences = [record["sequence"] for record in reader.records]
    assert sorted(set(sequences)) == sequences
