"""Log records of rows while a window is open."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.connectors.postgresql.harness import Reader, wait_for
from tests.connectors.postgresql.incremental.tables import (  # noqa: F401 - fixtures ask for them
    TABLES,
    ask,
    folded,
    in_window,
    many,
    opened_windows,
    properties,
    reads,
    rows,
)
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres


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


def test_a_restart_continues_after_the_last_chunk_that_was_delivered(
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
    plain_records = []
    for record in records:
        value = json.loads(record["value"])
        for name in ("ts_ms", "ts_us", "ts_ns"):
            value.pop(name)
        plain_records.append((record["sequence"], record["key"], value))
    return plain_records


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
