"""A stop in the middle of a transaction, and what becomes of its tables before the next start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.connectors.db2.lsn import parse_lsn, place_of
from headrace.errors import HeadraceError
from headrace_demo.db2.control_tables import quoted
from tests.connectors.db2.test_streaming import TABLE, Reader
from tests.servers.db2 import SCHEMA, Db2Database

pytestmark = pytest.mark.db2

TABLES = "ABC"
ROUNDS = 4
STEP = 5
"""Rows of a range: every stop is inside of a round of three."""


def tables(names: str) -> dict[str, str]:
    return {"table.include.list": ",".join(rf"{SCHEMA}\.{name}" for name in names)}


def reader_of(database: Db2Database, **more: str) -> Reader:
    changed = {"snapshot_mode": "no_data", "errors_max_retries": "0", "poll_interval_ms": "20",
               "headrace_range_max_rows": str(STEP), "include_schema_changes": "false",
               "tombstones_on_delete": "false"}  # fmt: skip
    properties = database.properties(**(changed | more)) | tables(TABLES)
    reader = Reader(properties)
    return reader.step_until(lambda: len(reader.offsets) > 1)


def commit(database: Db2Database) -> list[tuple[str, str, int]]:
    """One transaction with creates, updates and deletes of three tables in turn: table, operation
    and key of each change."""
    changes = []
    with database.transaction() as execute:
        for number in range(ROUNDS):
            for name in TABLES:
                execute(f"INSERT INTO {SCHEMA}.{name} (ID, NAME) VALUES ({number}, 'new')", ())
                changes.append((name, "c", number))
            for name in TABLES:
                execute(f"UPDATE {SCHEMA}.{name} SET NAME = 'changed' WHERE ID = {number}", ())
                changes.append((name, "u", number))
        for name in TABLES:
            execute(f"DELETE FROM {SCHEMA}.{name} WHERE ID = 0", ())
            changes.append((name, "d", 0))
    return changes


def come(reader: Reader) -> list[tuple[str, str, int]]:
    """The changes that were delivered, in total order."""
    return [
        (value["source"]["table"], value["op"], (value["after"] or value["before"])["ID"])
        for value in reader.values()
    ]


def in_the_middle(reader: Reader) -> dict[str, Any]:
    """Micro-batches up to an offset inside of a transaction, where the reader stops."""
    reader.step_until(lambda: "change_lsn" in reader.offsets[-1])
    reader.stop()
    return reader.offsets[-1]


def until_the_end(reader: Reader) -> None:
    """Micro-batches until the transaction is delivered."""
    place = reader.offsets[-1]["transaction_lsn"]
    reader.step_until(lambda: (reader.offsets[-1]["commit_lsn"] or "") >= place)
    reader.stop()


def prepare(database: Db2Database) -> None:
    for name in TABLES:
        database.create_table(name, TABLE)


@pytest.fixture
def database(db2_prepared: Callable[[Callable[[Db2Database], None]], Db2Database]) -> Db2Database:
    return db2_prepared(prepare)


@pytest.mark.parametrize("later", ["ABC", "A", "BC", "C", "AC"])
def test_tables_that_are_left_out_meanwhile_do_not_move_the_place(
    database: Db2Database, later: str
) -> None:
    reader = reader_of(database)
    changes = commit(database)
    offset = in_the_middle(reader)
    before = come(reader)
    assert before == changes[: len(before)]
    assert 0 < len(before) < len(changes)
    assert place_of(parse_lsn(offset["change_lsn"])) < place_of(
        parse_lsn(offset["transaction_lsn"])
    )
    reader.configure({**reader.properties, **tables(later)})
    until_the_end(reader)
    rest = [change for change in changes[len(before) :] if change[0] in later]
    assert come(reader) == before + rest


@pytest.mark.parametrize("earlier", ["A", "C", "BC"])
def test_tables_that_are_added_meanwhile_come_from_the_place_on(
    database: Db2Database, earlier: str
) -> None:
    reader = reader_of(database)
    reader.configure({**reader.properties, **tables(earlier)})
    changes = commit(database)
    offset = in_the_middle(reader)
    before = come(reader)
    last = place_of(parse_lsn(offset["change_lsn"]))
    reader.configure({**reader.properties, **tables(TABLES)})
    until_the_end(reader)
    following = changes.index(before[-1]) + 1
    assert last > 0
    assert come(reader) == before + changes[following:]


@pytest.mark.parametrize("later", ["A", "BC", "ABC"])
def test_a_range_that_was_planned_before_is_read_up_to_its_end(
    database: Db2Database, later: str
) -> None:
    """Spark was stopped in a micro-batch: its end is in the log of offsets."""
    reader = reader_of(database)
    changes = commit(database)
    in_the_middle(reader)
    before = come(reader)
    planned = reader.plan(30)
    assert "change_lsn" in planned
    up_to = len(before) + STEP
    reader.configure({**reader.properties, **tables(later)})
    reader.records += reader.read(planned)
    reader.offsets.append(planned)
    later_changes = [change for change in changes[len(before) : up_to] if change[0] in later]
    assert come(reader) == before + later_changes
    reader.stop()
    until_the_end(reader)
    rest = [change for change in changes[up_to:] if change[0] in later]
    assert come(reader) == before + later_changes + rest


def drop(database: Db2Database) -> None:
    database.capture.remove_table(SCHEMA, "A")


def drop_source(database: Db2Database) -> None:
    database.capture.remove_table(SCHEMA, "A")
    database.execute(f"DROP TABLE {SCHEMA}.A")


@pytest.mark.parametrize("remove", [drop, drop_source])
def test_a_table_that_is_removed_meanwhile_takes_nothing_of_the_others_along(
    database: Db2Database, remove: Callable[[Db2Database], None]
) -> None:
    reader = reader_of(database)
    changes = commit(database)
    in_the_middle(reader)
    before = come(reader)
    remove(database)
    until_the_end(reader)
    assert come(reader) == before + [
        change for change in changes[len(before) :] if change[0] != "A"
    ]


def schema_changes(reader: Reader) -> list[tuple[str, list[str]]]:
    """Kind and columns of each schema change, in total order."""
    return [
        (change["type"], [column["name"] for column in change["table"]["columns"]])
        for value in reader.events()
        for change in value.get("tableChanges") or ()
    ]


def test_a_table_that_is_altered_meanwhile_is_reported_once_and_loses_nothing(
    database: Db2Database, tmp_path: object
) -> None:
    history = {"include_schema_changes": "true",
               "schema_history_internal": "io.debezium.storage.file.history.FileSchemaHistory",
               "schema_history_internal_file_filename": f"{tmp_path}/history"}  # fmt: skip
    reader = reader_of(database, **history)
    reader.step_until(lambda: len(schema_changes(reader)) == len(TABLES))
    committed_changes = commit(database)
    in_the_middle(reader)
    before = come(reader)
    changes = quoted("ASNCDC", f"CDC_{SCHEMA}_C")
    for table in (f"{SCHEMA}.C", changes):
        database.execute(f"ALTER TABLE {table} ADD COLUMN MORE INTEGER")
    reader.step_until(lambda: len(schema_changes(reader)) > len(TABLES))
    reader.stop()
    until_the_end(reader)
    assert come(reader) == committed_changes
    assert schema_changes(reader)[len(TABLES) :] == [("ALTER", ["ID", "NAME", "MORE"])]
    rest = [value for value in reader.values()[len(before) :] if value["source"]["table"] == "C"]
    assert all("MORE" in (value["after"] or value["before"]) for value in rest)


def test_a_schema_change_is_no_change_of_its_transaction(
    database: Db2Database, tmp_path: object
) -> None:
    history = {"include_schema_changes": "true",
               "schema_history_internal": "io.debezium.storage.file.history.FileSchemaHistory",
               "schema_history_internal_file_filename": f"{tmp_path}/history"}  # fmt: skip
    reader = reader_of(database, **history)
    reader.step_until(lambda: len(schema_changes(reader)) == len(TABLES))
    changes = quoted("ASNCDC", f"CDC_{SCHEMA}_B")
    for table in (f"{SCHEMA}.B", changes):
        database.execute(f"ALTER TABLE {table} ADD COLUMN MORE INTEGER")
    with database.transaction() as execute:
        execute(f"INSERT INTO {SCHEMA}.A VALUES (1, 'one')", ())
        execute(f"INSERT INTO {SCHEMA}.B VALUES (1, 'one', 1)", ())
    reader.await_changes(2)
    reader.stop()
    last = reader.events()[-3:]
    assert ["tableChanges" in value for value in last] == [False, True, False]
    assert [int(value["sequence"][-20:-8], 16) for value in last] == [1, 2, 2]
    assert len({value["sequence"] for value in last}) == 3


def test_a_lost_history_is_an_error_that_recovery_repairs(
    database: Db2Database, tmp_path: Path
) -> None:
    file = tmp_path / "history"
    reader = reader_of(database, schema_history_internal_file_filename=str(file))
    database.execute(f"INSERT INTO {SCHEMA}.A VALUES (1, 'one')")
    reader.await_changes(1)
    reader.stop()
    lines = file.read_text().splitlines()
    file.unlink()
    with pytest.raises(HeadraceError) as caught:
        reader.step_until(lambda: False)
    assert caught.value.code == "db2.history_lost"
    assert "snapshot.mode=recovery" in caught.value.remedy
    reader.configure({**reader.properties, "snapshot.mode": "recovery"})
    database.execute(f"INSERT INTO {SCHEMA}.A VALUES (2, 'two')")
    assert [value["after"]["ID"] for value in reader.await_changes(2)] == [1, 2]
    reader.stop()
    history_lines = file.read_text().splitlines()
    assert len(history_lines) == len(lines) == len(TABLES)
    reader.restart()
    database.execute(f"INSERT INTO {SCHEMA}.A VALUES (3, 'three')")
    reader.await_changes(3)
    reader.stop()
    assert file.read_text().splitlines() == history_lines
