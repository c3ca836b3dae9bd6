"""Changes of PostgreSQL's tables in parts of replicas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from headrace.connectors.registry import event_shapes
from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import Column
from tests.connectors.postgresql.harness import Reader, properties_with
from tests.servers.postgresql import Database
from tests.sinks.replicas.changes.change_readers import (
    DELETE,
    INSERT,
    READ,
    UPDATE,
    PostgresChanges,
)

pytestmark = pytest.mark.postgres

LONG = "x" * 10_000
TABLES = """
CREATE TABLE notes (id int PRIMARY KEY, short text, long text, more text);
ALTER TABLE notes ALTER long SET STORAGE EXTERNAL, ALTER more SET STORAGE EXTERNAL;
CREATE TABLE plain (id int, name text);
ALTER TABLE plain REPLICA IDENTITY FULL;
"""
properties = properties_with(
    {
        "snapshot.mode": "no_data",
        "event.converting.failure.handling.mode": "fail",
        "include.schema.comments": "true",
    }
)


@pytest.fixture
def reader(database: Database) -> Iterator[PostgresChanges]:
    database.execute(TABLES)
    reader = PostgresChanges(properties(database))
    reader.step()
    yield reader
    reader.stop()


def changes(reader: PostgresChanges, topic: str) -> list[dict[str, object]]:
    topic_changes = reader.drain().written.changes(topic)
    for change in topic_changes:
        change.pop("sequence")
    return topic_changes


def test_inserts_updates_and_deletes_are_rows_in_the_order_of_the_log(
    reader: PostgresChanges, database: Database
) -> None:
    database.execute("INSERT INTO notes VALUES (1, 'a', 'b', NULL)")
    database.execute("UPDATE notes SET short = 'c'")
    database.execute("DELETE FROM notes")
    nothing = {"unavailable": []}
    assert changes(reader, ".notes") == [
        {"operation": INSERT, "id": 1, "short": "a", "long": "b", "more": None} | nothing,
        {"operation": UPDATE, "id": 1, "short": "c", "long": "b", "more": None} | nothing,
        {"operation": DELETE, "id": 1, "short": None, "long": None, "more": None} | nothing,
    ]
    assert reader.written.schema(".notes").key == ("id",)


def test_values_that_an_update_does_not_carry_are_unavailable_and_null(
    reader: PostgresChanges, database: Database
) -> None:
    database.execute("INSERT INTO notes VALUES (1, 'a', %s, NULL)", (LONG,))
    database.execute("UPDATE notes SET short = 'c'")
    inserted, updated = changes(reader, ".notes")
    assert (inserted["long"], inserted["unavailable"]) == (LONG, [])
    assert (updated["long"], updated["short"], updated["unavailable"]) == (None, "c", ["long"])
    assert [part.has_untold for part in reader.written.parts_of(".notes")][-1]


def test_a_value_that_is_the_placeholder_is_a_value(
    reader: PostgresChanges, database: Database
) -> None:
    placeholder = "__debezium_unavailable_value"
    database.execute("INSERT INTO notes VALUES (1, 'a', %s, %s)", (LONG, placeholder))
    database.execute("UPDATE notes SET short = %s", (placeholder,))
    _, updated = changes(reader, ".notes")
    assert updated["unavailable"] == ["long"]
    assert (updated["short"], updated["more"]) == (placeholder, placeholder)


def test_a_row_whose_key_changed_names_the_old_key_where_it_lacks_values(
    reader: PostgresChanges, database: Database
) -> None:
    database.execute("INSERT INTO notes VALUES (1, 'a', %s, NULL), (2, 'b', 'c', NULL)", (LONG,))
    database.execute("UPDATE notes SET id = id + 10")
    note_changes = changes(reader, ".notes")[2:]
    changes_by_key = {(row["id"], row["operation"]): row for row in note_changes}
    assert set(changes_by_key) == {(1, DELETE), (11, INSERT), (2, DELETE), (12, INSERT)}
    moved, whole = changes_by_key[11, INSERT], changes_by_key[12, INSERT]
    assert (moved["long"], moved["unavailable"], moved["old_key"]) == (None, ["long"], {"id": 1})
    assert (whole["long"], whole["unavailable"], whole.get("old_key")) == ("c", [], None)
    assert any(part.has_old_keys for part in reader.written.parts_of(".notes"))


def test_the_full_row_before_provides_values_that_an_update_does_not_carry(
    reader: PostgresChanges, database: Database
) -> None:
    database.execute("ALTER TABLE notes REPLICA IDENTITY FULL")
    database.execute("INSERT INTO notes VALUES (1, 'a', %s, NULL)", (LONG,))
    database.execute("UPDATE notes SET short = 'c'")
    database.execute("UPDATE notes SET id = 2")
    updated, deleted, moved = changes(reader, ".notes")[1:]
    assert (updated["long"], updated["unavailable"]) == (LONG, [])
    assert (moved["id"], moved["long"], moved["unavailable"]) == (2, LONG, [])
    assert deleted["long"] is None
    assert not any(part.has_old_keys for part in reader.written.parts_of(".notes"))


def test_a_table_without_a_key_has_none_and_its_rows_come_all_the_same(
    reader: PostgresChanges, database: Database
) -> None:
    database.execute("INSERT INTO plain VALUES (1, 'a')")
    (row,) = changes(reader, ".plain")
    assert row == {"operation": INSERT, "id": 1, "name": "a", "unavailable": []}
    assert reader.written.schema(".plain").key == ()


@pytest.mark.parametrize("how", ["another key", "another identity"])
def test_a_table_whose_deletes_lack_the_key_is_refused_with_its_first_change(
    reader: PostgresChanges, database: Database, how: str
) -> None:
    database.execute("CREATE TABLE k (id int PRIMARY KEY, email text NOT NULL UNIQUE, v text)")
    if how == "another key":
        reader.configure(properties(database, message__key__columns="public.k:email"))
    else:
        database.execute("ALTER TABLE k REPLICA IDENTITY USING INDEX k_email_key")
    database.execute("INSERT INTO k VALUES (1, 'a', 'x'); INSERT INTO notes VALUES (1, 'a')")
    assert len(changes(reader, ".notes")) == 1
    lacking = "email" if how == "another key" else "id"
    (error,) = reader.written.errors()
    assert error["code"] == "replicas.key_not_carried"
    assert f"public.k: the log does not carry the value of {lacking}" in error["message"]
    (shape,) = [each for each in event_shapes(reader.config) if each.topic.endswith(".k")]
    assert shape.origin is not None
    assert shape.origin.not_in_deletes == (lacking,)

    database.execute("ALTER TABLE k REPLICA IDENTITY FULL")
    database.execute("UPDATE k SET id = 2, email = 'b'; DELETE FROM k")
    assert [row["operation"] for row in changes(reader, ".k")] == [DELETE, INSERT, DELETE]


def test_a_truncate_is_the_sequence_of_its_place(
    reader: PostgresChanges, database: Database
) -> None:
    reader.configure(properties(database, skipped__operations="none"))
    database.execute("INSERT INTO notes VALUES (1, 'a', 'b', NULL)")
    database.execute("TRUNCATE notes")
    database.execute("INSERT INTO notes VALUES (2, 'a', 'b', NULL)")
    first, second = reader.drain().written.changes(".notes")
    (truncated,) = {part.truncated for part in reader.written.parts if part.truncated}
    assert first["sequence"] < truncated < second["sequence"]


def test_a_truncate_alone_is_a_part_without_a_file(
    reader: PostgresChanges, database: Database
) -> None:
    reader.configure(properties(database, skipped__operations="none"))
    database.execute("TRUNCATE notes")
    (part,) = reader.drain().written.parts
    assert (part.topic, part.path, part.rows) == ("headrace.public.notes", "", 0)
    assert part.truncated == part.first == part.last != ""
    ((_, committed_us),) = json.loads(part.truncates)
    assert part.source_ms == committed_us // 1000 > 0


def test_rows_of_a_snapshot_are_reads(database: Database) -> None:
    database.execute(TABLES)
    database.execute("INSERT INTO notes VALUES (1, 'a', %s, NULL)", (LONG,))
    reader = PostgresChanges(properties(database, snapshot__mode="initial"))
    (row,) = changes(reader, ".notes")
    reader.stop()
    assert (row["operation"], row["long"], row["unavailable"]) == (READ, LONG, [])


def test_columns_have_the_types_and_comments_of_the_source(
    reader: PostgresChanges, database: Database
) -> None:
    database.execute("""
        CREATE TABLE kinds (id bigint PRIMARY KEY, small smallint, whole int, single real,
          double double precision, flag boolean, price numeric(12, 2), wide numeric, name text,
          raw bytea, day date, clock time, stamp timestamp, moment timestamptz, json jsonb,
          uid uuid, tags text[], numbers int[]);
        COMMENT ON COLUMN kinds.name IS 'what it is called';
        INSERT INTO kinds VALUES (1, 2, 3, 0.5, 0.25, true, 7.10, 1.5, 'n', '\\x01ff',
          '2024-02-03', '04:05:06.7', '2024-02-03 04:05:06.7', '2024-02-03 04:05:06.7+02',
          '{"a": 1}', '6f7a8c1e-5d3b-4a2f-9c0d-1e2f3a4b5c6d', '{a,NULL,b}', '{1,2}')
    """)
    (row,) = changes(reader, ".kinds")
    assert row == {
        "operation": INSERT,
        "id": 1,
        "small": 2,
        "whole": 3,
        "single": 0.5,
        "double": 0.25,
        "flag": True,
        "price": Decimal("7.10"),
        "wide": "1.5",
        "name": "n",
        "raw": b"\x01\xff",
        "day": date(2024, 2, 3),
        "clock": "04:05:06.700000",
        "stamp": datetime(2024, 2, 3, 4, 5, 6, 700_000),  # noqa: DTZ001
        "moment": datetime(2024, 2, 3, 2, 5, 6, 700_000, UTC),
        "json": '{"a": 1}',
        "uid": "6f7a8c1e-5d3b-4a2f-9c0d-1e2f3a4b5c6d",
        "tags": ["a", None, "b"],
        "numbers": [1, 2],
        "unavailable": [],
    }
    schema = reader.written.schema(".kinds")
    types = [str(column.type) for column in schema.columns]
    assert types == [
        "int64", "int32", "int32", "float", "double", "bool", "decimal128(12, 2)", "string",
        "string", "binary", "date32[day]", "string", "timestamp[us]", "timestamp[us, tz=UTC]",
        "string", "string", "list<item: string>", "list<item: int32>",
    ]  # fmt: skip
    assert schema.column("name") == Column("name", pa.string(), "what it is called")
    (part,) = reader.written.parts_of(".kinds")
    rows = reader.written.table(part)
    assert all(rows.schema.field(c.name).type == c.type for c in schema.columns)


def test_a_value_that_its_column_cannot_hold_is_an_error_that_names_the_column(
    reader: PostgresChanges, database: Database
) -> None:
    database.execute("CREATE TABLE prices (id int PRIMARY KEY, price numeric(10, 2))")
    database.execute("INSERT INTO prices VALUES (1, 'NaN')")
    reader.drain()
    (error,) = reader.written.errors()
    assert error["code"] == "replicas.value_not_taken"
    assert "headrace.public.prices, column price: " in error["message"]


def test_the_key_has_the_columns_and_the_order_that_the_configuration_says(
    database: Database,
) -> None:
    database.execute("CREATE TABLE parts (a int PRIMARY KEY, b text NOT NULL, c text NOT NULL)")
    database.execute("ALTER TABLE parts REPLICA IDENTITY FULL")
    reader = PostgresChanges(properties(database, message__key__columns="public.parts:c,a"))
    reader.step()
    database.execute("INSERT INTO parts VALUES (1, 'b', 'c')")
    database.execute("DELETE FROM parts")
    inserted, deleted = changes(reader, ".parts")
    reader.stop()
    assert reader.written.schema(".parts").key == ("c", "a")
    assert inserted == {"operation": INSERT, "a": 1, "b": "b", "c": "c", "unavailable": []}
    assert deleted == {"operation": DELETE, "a": 1, "b": None, "c": "c", "unavailable": []}


def test_structs_and_lists_have_the_forms_of_tables(
    reader: PostgresChanges, database: Database
) -> None:
    database.execute("CREATE TABLE forms (id int PRIMARY KEY, at point, n int2[])")
    database.execute("INSERT INTO forms VALUES (1, '(1,2)', '{1,2}'), (2, NULL, NULL)")
    first, second = changes(reader, ".forms")
    types = {column.name: column.type for column in reader.written.schema(".forms").columns}
    assert types["n"] == pa.list_(pa.int32())
    assert types["at"].field("wkb").type == pa.binary()
    assert (first["at"]["x"], first["at"]["y"]) == (1.0, 2.0)  # type: ignore[index]
    assert first["n"] == [1, 2]
    assert (second["at"], second["n"]) == (None, None)


def test_sequences_are_those_of_the_events_and_other_records_are_left_out(
    database: Database,
) -> None:
    database.execute(TABLES)
    more = {
        "provide__transaction__metadata": "true",
        "heartbeat__interval__ms": "1",
        "skipped__operations": "none",
    }
    reader = PostgresChanges(properties(database, **more))
    reader.step()
    first = dict(reader.offsets[-1])
    again = f"{database.name}_again"  # the log is read twice
    database.execute("SELECT pg_copy_logical_replication_slot(%s, %s)", (database.name, again))
    with database.connect() as connection:
        connection.execute("INSERT INTO notes VALUES (1, 'a', 'b', NULL), (2, 'a', 'b', NULL)")
        connection.execute("SELECT pg_logical_emit_message(true, 'p', 'hello')")
        connection.execute("UPDATE notes SET id = 3 WHERE id = 1")
        connection.execute("TRUNCATE notes")
    reader.drain().stop()
    events = Reader(properties(database, slot__name=again, **more), offsets=[first])
    value_of = {
        record["sequence"]: json.loads(record["value"])
        for record in events.drain().in_order()
        if record["value"] is not None
    }
    events.stop()
    operations = {sequence: value.get("op") for sequence, value in value_of.items()}
    changes = {change["sequence"] for change in reader.written.changes(".notes")}
    truncates = {part.truncated for part in reader.written.parts if part.truncated}
    assert {s for s, op in operations.items() if op in ("c", "u", "d")} == changes
    assert {s for s, op in operations.items() if op == "t"} == truncates
    assert {None, "m"} < set(operations.values())
    assert {part.topic for part in reader.written.parts} == {"headrace.public.notes"}


def test_rows_with_columns_that_differ_by_case_only_are_an_error_of_their_table(
    database: Database,
) -> None:
    database.execute(TABLES)
    reader = PostgresChanges(properties(database, headrace__case__twins="take"))
    reader.step()
    database.execute('ALTER TABLE notes ADD "Short" text')
    database.execute("INSERT INTO notes (id) VALUES (1); INSERT INTO plain VALUES (1, 'a')")
    database.execute('ALTER TABLE notes RENAME "Short" TO other')
    database.execute("INSERT INTO notes (id) VALUES (2)")
    note_changes = changes(reader, ".notes")
    reader.stop()
    assert [change["id"] for change in note_changes] == [2]
    assert [change["id"] for change in changes(reader, ".plain")] == [1]
    (error,) = reader.written.errors()
    assert error["code"] == "replicas.columns_alike"
    assert "the columns short and Short of headrace.public.notes" in error["message"]


def test_rows_without_their_envelope_are_an_error(database: Database) -> None:
    database.execute(TABLES)
    unwrap = "io.debezium.transforms.ExtractNewRecordState"
    reader = PostgresChanges(properties(database, transforms="u", transforms__u__type=unwrap))
    reader.step()
    database.execute("INSERT INTO notes VALUES (1, 'a', 'b', NULL)")
    with pytest.raises(HeadraceError, match="leave out ExtractNewRecordState"):
        reader.drain()
    reader.stop()
