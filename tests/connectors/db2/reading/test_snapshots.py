"""Snapshots of a database on the driver's wire."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.relational.history.records import HistoryRecord
from headrace.snapshots import chunks
from tests.connectors.harness import ConnectorReader
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2
ROWS = 2500


def prepare(database: Db2Database) -> None:
    """Tables with a key of two columns, without a key, and without rows."""
    database.create_table(
        "KEYED", "A INTEGER NOT NULL, B VARCHAR(20) NOT NULL, N DECIMAL(9,2), PRIMARY KEY (A, B)"
    )
    database.create_table("KEYLESS", "T VARCHAR(20)")
    database.create_table("LEER", "ID INTEGER NOT NULL PRIMARY KEY")
    with database.transaction() as execute:
        for start in range(0, ROWS, 500):
            rows = ", ".join(f"({n // 3}, 'b{n % 3}', {n}.5)" for n in range(start, start + 500))
            execute(f"INSERT INTO INV.KEYED VALUES {rows}", ())
        execute("INSERT INTO INV.KEYLESS VALUES ('one'), ('two')", ())
    database.capture.await_captured()


@pytest.fixture
def database(db2_prepared: Callable[[Callable[[Db2Database], None]], Db2Database]) -> Db2Database:
    return db2_prepared(prepare)


def reader(database: Db2Database, **more: str) -> ConnectorReader:
    small = {
        "headrace.snapshot.chunk.bytes": "8192",
        "poll.interval.ms": "20",
        "errors.max.retries": "0",
    }
    return ConnectorReader(database.properties() | small | named(more))


def named(more: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): text for name, text in more.items()}


def snapshot(run: ConnectorReader) -> list[dict[str, Any]]:
    """Micro-batches until the snapshot is over; its rows."""
    run.step_until(lambda: "epoch" in run.offsets[-1] and "snapshot" not in run.offsets[-1])
    return [event for event in run.events() if event.get("op") == "r"]


def keyed(rows: list[dict[str, Any]]) -> list[tuple[int, str]]:
    after = (row["after"] for row in rows if row["source"]["table"] == "KEYED")
    return [(row["A"], row["B"]) for row in after]


EVERY = [(n // 3, f"b{n % 3}") for n in range(ROWS)]


def test_every_row_is_read_once_by_ranges_of_its_key(database: Db2Database) -> None:
    run = reader(database, headrace_snapshot_threads="2")
    rows = snapshot(run)
    run.stop()
    assert sorted(keyed(rows)) == EVERY
    assert len(rows) == ROWS + 2
    assert {row["source"]["commit_lsn"] for row in rows} == {rows[0]["source"]["commit_lsn"]}
    assert {row["source"]["change_lsn"] for row in rows} == {None}
    markers = [row["source"]["snapshot"] for row in rows]
    assert (markers.count("first"), markers.count("last")) == (1, 1)
    stored_chunks = [c for o in run.offsets for c in (o.get("snapshot") or {}).get("chunks", ())]
    assert len(stored_chunks) > 3


def test_the_tables_are_emitted_before_their_rows_and_recorded(
    database: Db2Database, tmp_path: Path
) -> None:
    file = tmp_path / "history.jsonl"
    run = reader(database, schema_history_internal_file_filename=str(file))
    snapshot(run)
    run.stop()
    schema_changes = [e for e in run.events() if "tableChanges" in e]
    assert [e["source"]["table"] for e in schema_changes] == ["KEYED", "KEYLESS", "LEER"]
    first_row = next(e for e in run.events() if e.get("op") == "r")
    assert all(event["sequence"] < first_row["sequence"] for event in schema_changes)
    assert {event["databaseName"] for event in schema_changes} == {database.name}
    records = [HistoryRecord.from_line(line) for line in file.read_text().splitlines()]
    assert [record.changes[0].table.id for record in records if record and record.changes] == [
        ("INV", "KEYED"), ("INV", "KEYLESS"), ("INV", "LEER"),
    ]  # fmt: skip


def test_the_tables_are_emitted_again_as_they_were_when_the_range_is_read_again(
    db2_database: Db2Database, tmp_path: Path
) -> None:
    db2_database.create_table("A", "ID INTEGER NOT NULL PRIMARY KEY")
    run = reader(
        db2_database,
        snapshot_mode="no_data",
        schema_history_internal_file_filename=str(tmp_path / "history.jsonl"),
    )

    def tables_of(records: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
        values = [json.loads(record["value"]) for record in records]
        return [
            (change["id"], [column["name"] for column in change["table"]["columns"]])
            for value in values
            for change in value["tableChanges"]
        ]

    run.step_until(lambda: "snapshot" in run.offsets[-1])
    end = run.plan(30)
    first = tables_of(run.read(end))
    run.restart()
    db2_database.create_table("B", "ID INTEGER NOT NULL PRIMARY KEY")
    db2_database.execute("ALTER TABLE INV.A ADD COLUMN MORE INTEGER")
    again = tables_of(run.read(end))
    run.stop()
    assert again == first == [('"INV"."A"', ["ID"])]


def test_a_schema_may_have_a_dot_in_its_name(db2_database: Db2Database) -> None:
    db2_database.execute('CREATE SCHEMA "S.D"')
    db2_database.execute('CREATE TABLE "S.D".T (ID INTEGER NOT NULL PRIMARY KEY)')
    db2_database.capture.add_table("S.D", "T")
    db2_database.execute('INSERT INTO "S.D".T VALUES (1)')
    db2_database.capture.await_captured()
    run = reader(db2_database, table_include_list=r"S\.D\.T")
    assert [row["after"]["ID"] for row in snapshot(run)] == [1]
    db2_database.execute('INSERT INTO "S.D".T VALUES (2)')
    run.step_until(lambda: [e["after"]["ID"] for e in run.events() if e.get("op") == "c"] == [2])
    run.stop()


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed", "exclusive"])
def test_rows_are_read_in_every_isolation(database: Db2Database, isolation: str) -> None:
    more = {"snapshot_isolation_mode": isolation, "table_include_list": r"INV\.KEYLESS"}
    run = reader(database, **more)
    assert [row["after"]["T"] for row in snapshot(run)] == ["one", "two"]
    run.stop()


def test_no_data_emits_tables_and_reads_no_rows_and_initial_only_no_changes(
    database: Db2Database,
) -> None:
    run = reader(database, snapshot_mode="no_data")
    assert snapshot(run) == []
    assert len([e for e in run.events() if "tableChanges" in e]) == 3
    database.execute("INSERT INTO INV.KEYLESS VALUES ('three')")
    run.step_until(lambda: any(e.get("op") == "c" for e in run.events()))
    run.stop()
    only = reader(database, snapshot_mode="initial_only", include_schema_changes="false")
    assert len(snapshot(only)) == ROWS + 3
    database.execute("INSERT INTO INV.KEYLESS VALUES ('four')")
    assert not any(only.step() for _ in range(5))
    only.stop()


def test_a_snapshot_continues_after_any_kill(database: Db2Database) -> None:
    run = reader(database, table_include_list=r"INV\.KEYED")
    while len(run.offsets) < 3 or "snapshot" in run.offsets[-1]:
        run.step()
        run.restart()
    run.stop()
    rows = [event for event in run.events() if event.get("op") == "r"]
    assert sorted(keyed(rows)) == EVERY


def test_a_table_without_key_begins_the_snapshot_again(database: Db2Database) -> None:
    run = reader(database, include_schema_changes="false")
    run.step_until(lambda: run.offsets[-1].get("snapshot", {}).get("chunks"))
    first = run.offsets[-1]["epoch"]
    run.restart()
    rows = snapshot(run)
    run.stop()
    assert run.offsets[-1]["epoch"] == first + 1
    last = [row for row in rows if row["sequence"][:4] == f"{first + 1:04x}"]
    assert sorted(keyed(last)) == EVERY


def test_a_tables_own_statement_gives_its_rows_and_what_it_lacks_is_null(
    database: Db2Database,
) -> None:
    prefix = "snapshot.select.statement.overrides"
    run = ConnectorReader(
        database.properties()
        | {
            prefix: "INV.KEYED",
            f"{prefix}.INV.KEYED": "SELECT B, A FROM INV.KEYED WHERE A < 2",
            "snapshot.include.collection.list": r"INV\.KEYED",
        }
    )
    rows = snapshot(run)
    run.stop()
    assert sorted(keyed(rows)) == EVERY[:6]
    assert {row["after"]["N"] for row in rows} == {None}


def test_what_changes_while_rows_are_read_comes_after_them(database: Db2Database) -> None:
    run = reader(database, table_include_list=r"INV\.KEYED")
    run.step_until(lambda: run.offsets[-1].get("snapshot", {}).get("chunks"))
    with database.transaction() as execute:
        execute("DELETE FROM INV.KEYED WHERE A = 833", ())
        execute("UPDATE INV.KEYED SET N = 7 WHERE A = 0", ())
        execute("INSERT INTO INV.KEYED VALUES (900, 'new', 1)", ())
    run.step_until(lambda: any(key(e) == (900, "new") and e["op"] == "c" for e in changes(run)))
    run.stop()
    state: dict[tuple[int, str], str | None] = {}
    for event in changes(run):
        after = event["after"]
        if after is None:
            state.pop(key(event), None)
        else:
            state[key(event)] = after["N"]
    now = database.execute("SELECT A, B FROM INV.KEYED ORDER BY A, B")
    assert sorted(state) == [tuple(row) for row in now]
    assert len({state[0, f"b{n}"] for n in range(3)}) == 1


def changes(run: ConnectorReader) -> list[dict[str, Any]]:
    return [event for event in run.events() if event.get("op")]


def key(event: dict[str, Any]) -> tuple[int, str]:
    return event["key"]["A"], event["key"]["B"]


def test_wide_characters_in_keys_are_bounds_too(
    db2_database: Db2Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_MIN_ROWS", 100)
    db2_database.create_table("TEXTS", "T VARCHAR(20) NOT NULL PRIMARY KEY")
    keys = [f"𝄞{n:05}" for n in range(210)]
    with db2_database.transaction() as execute:
        for text in keys:
            execute("INSERT INTO INV.TEXTS VALUES (?)", (text,))
    db2_database.capture.await_captured()
    run = reader(db2_database, headrace_snapshot_chunk_bytes="1024")
    rows = snapshot(run)
    run.stop()
    assert sorted(row["after"]["T"] for row in rows) == keys
    bounds = json.dumps(run.offsets)
    assert "ud834" in bounds


def test_booleans_of_several_rows_are_those_of_their_rows(db2_database: Db2Database) -> None:
    db2_database.create_table("FLAGS", "ID INTEGER NOT NULL PRIMARY KEY, B BOOLEAN", captured=False)
    for number, truth in enumerate(("TRUE", "FALSE", "NULL", "TRUE", "TRUE", "FALSE")):
        db2_database.execute(f"INSERT INTO INV.FLAGS VALUES ({number}, {truth})")
    run = reader(db2_database, snapshot_mode="initial_only")
    run.step_until(lambda: len([event for event in run.events() if event.get("op") == "r"]) == 6)
    rows = [event["after"] for event in run.events() if event.get("op") == "r"]
    run.stop()
    assert [row["B"] for row in rows] == [True, False, None, True, True, False]
