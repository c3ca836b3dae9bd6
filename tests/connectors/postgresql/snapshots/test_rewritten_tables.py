"""Tables that another session rewrites, renames or changes while a snapshot is read."""

from __future__ import annotations

import json

import pytest

from headrace.errors import HeadraceError
from tests.connectors.postgresql.harness import Reader, properties_with
from tests.servers.postgresql import Database

pytestmark = [pytest.mark.postgres, pytest.mark.usefixtures("small_chunks")]

KEYED = (
    "CREATE TABLE t (id int PRIMARY KEY, v text, n int);"
    "ALTER TABLE t ALTER v SET STORAGE EXTERNAL;"
    "INSERT INTO t SELECT i, repeat('toasted ' || i || ' ', 400), i FROM generate_series(1, 1000) i"
)
# Pages are its chunks: a key that may be null bounds none.
PAGED = (
    "CREATE TABLE t (id int, v text, n int); ALTER TABLE t REPLICA IDENTITY FULL;"
    "INSERT INTO t SELECT i, repeat('x', 300), i FROM generate_series(1, 2000) i; ANALYZE t"
)
REWRITE = "ALTER TABLE t ALTER n TYPE bigint"
LOCKS = """
SELECT a.application_name, l.relation::regclass::text, l.mode FROM pg_locks l
JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'relation' AND a.application_name LIKE 'headrace%%' AND l.relation >= 16384
  AND a.datname = %s
"""

properties = properties_with(
    {
        "headrace.snapshot.chunk.bytes": "10kB",
        "headrace.slices": "1",
        "retriable.restart.connector.wait.ms": "50",
        "skipped.operations": "none",
    }
)


def contents(database: Database, name: str = "t") -> dict[str, dict]:
    rows = database.execute(f"SELECT to_json(x) FROM {name} x")
    return {json.dumps({"id": row["id"]}): row for (row,) in rows}


def chunks_read(reader: Reader) -> int:
    return sum(len((o.get("snapshot") or {}).get("chunks", ())) for o in reader.offsets)


def test_no_session_keeps_a_lock_between_two_chunks(database: Database) -> None:
    database.execute(KEYED)
    reader = Reader(properties(database))
    ranges = 0
    while reader.step() and "snapshot" in reader.offsets[-1]:
        ranges += 1
        assert database.execute(LOCKS, (database.name,)) == []
        # Planned and not read yet.
        reader.plan()
        assert database.execute(LOCKS, (database.name,)) == []
    reader.stop()
    assert ranges > 3


def test_a_rewritten_table_continues_with_a_later_snapshot_that_is_said_to_be_consistent(
    database: Database,
) -> None:
    database.execute(KEYED)
    reader = Reader(properties(database))
    reader.step_until(lambda: chunks_read(reader) >= 3)
    begun = reader.offsets[-1]
    database.execute(REWRITE)
    database.execute("UPDATE t SET n = -n WHERE id % 40 = 0; DELETE FROM t WHERE id % 41 = 0")
    reader.drain().stop()
    assert reader.fold("t") == contents(database)
    reads = [event["after"]["id"] for event in reader.events() if event["op"] == "r"]
    assert len(reads) == len(set(reads)), "a row was read twice"
    assert "consistent" not in begun
    assert any("consistent" in offset for offset in reader.offsets)


@pytest.mark.parametrize("moment", ["planned", "read"])
@pytest.mark.parametrize("tables", [KEYED, PAGED], ids=["by key", "by page"])
def test_a_kill_after_a_rewritten_table_got_a_new_snapshot_loses_nothing(
    database: Database, tables: str, moment: str
) -> None:
    database.execute(tables)
    more = {"message__key__columns": "public.t:id"} if tables is PAGED else {}
    reader = Reader(properties(database, **more))
    reader.step_until(lambda: chunks_read(reader) >= 3)
    database.execute(REWRITE)
    database.execute("UPDATE t SET n = -n WHERE id % 40 = 0; DELETE FROM t WHERE id % 41 = 0")
    reader.step()  # on the later snapshot
    if moment == "planned":
        reader.offsets.append(reader.plan())
        reader.restart()
        end = reader.offsets.pop()
        reader.records += reader.read(end)
        reader.offsets.append(end)
    else:
        reader.restart()
    database.execute("UPDATE t SET n = n + 1 WHERE id % 100 = 7")
    reader.drain().stop()
    assert reader.fold("t") == contents(database)


def test_a_table_without_key_that_is_rewritten_starts_again_in_the_next_epoch(
    database: Database,
) -> None:
    database.execute(PAGED)
    reader = Reader(properties(database))
    reader.step_until(lambda: chunks_read(reader) >= 3)
    epoch = reader.offsets[-1].get("epoch", 1)
    database.execute("VACUUM FULL t")
    reader.drain().stop()
    assert reader.offsets[-1]["epoch"] == epoch + 1
    last = [
        event["after"]["id"]
        for event in reader.events()
        if event["op"] == "r" and event["sequence"][:4] == f"{epoch + 1:04x}"
    ]
    assert sorted(last) == list(range(1, 2001))


def test_a_key_of_another_type_starts_the_snapshot_again(database: Database) -> None:
    database.execute(KEYED)
    reader = Reader(properties(database))
    reader.step_until(lambda: chunks_read(reader) >= 3)
    database.execute("ALTER TABLE t ALTER id TYPE text")
    reader.drain().stop()
    rebuilt = {row["id"] for row in reader.fold("t").values()}
    assert rebuilt >= {str(number) for number in range(1, 1001)}


@pytest.mark.parametrize("lost", ["with the process", "with its session"])
def test_a_key_that_moved_before_the_snapshot_was_lost_starts_it_again(
    database: Database, lost: str
) -> None:
    database.execute(
        "CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL, v text);"
        "INSERT INTO t SELECT i, -i, repeat('x', 300) FROM generate_series(1, 1000) i"
    )
    reader = Reader(properties(database))
    reader.step_until(lambda: chunks_read(reader) >= 3)
    database.execute("ALTER TABLE t DROP CONSTRAINT t_pkey, ADD PRIMARY KEY (b)")
    if lost == "with the process":
        reader.restart()
    else:
        database.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name LIKE 'headrace%'"
        )
    reader.drain().stop()
    assert {row["a"] for row in reader.fold("t").values()} == set(range(1, 1001))


def test_a_dropped_table_is_left_out_and_the_others_are_whole(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.execute(
        KEYED + ";CREATE TABLE u (id int PRIMARY KEY);"
        "INSERT INTO u SELECT i FROM generate_series(1, 500) i"
    )
    reader = Reader(properties(database, table__include__list="public.t,public.u"))
    reader.step_until(lambda: chunks_read(reader) >= 3)
    database.execute("DROP TABLE t")
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v text, n int)")
    database.execute("INSERT INTO t VALUES (-1, 'of the new table', 0)")
    reader.drain().stop()
    assert "public.t no longer exists" in caplog.text
    assert len(reader.fold("u")) == 500
    assert json.dumps({"id": -1}) in reader.fold("t")


def test_columns_that_swap_their_names_do_not_swap_their_values(database: Database) -> None:
    database.execute(KEYED.replace("n int", "n int, m int DEFAULT 0"))
    reader = Reader(properties(database))
    reader.step_until(lambda: chunks_read(reader) >= 3)
    end = reader.plan()
    database.execute(
        "ALTER TABLE t RENAME n TO x; ALTER TABLE t RENAME m TO n; ALTER TABLE t RENAME x TO m"
    )
    before = len(reader.records)
    reader.records += reader.read(end)
    reader.offsets.append(end)
    late = [json.loads(r["value"])["after"] for r in reader.records[before:]]
    reader.drain().stop()
    assert late
    assert all(row["m"] == row["id"] and row["n"] == 0 for row in late)


def test_a_snapshot_of_rows_alone_begins_again_when_a_table_is_rewritten(
    database: Database,
) -> None:
    database.execute(KEYED)
    reader = Reader(properties(database, snapshot__mode="initial_only"))
    reader.step_until(lambda: chunks_read(reader) >= 3)
    database.execute(REWRITE)
    reader.drain().stop()
    assert reader.fold("t") == contents(database)


def test_a_timeout_of_zero_is_refused(database: Database) -> None:
    with pytest.raises(HeadraceError, match=r"snapshot\.lock\.timeout\.ms"):
        Reader(properties(database, snapshot__lock__timeout__ms="0"))
