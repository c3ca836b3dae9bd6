"""The guide's procedure to change the primary key of a captured table, and the effects of
others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

CHANGE_KEY = "ALTER TABLE t DROP CONSTRAINT t_pkey; ALTER TABLE t ADD PRIMARY KEY (code)"
WRITES = (
    "INSERT INTO t VALUES ({n}, 'c{n}', 'new')",
    "UPDATE t SET v = 'changed' WHERE id = {n}",
    "DELETE FROM t WHERE id = {n}",
)


TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, code text NOT NULL, v text);"
    "INSERT INTO t VALUES (1, 'c1', 'old'), (2, 'c2', 'old')"
)


def write(database: Database, number: int) -> None:
    for statement in WRITES:
        database.execute(statement.format(n=number))


def changes(records: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    """(key, op) in total order; op None is a tombstone."""
    ordered = sorted(records, key=lambda record: record["sequence"])
    return [
        (json.loads(record["key"]), record["value"] and json.loads(record["value"])["op"])
        for record in ordered
    ]


def all_of(key: dict[str, Any]) -> list[tuple[Any, Any]]:
    return [(key, "c"), (key, "u"), (key, "d"), (key, None)]


def test_a_key_that_changes_as_the_guide_says_is_right_in_every_event(tables: Database) -> None:
    reader = Reader(tables.properties())
    reader.drain()
    write(tables, 3)
    # Writes stop, the log is read to its end, the query stops, the key changes, the query starts.
    reader.drain()
    reader.stop()
    tables.execute(CHANGE_KEY)
    reader.drain()
    # Writes go on.
    write(tables, 4)
    tables.execute("UPDATE t SET v = 'changed' WHERE id = 1")
    reader.drain()
    reader.stop()
    assert changes(reader.records) == [
        ({"id": 1}, "r"),
        ({"id": 2}, "r"),
        *all_of({"id": 3}),
        *all_of({"code": "c4"}),
        ({"code": "c1"}, "u"),
    ]


def test_what_was_written_before_the_key_changed_and_is_read_after_it_has_the_key_of_then(
    tables: Database,
) -> None:
    """The replica identity is the primary key by default, so the log has its columns."""
    reader = Reader(tables.properties())
    reader.drain()
    read = len(reader.records)
    reader.stop()
    write(tables, 3)
    tables.execute(CHANGE_KEY)
    write(tables, 4)
    reader.drain()
    reader.stop()
    assert changes(reader.records[read:]) == [*all_of({"id": 3}), *all_of({"code": "c4"})]


def test_with_replica_identity_full_what_was_written_before_has_the_new_key(
    tables: Database,
) -> None:
    tables.execute("ALTER TABLE t REPLICA IDENTITY FULL")
    reader = Reader(tables.properties())
    reader.drain()
    read = len(reader.records)
    reader.stop()
    write(tables, 3)
    tables.execute(CHANGE_KEY)
    reader.drain()
    reader.stop()
    assert changes(reader.records[read:]) == all_of({"code": "c3"})


def test_with_an_index_as_replica_identity_what_was_written_before_has_the_new_key(
    tables: Database,
) -> None:
    """The log has the index's columns. A delete has no others, so its key is made up."""
    tables.execute(
        "ALTER TABLE t ADD COLUMN w int NOT NULL DEFAULT 7; CREATE UNIQUE INDEX i ON t (w, id);"
        "ALTER TABLE t REPLICA IDENTITY USING INDEX i"
    )
    reader = Reader(tables.properties())
    reader.drain()
    read = len(reader.records)
    reader.stop()
    write(tables, 3)
    tables.execute(CHANGE_KEY)
    reader.drain()
    reader.stop()
    assert changes(reader.records[read:]) == [
        ({"code": "c3"}, "c"),
        ({"code": "c3"}, "u"),
        ({"code": ""}, "d"),
        ({"code": ""}, None),
    ]


def test_rows_of_before_keep_their_old_key_until_something_writes_them_again(
    tables: Database,
) -> None:
    """A consumer that folds by key keeps such rows twice, so the guide says to read the table
    again."""
    reader = Reader(tables.properties())
    reader.drain()
    tables.execute(CHANGE_KEY)
    tables.execute("DELETE FROM t WHERE id = 1")
    reader.drain()
    reader.stop()
    assert changes(reader.records) == [
        ({"id": 1}, "r"),
        ({"id": 2}, "r"),
        ({"code": "c1"}, "d"),
        ({"code": "c1"}, None),
    ]
