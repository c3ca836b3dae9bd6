"""Tables whose key, or which themselves, become others while an incremental snapshot reads them:
rows may come twice, and none is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chaos.matrices import in_turn
from tests.connectors.postgresql.harness import Reader
from tests.connectors.postgresql.incremental.tables import ask
from tests.connectors.postgresql.incremental.tables import properties as properties_of
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

ROWS = 60
# In the order of `b`, `c` and `name` rows have other places than in that of `a`.
TABLES = f"""
CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL, c int NOT NULL, name text COLLATE "C" NOT NULL,
  v text);
CREATE TABLE other (a int PRIMARY KEY, v text);
CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048));
INSERT INTO t SELECT i, 1000 - i, i * 37 % 101,
  CASE WHEN i % 2 = 0 THEN chr(65 + i % 26) ELSE chr(97 + i % 26) END || i, 'row ' || i
  FROM generate_series(1, {ROWS}) i;
INSERT INTO other SELECT i, 'other ' || i FROM generate_series(1, 15) i;
"""
SWAP = (
    "CREATE TABLE new (LIKE t INCLUDING ALL);"
    "INSERT INTO new SELECT -a, b, c, name, 'swapped' FROM t;"
    "ALTER TABLE t RENAME TO old; ALTER TABLE new RENAME TO t"
)
MADE_AGAIN = (
    "CREATE TABLE kept AS TABLE t; DROP TABLE t;"
    "CREATE TABLE t (b int PRIMARY KEY, a int NOT NULL, v text);"
    "INSERT INTO t SELECT b, a, v FROM kept"
)
KEYS = {
    "other columns": "ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (b)",
    "more columns": "ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (c, a)",
    "another type": "ALTER TABLE t ALTER a TYPE text",
    "swapped names": "ALTER TABLE t RENAME a TO x; ALTER TABLE t RENAME b TO a;"
    "ALTER TABLE t RENAME x TO b; ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (a)",
    "another table": SWAP,
    "made again": MADE_AGAIN,
    "emptied and filled again": "CREATE TABLE kept AS TABLE t; TRUNCATE t;"
    "INSERT INTO t SELECT a - 30, b, c, name, v FROM kept",
    "rewritten": "VACUUM FULL t",
}


def properties(database: Database, **more: str) -> dict[str, str]:
    return properties_of(database, skipped__operations="none", **more)


def read_a_chunk(reader: Reader, database: Database, *tables: str, **more: Any) -> None:
    """One chunk is delivered, and no other one is read."""
    ask(database, data_collections=list(tables or ["public.t"]), **more)
    ask(database, "pause-snapshot")
    reader.drain()
    assert len(read(reader)) == 10
    assert "paused" in reader.offsets[-1]["signals"]


def go_on(reader: Reader, database: Database) -> None:
    ask(database, "resume-snapshot")
    reader.drain()


def read(reader: Reader, table: str = "t") -> list[dict[str, Any]]:
    events = reader.events()
    return [e for e in events if e.get("op") == "r" and e["source"]["table"] == table]


def assert_whole(reader: Reader, database: Database, table: str = "t") -> None:
    """Checks that the events of the present rows give the table's content: each under the key that
    the table has now."""
    query = (
        "SELECT array_agg(a.attname::text) FROM pg_index i JOIN pg_attribute a"
        " ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)"
        f" WHERE i.indrelid = '{table}'::regclass AND i.indisprimary"
    )
    ((key,),) = database.execute(query)
    rebuilt = {
        tuple(row[name] for name in key or ["a"]): row
        for text, row in reader.fold(table).items()
        if not key or set(json.loads(text)) == set(key)
    }
    for (row,) in database.execute(f"SELECT to_json(x) FROM {table} x"):
        place = tuple(row[name] for name in key or ["a"])
        rebuilt_row = rebuilt.get(place)
        assert rebuilt_row is not None, f"{place} is lost"
        assert {name: rebuilt_row[name] for name in row} == row


@pytest.mark.parametrize(("change", "restarted"), in_turn(KEYS, [False, True]))
def test_a_table_that_becomes_another_one_is_read_from_its_first_row_on(
    reader: Reader,
    tables: Database,
    change: str,
    restarted: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    read_a_chunk(reader, tables, "public.t", "public.other")
    statements = KEYS[change].split(";") if change == "rewritten" else [KEYS[change]]
    for statement in statements:
        tables.execute(statement)
    if restarted:
        reader.restart()
    tables.execute("UPDATE t SET v = v || '!' WHERE b % 7 = 0")
    go_on(reader, tables)
    assert_whole(reader, tables)
    assert_whole(reader, tables, "other")
    begins_again = change not in ("emptied and filled again", "rewritten")
    assert ("public.t or its key was changed" in caplog.text) == begins_again
    assert len(read(reader, "other")) == 15


@pytest.mark.parametrize("restarted", [False, True], ids=["goes on", "killed"])
def test_a_surrogate_key_of_another_collation_begins_again(
    reader: Reader, tables: Database, restarted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    read_a_chunk(reader, tables, surrogate_key="name")
    # Every server has this one, and no other one for certain.
    tables.execute('ALTER TABLE t ALTER name TYPE text COLLATE "POSIX"')
    if restarted:
        reader.restart()
    go_on(reader, tables)
    assert "public.t or its key was changed" in caplog.text
    assert len(read(reader)) == 10 + ROWS
    assert_whole(reader, tables)


def test_a_table_that_is_dropped_is_left_out_and_the_others_are_whole(
    reader: Reader, tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    read_a_chunk(reader, tables, "public.t", "public.other")
    tables.execute("DROP TABLE t")
    go_on(reader.restart(), tables)
    assert "public.t is not read: there is no such table" in caplog.text
    assert_whole(reader, tables, "other")


def planned_chunk(reader: Reader) -> dict[str, Any]:
    """The end of a range that has a chunk, and that nobody has read."""
    while True:
        end: dict[str, Any] = json.loads(json.dumps(reader.plan()))
        if any("table" in insert for insert in end.get("signals", {}).get("inserts", [])):
            return end
        reader.records += reader.read(end)
        reader.offsets.append(end)


@pytest.mark.parametrize(
    ("change", "last", "again"),
    in_turn(
        ["other columns", "another type", "another table", "made again"],
        [False, True],
        [True, False],
    ),
)
def test_a_range_that_was_planned_before_the_change_continues_after_a_kill(
    reader: Reader, tables: Database, change: str, last: bool, again: bool
) -> None:
    ask(tables, data_collections=["public.t"])
    if not last:
        ask(tables, "pause-snapshot")
    end = planned_chunk(reader)
    assert ("tables" not in end["signals"]) == last
    reader.restart()
    tables.execute(KEYS[change])
    reader.records += reader.read(end)
    reader.offsets.append(end)
    if again:
        reader.restart()
    tables.execute("UPDATE t SET v = v || '!' WHERE b % 7 = 0")
    go_on(reader, tables)
    assert_whole(reader, tables)


def test_a_range_whose_table_is_gone_is_planned_again_without_its_rows(
    reader: Reader, tables: Database, caplog: pytest.LogCaptureFixture
) -> None:
    ask(tables, data_collections=["public.t", "public.other"])
    end = planned_chunk(reader)
    reader.restart()
    tables.execute("DROP TABLE t")
    reader.records += reader.read(end)
    reader.offsets.append(end)
    reader.drain()
    assert "a chunk of public.t is left out: there is no such table" in caplog.text
    assert_whole(reader, tables, "other")


def test_an_offset_of_a_former_release_continues_with_the_present_order(
    reader: Reader, tables: Database
) -> None:
    read_a_chunk(reader, tables)
    signals = reader.offsets[-1]["signals"]
    del signals["order"]
    for insert in signals["inserts"]:
        insert.pop("order", None)
    go_on(reader.restart(), tables)
    assert [event["after"]["a"] for event in read(reader)] == list(range(1, ROWS + 1))


def test_a_table_that_several_signals_name_is_read_once_for_each(
    reader: Reader, tables: Database
) -> None:
    conditions = [{"data-collection": "public.t", "filter": "a <= 20"}]
    read_a_chunk(reader, tables, "public.t", "public.T", "public.t")
    ask(tables, data_collections=["public.t"], additional_conditions=conditions)
    reader.drain()
    tables.execute(KEYS["other columns"])
    ask(tables, data_collections=["public.other", "public.t"])
    go_on(reader.restart(), tables)
    read_ids = [event["after"]["a"] for event in read(reader)]
    by_key = list(range(ROWS, 0, -1))
    expected_ids = [*range(1, 11), *by_key, *(a for a in by_key if a <= 20), *by_key]
    assert read_ids == expected_ids
    assert len(read(reader, "other")) == 15
    assert_whole(reader, tables)


def test_signals_with_one_filter_each_are_all_served_by_blocking_snapshots(
    reader: Reader, tables: Database
) -> None:
    for condition in ("a <= 5", "a > 55"):
        conditions = [{"data-collection": "public.t", "filter": condition}]
        ask(
            tables,
            data_collections=["public.t"],
            type="blocking",
            additional_conditions=conditions,
        )
    reader.drain()
    expected_ids = [*range(1, 6), *range(56, 61)]
    assert [event["after"]["a"] for event in read(reader)] == expected_ids
