from __future__ import annotations

import json

import pytest

from headrace.connectors.postgresql.position import parse_lsn
from headrace.errors import HeadraceError
from tests.connectors.postgresql.harness import Reader, properties_with, wait_for
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

WORKLOAD = (
    "INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 5) i",
    "BEGIN; UPDATE t SET v = 'changed' WHERE id < 3; DELETE FROM t WHERE id = 3; COMMIT",
    "UPDATE t SET id = 30 WHERE id = 4",
    "COPY",
    "BEGIN; INSERT INTO other VALUES (1); INSERT INTO t VALUES (40, 'x');"
    " SELECT pg_logical_emit_message(false, 'last', 'statement'); COMMIT",
    "SELECT pg_logical_emit_message(true, 'alone', 'in a transaction')",
    "INSERT INTO t VALUES (50, repeat('long ', 2000))",
    "UPDATE t SET w = 1 WHERE id = 50",
)


TABLES = (
    "CREATE TABLE t (id int PRIMARY KEY, v text, w int);"
    "ALTER TABLE t ALTER v SET STORAGE EXTERNAL;"
    "CREATE TABLE other (id int PRIMARY KEY);"
    "CREATE TABLE keyless (a int); ALTER TABLE keyless REPLICA IDENTITY FULL"
)


properties = properties_with(
    {
        "table.include.list": "public\\.(t|keyless)",
        "snapshot.mode": "no_data",
    }
)


def run_workload(database: Database) -> None:
    for statement in WORKLOAD:
        if statement == "COPY":
            with (
                database.connect() as connection,
                connection.cursor() as cursor,
                cursor.copy("COPY t (id, v) FROM STDIN") as copy,
            ):
                for number in range(10, 25):
                    copy.write_row((number, f"copied {number}"))
        else:
            database.execute(statement)


def without_clock(record: dict) -> tuple:
    value = record["value"]
    if value is not None:
        value = json.loads(value)
        for name in ("ts_ms", "ts_us", "ts_ns"):
            value.pop(name, None)
    headers = [h for h in record["headers"] if not h["key"].endswith("runId")]
    return record["sequence"], record["topic"], record["key"], str(value), str(headers)


def whole(reader: Reader) -> list[tuple]:
    return sorted(without_clock(record) for record in reader.records)


def test_events_come_in_commit_order_with_distinct_sequences(
    tables: Database, reader: Reader
) -> None:
    run_workload(tables)
    reader.drain()
    operations = [event["op"] for event in reader.events()]
    assert operations == [*"ccccc", *"uud", *"dc", *"c" * 15, "m", "c", "m", "c", "u"]
    sequences = [record["sequence"] for record in reader.records]
    assert len(sequences) == len(set(sequences)) == len(operations) + 2  # two tombstones


@pytest.mark.parametrize("stop_each", [False, True])
def test_a_restart_at_any_record_loses_and_repeats_nothing(
    tables: Database, reader: Reader, stop_each: bool
) -> None:
    small = Reader(properties(tables, headrace__range__max__rows="1", slot__name="second"))
    small.step()
    run_workload(tables)
    reader.drain()
    while small.step():
        if stop_each:
            small.restart()
    small.stop()
    assert len(small.offsets) > 25
    assert whole(small) == whole(reader)


def test_a_range_that_was_not_committed_is_read_again_the_same(
    tables: Database, reader: Reader
) -> None:
    run_workload(tables)
    end = reader.plan()
    first = reader.read(end)
    reader.restart()
    second = reader.read(end)
    assert sorted(map(without_clock, first)) == sorted(map(without_clock, second))
    assert first


@pytest.mark.parametrize(
    ("inline", "order"), [(True, "key"), (True, "position"), (False, "position")]
)
def test_every_kind_of_slice_gives_the_same_records(
    tables: Database, reader: Reader, inline: bool, order: str
) -> None:
    other = Reader(
        properties(tables, slot__name="other_kind", headrace__slice__order=order), inline=inline
    )
    other.step()
    run_workload(tables)
    tables.execute("INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1000, 9000) i")
    reader.drain()
    other.drain()
    other.stop()
    assert any(offset.get("slices", 1) > 1 for offset in reader.offsets)
    assert whole(reader) == whole(other)
    for records in (reader.records, other.records):
        by_key: dict[str, list[str]] = {}
        for record in records:
            by_key.setdefault(record["key"], []).append(record["sequence"])
        assert all(sequences == sorted(sequences) for sequences in by_key.values())


def test_a_transaction_larger_than_range_and_spool_passes_in_several_ranges(
    tables: Database,
) -> None:
    reader = Reader(
        properties(tables, headrace__range__max__bytes="2MB", headrace__spool__max__bytes="6MB")
    )
    reader.step()
    tables.execute("INSERT INTO t SELECT i, repeat('y', 1300) FROM generate_series(1, 20000) i")
    count = 0

    def step() -> bool:
        nonlocal count
        if reader.step():
            count += 1
            if count in (3, 11):
                reader.restart()
        return len(reader.records) >= 20_000

    wait_for(step, 600)
    reader.stop()
    assert count > 10
    assert sorted(event["after"]["id"] for event in reader.events()) == list(range(1, 20001))


def test_nothing_is_acknowledged_before_the_checkpoint_holds_it(
    tables: Database, reader: Reader
) -> None:
    run_workload(tables)
    end = reader.plan()
    reader.read(end)
    slot = reader.config.slot_name  # type: ignore[attr-defined]
    query = "SELECT confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = %s"
    before = parse_lsn(tables.execute(query, (slot,))[0][0])
    assert before <= reader.offsets[-1]["lsn_commit"]
    reader.offsets.append(end)
    reader.plan()
    wait_for(lambda: parse_lsn(tables.execute(query, (slot,))[0][0]) == end["lsn_commit"])


def test_the_position_moves_while_only_other_tables_are_written(tables: Database) -> None:
    reader = Reader(properties(tables, headrace__acknowledge__interval="200 ms"))
    reader.step()
    start = reader.offsets[-1]["lsn_commit"]
    for number in range(20):
        tables.execute("INSERT INTO other VALUES (%s)", (number,))
    wait_for(lambda: reader.step() and reader.offsets[-1]["lsn_commit"] > start)
    reader.stop()
    assert reader.records == []


def test_a_bounded_run_ends_after_everything_that_was_there(tables: Database) -> None:
    reader = Reader(properties(tables), bounded=True)
    reader.step()
    run_workload(tables)
    reader.restart()
    while reader.step(0.0):
        pass
    reader.stop()
    assert [event["op"] for event in reader.events()][-2:] == ["c", "u"]


def test_truncates_and_keyless_tables_keep_their_place(tables: Database) -> None:
    reader = Reader(properties(tables, skipped__operations="none"))
    reader.step()
    tables.execute("INSERT INTO t VALUES (1); INSERT INTO keyless VALUES (1)")
    tables.execute("TRUNCATE t, keyless")
    tables.execute("INSERT INTO t VALUES (2); UPDATE keyless SET a = 2")
    reader.drain()
    reader.stop()
    operations = [(event["op"], event["source"]["table"]) for event in reader.events()]
    assert operations == [
        ("c", "t"), ("c", "keyless"), ("t", "t"), ("t", "keyless"), ("c", "t"),
    ]  # fmt: skip


def test_a_schema_change_takes_effect_with_the_next_row(tables: Database, reader: Reader) -> None:
    tables.execute("INSERT INTO t VALUES (1, 'a', 1)")
    tables.execute("ALTER TABLE t DROP COLUMN w; ALTER TABLE t ADD COLUMN z int DEFAULT 7")
    tables.execute("INSERT INTO t VALUES (2, 'b')")
    reader.drain()
    assert [list(event["after"]) for event in reader.events()] == [
        ["id", "v", "w"], ["id", "v", "z"],
    ]  # fmt: skip
    assert reader.events()[1]["after"]["z"] == 7


def test_a_slot_that_somebody_else_moved_is_an_error(tables: Database, reader: Reader) -> None:
    reader.stop()
    tables.execute("INSERT INTO t VALUES (1)")
    tables.advance_slot()
    with pytest.raises(HeadraceError, match=r"postgresql\.slot_moved"):
        reader.step()


def test_a_slot_that_is_gone_is_an_error(tables: Database, reader: Reader) -> None:
    reader.stop()
    tables.drop_slot()
    with pytest.raises(HeadraceError, match=r"postgresql\.slot_missing"):
        reader.step()


def test_the_checkpoint_of_another_prefix_or_a_newer_version_is_refused(
    tables: Database, reader: Reader
) -> None:
    reader.offsets.append(reader.offsets[-1] | {"server": "elsewhere"})
    with pytest.raises(HeadraceError, match=r"offset\.other_server"):
        reader.step()
    reader.offsets.append(reader.offsets[0] | {"v": 99})
    with pytest.raises(HeadraceError, match=r"offset\.newer"):
        reader.step()


def test_a_slot_in_use_is_named(tables: Database, reader: Reader) -> None:
    reader.step()
    second = Reader(
        properties(
            tables, slot__max__retries="1", slot__retry__delay__ms="100", errors__max__retries="0"
        ),
        offsets=list(reader.offsets),
    )
    with pytest.raises(HeadraceError, match=r"postgresql\.slot_in_use"):
        second.step()
    second.stop()


def test_the_stream_continues_when_the_walsender_was_killed(
    tables: Database, reader: Reader
) -> None:
    reader.configure(properties(tables, retriable__restart__connector__wait__ms="100"))
    tables.execute("INSERT INTO t VALUES (1)")
    reader.drain()
    tables.execute("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active")
    tables.execute("INSERT INTO t VALUES (2)")
    wait_for(lambda: reader.step() and len(reader.records) == 2)
    assert [event["after"]["id"] for event in reader.events()] == [1, 2]


def test_the_libpq_reader_gives_the_same(
    tables: Database, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_LIBPQ_READER", "1")
    other = Reader(properties(tables, slot__name="through_libpq"))
    other.step()
    run_workload(tables)
    other.drain()
    other.stop()
    monkeypatch.delenv("HEADRACE_LIBPQ_READER")
    reader.drain()
    assert whole(reader) == whole(other)
