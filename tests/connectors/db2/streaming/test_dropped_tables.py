"""Tables that are dropped before their last changes are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.connectors.db2.test_streaming import Reader, reader_of, schema_changes
from tests.servers.db2 import SCHEMA, Db2Database

pytestmark = pytest.mark.db2

TABLE = (
    "ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(20) NOT NULL DEFAULT 'none', "
    "PRICE DECIMAL(9,2), MADE TIMESTAMP, CODE CHAR(3) FOR BIT DATA"
)


def changes_of(reader: Reader) -> list[tuple[Any, Any, str]]:
    """Keys, operations and fields of the changes."""
    return [
        (event["key"], event.get("op"), str((event.get("after") or {}).keys()))
        for event in reader.events()
        if "tableChanges" not in event
    ]


def read(database: Db2Database, table: str, reader: Reader, *, is_dropped: bool) -> None:
    """One change before the reader stops, and others while it is stopped."""
    database.execute(f"INSERT INTO {SCHEMA}.{table} (ID) VALUES (1)")
    reader.await_changes(1)
    reader.stop()
    database.execute(f"INSERT INTO {SCHEMA}.{table} (ID) VALUES (2)")
    database.execute(f"UPDATE {SCHEMA}.{table} SET ID = 3 WHERE ID = 2")
    database.execute(f"DELETE FROM {SCHEMA}.{table} WHERE ID = 1")
    database.capture.await_captured()
    if is_dropped:
        database.capture.stop_capturing(f"CDC_{SCHEMA}_{table}")
        database.execute(f"DROP TABLE {SCHEMA}.{table}")
    reader.await_changes(5)
    reader.stop()


def test_the_last_changes_of_a_dropped_table_are_like_those_before(
    db2_database: Db2Database, tmp_path: Path
) -> None:
    change_lists, structures = [], []
    db2_database.create_table("OTHER", TABLE)
    for table, is_dropped in (("KEPT", False), ("GONE", True)):
        db2_database.create_table(table, TABLE)
        reader = reader_of(
            db2_database,
            table_include_list=f"{SCHEMA}.{table},{SCHEMA}.OTHER",
            include_schema_changes="true",
            schema_history_internal_file_filename=str(tmp_path / table),
        )
        read(db2_database, table, reader, is_dropped=is_dropped)
        change_lists.append(changes_of(reader))
        structures.append(len(schema_changes(reader)))
    kept_changes, dropped_changes = change_lists
    assert dropped_changes == kept_changes
    assert [op for _, op, _ in dropped_changes] == ["c", "c", "d", "c", "d"]
    assert {key["ID"] for key, _, _ in dropped_changes} == {1, 2, 3}
    assert structures == [2, 2], "nothing was altered"


def test_what_was_allowed_to_be_null_before_a_table_was_dropped_is_null(
    db2_database: Db2Database, tmp_path: Path
) -> None:
    for table in ("T", "OTHER"):  # a start needs a table
        db2_database.create_table(table, TABLE)
    reader = reader_of(db2_database, schema_history_internal_file_filename=str(tmp_path / "kept"))
    db2_database.execute(f"INSERT INTO {SCHEMA}.T (ID) VALUES (1)")
    reader.await_changes(1)
    reader.stop()
    for changed in (f"{SCHEMA}.T", f'ASNCDC."CDC_{SCHEMA}_T"'):
        db2_database.execute(f"ALTER TABLE {changed} ALTER COLUMN NAME NULL")
        db2_database.execute(f"ALTER TABLE {changed} ALTER COLUMN NAME DROP DEFAULT")
    db2_database.execute(f"INSERT INTO {SCHEMA}.T (ID, NAME) VALUES (2, NULL)")
    db2_database.capture.await_captured()
    db2_database.capture.stop_capturing(f"CDC_{SCHEMA}_T")
    db2_database.execute(f"DROP TABLE {SCHEMA}.T")
    last = reader.await_changes(2)[-1]
    reader.stop()
    assert reader.events()[-1]["key"] == {"ID": 2}
    assert last["after"]["NAME"] is None


def test_a_dropped_table_that_nobody_knows_any_more_has_no_key_with_a_word(
    db2_database: Db2Database, caplog: pytest.LogCaptureFixture
) -> None:
    for table in ("T", "OTHER"):  # a start needs a table
        db2_database.create_table(table, TABLE)
    reader = reader_of(db2_database)
    reader.stop()
    db2_database.execute(f"INSERT INTO {SCHEMA}.T (ID) VALUES (1)")
    db2_database.capture.await_captured()
    db2_database.capture.stop_capturing(f"CDC_{SCHEMA}_T")
    db2_database.execute(f"DROP TABLE {SCHEMA}.T")
    reader.configure({**reader.properties, "topic.prefix": "headrace"})
    reader.await_changes(1)
    reader.stop()
    assert reader.events()[-1]["key"] is None
    assert f"{SCHEMA}.T no longer exists, and the schema history does not have it" in caplog.text
