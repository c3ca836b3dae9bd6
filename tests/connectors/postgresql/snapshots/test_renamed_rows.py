"""Tables that are renamed aside while a snapshot reads them, columns that stop or begin to be NOT
NULL, and labels that are renamed: no row is of another table, and no event contradicts its
schema."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from tests.connectors.postgresql.harness import Reader, properties_with
from tests.connectors.postgresql.snapshots.test_moved_rows import apply, chunks_read
from tests.servers.postgresql import Database

pytestmark = [pytest.mark.postgres, pytest.mark.usefixtures("small_chunks")]

ROWS = 1000
KEYED = "id int PRIMARY KEY"
PAGED = "id int"
ASIDE = "ALTER TABLE t RENAME TO t_old; ALTER TABLE t_new RENAME TO t"
BACK = "ALTER TABLE t RENAME TO t_new; ALTER TABLE t_old RENAME TO t"

properties = properties_with(
    {
        "headrace.snapshot.chunk.bytes": "10kB",
        "headrace.slices": "1",
        "retriable.restart.connector.wait.ms": "50",
        "table.include.list": "public.t",
        "message.key.columns": "public.t:id",
    }
)
with_schemas = properties_with(
    {
        "headrace.snapshot.chunk.bytes": "10kB",
        "headrace.slices": "1",
        "retriable.restart.connector.wait.ms": "50",
        "table.include.list": "public.t",
        "value.converter.schemas.enable": "true",
    }
)


def tables(columns: str, more: str = "", value: str = "repeat('x', 300)") -> str:
    return (
        f"CREATE TABLE t ({columns}, v text{more});"
        f"INSERT INTO t SELECT i, {value} FROM generate_series(1, {ROWS}) i; ANALYZE t;"
    )


OTHER = (
    "CREATE TABLE t_new (id int PRIMARY KEY, v text);"
    f"INSERT INTO t_new SELECT i, 'other' FROM generate_series(1, {2 * ROWS}) i;"
)


def read_rows(reader: Reader) -> list[dict[str, Any]]:
    return [event["after"] for event in reader.events() if event["op"] == "r"]


@pytest.mark.parametrize("columns", [KEYED, PAGED], ids=["by key", "by page"])
@pytest.mark.parametrize("moment", ["between chunks", "planned"])
@pytest.mark.parametrize("returns", [True, False], ids=["and back", "for good"])
def test_a_table_that_was_renamed_is_read_to_its_end_and_its_successor_is_not(
    database: Database, columns: str, moment: str, returns: bool
) -> None:
    database.execute(tables(columns) + OTHER)
    reader = Reader(properties(database))
    apply(reader, moment, lambda: database.execute(ASIDE))
    reader.step()
    if returns:
        database.execute(BACK)
    reader.drain().stop()
    rows = read_rows(reader)
    assert sorted(row["id"] for row in rows) == list(range(1, ROWS + 1))
    assert all(row["v"] != "other" for row in rows)


def test_a_table_that_moved_to_another_schema_is_read_to_its_end(database: Database) -> None:
    database.execute(tables(KEYED) + "CREATE SCHEMA old; CREATE TABLE old.u (w int)")
    reader = Reader(properties(database))
    apply(reader, "planned", lambda: database.execute("ALTER TABLE t SET SCHEMA old"))
    reader.drain().stop()
    assert sorted(row["id"] for row in read_rows(reader)) == list(range(1, ROWS + 1))
    assert {event["source"]["schema"] for event in reader.events()} == {"public"}


# -- what the schema says -------------------------------------------------------------------


def after_schemas(reader: Reader) -> Iterable[tuple[dict[str, dict[str, Any]], dict[str, Any]]]:
    """Fields of the rows' schemas by name, and the rows."""
    for record in reader.in_order():
        event = json.loads(record["value"])
        (after,) = (f for f in event["schema"]["fields"] if f["field"] == "after")
        yield {field["field"]: field for field in after["fields"]}, event["payload"]["after"]


def assert_nulls_are_allowed(reader: Reader) -> list[dict[str, Any]]:
    rows = []
    for fields, row in after_schemas(reader):
        for name, value in row.items():
            assert value is not None or fields[name]["optional"], (name, row)
        rows.append(row)
    return rows


@pytest.mark.parametrize(
    ("column", "drop"),
    [
        ("n int NOT NULL DEFAULT 7", "ALTER TABLE t ALTER n DROP NOT NULL"),
        ("n required", "ALTER DOMAIN required DROP NOT NULL"),
    ],
    ids=["column", "domain"],
)
def test_null_in_a_column_that_lost_not_null_stays_null(
    database: Database, column: str, drop: str
) -> None:
    database.execute("CREATE DOMAIN required AS int NOT NULL DEFAULT 7")
    # Kafka's converter makes a default of null, where there is one.
    database.execute(tables(KEYED, f", {column}") + "ALTER TABLE t ALTER n DROP DEFAULT")
    reader = Reader(with_schemas(database))

    def let_null_in() -> None:
        database.execute(f"{drop}; UPDATE t SET n = NULL")
        database.execute("VACUUM FULL t")  # what was planned is read on a later snapshot

    apply(reader, "planned", let_null_in)
    reader.drain().stop()
    rows = assert_nulls_are_allowed(reader)
    assert {row["id"]: row["n"] for row in rows} == dict.fromkeys(range(1, ROWS + 1))
    assert {row["n"] for row in rows[:ROWS]} == {7, None}


def test_null_of_the_snapshot_stays_null_when_its_column_becomes_not_null(
    database: Database,
) -> None:
    database.execute(tables(KEYED, ", n int"))
    reader = Reader(with_schemas(database))
    apply(
        reader,
        "between chunks",
        lambda: database.execute("UPDATE t SET n = 1; ALTER TABLE t ALTER n SET NOT NULL"),
    )
    reader.step_until(lambda: "snapshot" not in reader.offsets[-1])
    rows = assert_nulls_are_allowed(reader)
    assert {row["id"]: row["n"] for row in rows} == dict.fromkeys(range(1, ROWS + 1))
    reader.drain().stop()


def test_a_column_that_is_added_with_a_value_is_required_at_once(database: Database) -> None:
    database.execute(tables(KEYED))
    reader = Reader(with_schemas(database))
    add = "ALTER TABLE t ADD filled int NOT NULL DEFAULT 5, ADD later int"
    require = "UPDATE t SET later = 1; ALTER TABLE t ALTER later SET NOT NULL"
    apply(reader, "between chunks", lambda: database.execute(f"{add}; {require}"))
    read = chunks_read(reader)
    reader.step_until(lambda: chunks_read(reader) > read)
    fields, row = list(after_schemas(reader))[-1]
    assert (row["filled"], row["later"]) == (5, None)
    assert not fields["filled"]["optional"]
    assert fields["later"]["optional"]
    reader.stop()


@pytest.mark.parametrize("kind", ["mood", "mood[]", "feeling", "feelings"])
@pytest.mark.parametrize("moment", ["between chunks", "planned"])
def test_labels_of_events_are_among_those_of_their_schema(
    database: Database, kind: str, moment: str
) -> None:
    database.execute(
        "CREATE TYPE mood AS ENUM ('good', 'bad'); CREATE DOMAIN feeling AS mood;"
        "CREATE DOMAIN feelings AS mood[]"
    )
    value = "'{bad}'" if kind.endswith(("[]", "s")) else "'bad'"
    database.execute(tables(KEYED, f", m {kind} DEFAULT {value}"))
    reader = Reader(with_schemas(database))

    def rename() -> None:
        database.execute("ALTER TYPE mood RENAME VALUE 'bad' TO 'poor'")
        database.execute("ALTER TYPE mood ADD VALUE 'fair'")
        database.execute("ALTER TYPE mood RENAME TO humour")

    apply(reader, moment, rename)
    read = chunks_read(reader)
    reader.step_until(lambda: chunks_read(reader) > read)
    reader.stop()
    event_labels = set()
    for fields, row in after_schemas(reader):
        labels = row["m"] if isinstance(row["m"], list) else [row["m"]]
        schema = fields["m"].get("items", fields["m"])
        if "allowed" in (schema.get("parameters") or {}):
            assert set(labels) <= set(schema["parameters"]["allowed"].split(",")), row
        event_labels |= set(labels)
    assert event_labels == {"bad", "poor"}
