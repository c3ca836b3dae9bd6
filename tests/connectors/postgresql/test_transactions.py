from __future__ import annotations

import json

import pytest

from tests.connectors.postgresql.harness import Reader, properties_with
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

WORKLOAD = (
    "INSERT INTO a SELECT i FROM generate_series(1, 4) i",
    "BEGIN; INSERT INTO a VALUES (10); INSERT INTO b VALUES (10), (11); UPDATE a SET id = 12"
    " WHERE id = 10; DELETE FROM b WHERE id = 11; INSERT INTO skipped VALUES (1);"
    " SELECT pg_logical_emit_message(true, 'p', 'counted'); INSERT INTO b VALUES (13); COMMIT",
    "SELECT pg_logical_emit_message(false, 'p', 'not counted')",
    "INSERT INTO skipped VALUES (2)",
    "BEGIN; INSERT INTO a VALUES (20); TRUNCATE b; INSERT INTO b VALUES (20); COMMIT",
)


TABLES = (
    "CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY);"
    "CREATE TABLE skipped (id int PRIMARY KEY)"
)


properties = properties_with(
    {
        "table.include.list": "public\\.(a|b)",
        "publication.autocreate.mode": "all_tables",
        "snapshot.mode": "no_data",
        "provide.transaction.metadata": "true",
        "skipped.operations": "none",
    }
)


def metadata(reader: Reader) -> list[tuple]:
    """The records' transactions, in total order; ids without the LSN."""
    entries: list[tuple] = []
    for record in sorted(reader.records, key=lambda record: record["sequence"]):
        if record["value"] is None:
            continue
        value = json.loads(record["value"])
        if "status" in value:
            assert json.loads(record["key"])["id"] == value["id"]
            counts = value["data_collections"]
            if counts is not None:
                counts = {c["data_collection"]: c["event_count"] for c in counts}
            entries.append((value["status"], value["event_count"], counts))
        elif value["transaction"] is None:
            entries.append((value["op"], None))
        else:
            block = value["transaction"]
            entries.append((value["op"], block["total_order"], block["data_collection_order"]))
    return entries


EXPECTED = [
    ("BEGIN", None, None),
    *(("c", i, i) for i in range(1, 5)),
    ("END", 4, {"public.a": 4}),
    ("BEGIN", None, None),
    ("c", 1, 1),
    ("c", 2, 1),
    ("c", 3, 2),
    ("d", 4, 2),
    ("c", 5, 3),
    ("d", 6, 3),
    ("m", 7, 1),
    ("c", 8, 4),
    ("END", 8, {"public.a": 3, "public.b": 4, "LOGICAL_DECODING_MESSAGE": 1}),
    ("m", None),
    ("BEGIN", None, None),
    ("END", 0, {}),
    ("BEGIN", None, None),
    ("c", 1, 1),
    ("t", 2, 1),
    ("c", 3, 2),
    ("END", 3, {"public.a": 1, "public.b": 2}),
]


@pytest.mark.parametrize("stop_each", [False, True])
def test_counters_continue_across_ranges_and_restarts(tables: Database, stop_each: bool) -> None:
    small = Reader(properties(tables, headrace__range__max__rows="1"))
    small.step()
    for statement in WORKLOAD:
        tables.execute(statement)
    while small.step():
        if stop_each:
            small.restart()
    small.stop()
    assert len(small.offsets) > 20
    assert metadata(small) == EXPECTED
    sequences = [record["sequence"] for record in small.records]
    assert sequences == sorted(set(sequences))


@pytest.mark.parametrize(
    ("inline", "order"),
    [
        (False, "key"),
        (True, "position"),
        pytest.param(False, "position", marks=pytest.mark.chaos),
        pytest.param(True, "key", marks=pytest.mark.chaos),
    ],
)
def test_every_kind_of_slice_counts_the_same(tables: Database, inline: bool, order: str) -> None:
    reader = Reader(properties(tables, headrace__slice__order=order), inline=inline)
    reader.step()
    tables.execute(
        "BEGIN; INSERT INTO a SELECT i FROM generate_series(1, 90000) i;"
        " INSERT INTO b SELECT i FROM generate_series(1, 500) i; COMMIT"
    )
    tables.execute("INSERT INTO a VALUES (0)")
    reader.drain()
    reader.stop()
    assert any(offset.get("slices", 1) > 1 for offset in reader.offsets)
    entries = metadata(reader)
    assert entries[0] == ("BEGIN", None, None)
    assert entries[1:90001] == [("c", i, i) for i in range(1, 90001)]
    assert entries[90001:90501] == [("c", 90000 + i, i) for i in range(1, 501)]
    assert entries[90501:] == [
        ("END", 90500, {"public.a": 90000, "public.b": 500}),
        ("BEGIN", None, None),
        ("c", 1, 1),
        ("END", 1, {"public.a": 1}),
    ]


def test_snapshot_rows_have_no_transaction_block(tables: Database) -> None:
    tables.execute("INSERT INTO a VALUES (1), (2)")
    reader = Reader(properties(tables, snapshot__mode="initial", topic__transaction="tx.borders"))
    reader.drain()
    tables.execute("INSERT INTO a VALUES (3)")
    reader.drain()
    reader.stop()
    assert metadata(reader) == [
        ("r", None), ("r", None), ("BEGIN", None, None), ("c", 1, 1), ("END", 1, {"public.a": 1}),
    ]  # fmt: skip
    assert {r["topic"] for r in reader.records} == {"headrace.public.a", "headrace.tx.borders"}


def test_metadata_may_be_switched_on_in_the_middle_of_a_transaction(tables: Database) -> None:
    plain = properties(tables, headrace__range__max__rows="2")
    plain["provide.transaction.metadata"] = "false"
    reader = Reader(plain)
    reader.step()
    tables.execute(WORKLOAD[0])
    reader.step()
    reader.configure(properties(tables))
    reader.drain()
    reader.stop()
    assert metadata(reader) == [
        ("c", None), ("c", None), ("c", 3, 3), ("c", 4, 4), ("END", 4, {"public.a": 4}),
    ]  # fmt: skip
