"""Signals by every channel, blocking snapshots, and their notifications."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headrace
from headrace.connectors.registry import send_signal
from headrace.errors import HeadraceError
from tests.connectors.postgresql.harness import Reader
from tests.connectors.postgresql.incremental.tables import (  # noqa: F401 - fixtures ask for them
    TABLES,
    ask,
    folded,
    properties,
    reads,
    rows,
)
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres


def test_stopping_everything_delivers_no_further_chunk(tables: Database) -> None:
    reader = Reader(
        properties(
            tables,
            notification__enabled__channels="sink",
            notification__sink__topic__name="notifications",
        )
    )
    reader.step()
    ask(tables, data_collections=["public.t", "public.other"])
    ask(tables, "stop-snapshot")
    reader.drain()
    reader.stop()
    assert len(reads(reader)) <= 10
    kinds = [e["type"] for e in reader.events() if "aggregate_type" in e]
    assert kinds[-1] == "ABORTED"
    assert "tables" not in reader.offsets[-1]["signals"]


def test_slices_that_carry_their_bytes_hold_chunks_and_notifications(tables: Database) -> None:
    reader = Reader(
        properties(
            tables,
            notification__enabled__channels="sink,log",
            notification__sink__topic__name="notifications",
        ),
        inline=True,
    )
    reader.step()
    ask(tables, data_collections=["public.t"])
    reader.drain()
    reader.stop()
    assert folded(reader) == rows(tables)
    kinds = [e["type"] for e in reader.events() if "aggregate_type" in e]
    assert kinds == [
        "SKIPPED", "STARTED", "IN_PROGRESS", "IN_PROGRESS", "IN_PROGRESS",
        "TABLE_SCAN_COMPLETED", "COMPLETED",
    ]  # fmt: skip


def test_a_signal_file_is_applied_once_whenever_the_process_dies(
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
    signal_properties = properties(
        tables,
        signal__enabled__channels="source,file",
        signal__file=str(file),
        signal__poll__interval__ms="0",
    )
    reader = Reader(signal_properties)
    reader.step()
    reader.drain()
    with caplog.at_level("INFO", logger="headrace.signals"):
        headrace.signal(signal_properties, "log", {"message": "from the table at {}"})
        send_signal(reader.config, "log", '{"message": "from the file"}', channel="file")
        reader.drain()
    reader.stop()
    assert "from the table at 0/" in caplog.text
    assert "from the file" in caplog.text
    with pytest.raises(HeadraceError, match="data-collections is empty"):
        headrace.signal(signal_properties, "execute-snapshot", {})


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


def test_a_blocking_snapshot_continues_after_a_restart(tables: Database) -> None:
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


@pytest.mark.parametrize("change", ["TRUNCATE last", "VACUUM FULL last"])
def test_a_blocking_snapshot_reads_the_rest_after_a_table_without_key_was_rewritten(
    tables: Database, change: str
) -> None:
    names = ("first", "keyed", "last")
    for name in names:
        key = "PRIMARY KEY" if name == "keyed" else ""
        tables.execute(
            f"CREATE TABLE {name} (id int {key}, v text);"
            f"INSERT INTO {name} SELECT i, repeat('x', 100) FROM generate_series(1, 3000) i;"
            f"ANALYZE {name}"
        )
    reader = Reader(
        properties(
            tables,
            table__include__list="public.first,public.keyed,public.last",
            headrace__snapshot__chunk__bytes="20kB",
            headrace__slices="1",
        )
    )
    reader.step()
    reader.drain()
    ask(tables, data_collections=["public.(first|keyed|last)"], type="blocking")
    reader.step_until(lambda: len((reader.offsets[-1].get("snapshot") or {}).get("chunks", ())) > 0)
    assert reader.offsets[-1]["snapshot"]["table"] == 0
    tables.execute(change)
    reader.drain().stop()
    read = {name: set() for name in names}
    for event in reader.events():
        if event.get("op") == "r":
            read[event["source"]["table"]].add(event["after"]["id"])
    everything = set(range(1, 3001))
    assert (read["first"], read["keyed"]) == (everything, everything)
    assert read["last"] == (set() if change.startswith("TRUNCATE") else everything)


@pytest.mark.parametrize("inline", [False, True])
def test_the_initial_snapshot_is_notified(tables: Database, inline: bool) -> None:
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
            notification__sink__topic__name="notifications",
        ),
        inline=inline,
    )
    reader.drain()
    tables.execute("INSERT INTO t VALUES (50, 'after')")
    reader.restart()
    reader.drain()
    reader.stop()
    notifications = [e for e in reader.events() if e.get("aggregate_type") == "Initial Snapshot"]
    assert [e["type"] for e in notifications] == [
        "STARTED", "IN_PROGRESS", "TABLE_SCAN_COMPLETED", "IN_PROGRESS", "TABLE_SCAN_COMPLETED",
        "COMPLETED", "SKIPPED",
    ]  # fmt: skip
    scanned = {
        e["additional_data"]["scanned_collection"]: e["additional_data"]["total_rows_scanned"]
        for e in notifications
        if e["type"] == "TABLE_SCAN_COMPLETED"
    }
    assert scanned == {"public.other": "1", "public.t": "4931"}
    sequences = [record["sequence"] for record in reader.records]
    assert sorted(set(sequences)) == sequences
