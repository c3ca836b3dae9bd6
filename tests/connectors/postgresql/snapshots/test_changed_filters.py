"""Filters of signals and statements of `snapshot.select.statement.overrides` while another session
changes what they name: what cannot be read is left out with a warning, and nothing else is."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.chaos.matrices import in_turn
from tests.connectors.postgresql.harness import Reader, properties_with, wait_for
from tests.servers.postgresql import Database

pytestmark = [pytest.mark.postgres, pytest.mark.usefixtures("small_chunks")]

OVERRIDES = "snapshot.select.statement.overrides"
# `a` has many chunks and is read first, `t` by a statement or with a filter, `z` in the end.
TABLES = """
CREATE TABLE a (id int PRIMARY KEY, v text);
CREATE TABLE t (id int PRIMARY KEY, n int, v text);
CREATE TABLE z (id int PRIMARY KEY, v text);
CREATE TABLE picked (t_id int PRIMARY KEY, at timestamp DEFAULT now());
CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048));
INSERT INTO a SELECT i, repeat('a', 300) FROM generate_series(1, 1000) i;
INSERT INTO t SELECT i, i % 10, 'row ' || i FROM generate_series(1, 100) i;
INSERT INTO z SELECT i, 'z' FROM generate_series(1, 20) i;
INSERT INTO picked SELECT i FROM generate_series(1, 100, 3) i;
"""
GONE = {"renamed": "ALTER TABLE t RENAME n TO m", "dropped": "ALTER TABLE t DROP n"}
RESTORED = "CREATE TABLE kept AS TABLE picked; {} INSERT INTO picked TABLE kept; DROP TABLE kept"
REWRITTEN = {
    "vacuum": "VACUUM FULL picked",
    "rewrite": "ALTER TABLE picked ALTER t_id TYPE bigint",
    "truncate": RESTORED.format("TRUNCATE picked;"),
    "made again": RESTORED.format("DROP TABLE picked; CREATE TABLE picked (LIKE kept);"),
}
JOINED = "SELECT t.* FROM t JOIN picked p ON p.t_id = t.id"

properties = properties_with(
    {
        "headrace.snapshot.chunk.bytes": "10kB",
        "headrace.slices": "1",
        "retriable.restart.connector.wait.ms": "50",
        "skipped.operations": "none",
        "table.include.list": "public\\.[atz]",
        "signal.data.collection": "public.signals",
        "incremental.snapshot.chunk.size": "10",
    }
)


def contents(database: Database, name: str, where: str = "true") -> dict[str, dict[str, Any]]:
    rows = database.execute(f"SELECT to_json(x) FROM {name} x WHERE {where}")
    return {json.dumps({"id": row["id"]}): row for (row,) in rows}


def chunks(reader: Reader) -> int:
    return sum(len((o.get("snapshot") or {}).get("chunks", ())) for o in reader.offsets)


def signal(
    database: Database, kind: str, filter_of_t: str = "n < 5", name: str = "execute"
) -> None:
    data = {
        "data-collections": ["public.a", "public.t", "public.z"],
        "type": kind,
        "additional-conditions": [{"data-collection": "public.t", "filter": filter_of_t}],
    }
    database.execute(
        "INSERT INTO signals VALUES (gen_random_uuid()::text, %s, %s)",
        (f"{name}-snapshot", json.dumps(data)),
    )


def reader_of(database: Database, statement: str | None = None, **more: str) -> Reader:
    database.execute(TABLES)
    reader_properties = properties(database, **more)
    if statement is not None:
        reader_properties |= {OVERRIDES: "public.t", f"{OVERRIDES}.public.t": statement}
    return Reader(reader_properties)


def plans_t(reader: Reader, end: dict[str, Any]) -> bool:
    """Whether the range up to `end` has rows of `t`."""
    snapshot = end.get("snapshot") or {}
    names = [table[2] for table in snapshot.get("tables", [])]
    return any(names[chunk["table"]] == "t" for chunk in snapshot.get("chunks", []))


def planned(reader: Reader) -> dict[str, Any]:
    """The end of the range that has rows of `t`, and that nobody has read."""
    while True:
        end: dict[str, Any] = json.loads(json.dumps(reader.plan()))
        if plans_t(reader, end):
            return end
        reader.records += reader.read(end)
        reader.offsets.append(end)


def between_chunks(reader: Reader, change: Callable[[], object]) -> None:
    before = chunks(reader)
    reader.step_until(lambda: chunks(reader) >= before + 2)
    change()


def before_a_planned_chunk_is_read(reader: Reader, change: Callable[[], object]) -> None:
    end = planned(reader)
    change()
    reader.records += reader.read(end)
    reader.offsets.append(end)


def before_a_planned_chunk_is_planned_again(reader: Reader, change: Callable[[], object]) -> None:
    end = planned(reader)
    reader.restart()
    change()
    reader.records += reader.read(end)
    reader.offsets.append(end)


MOMENTS = [
    pytest.param(moment, id=moment.__name__.replace("_", " "))
    for moment in (
        between_chunks,
        before_a_planned_chunk_is_read,
        before_a_planned_chunk_is_planned_again,
    )
]
Moment = Callable[[Reader, Callable[[], object]], None]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("change", GONE)
def test_a_statement_that_names_a_column_which_is_gone_leaves_its_table_out(
    database: Database, change: str, moment: Moment, caplog: pytest.LogCaptureFixture
) -> None:
    reader = reader_of(database, "SELECT * FROM t WHERE n < 5")
    moment(reader, lambda: database.execute(GONE[change]))
    reader.drain()
    database.execute("INSERT INTO t (id, v) VALUES (1000, 'streamed')")
    reader.drain().stop()
    for name in ("a", "z"):
        assert reader.fold(name) == contents(database, name)
    assert set(reader.fold("t")) == {'{"id": 1000}'}
    (text,) = {r.getMessage() for r in caplog.records if "public.t is left out" in r.getMessage()}
    assert f"{OVERRIDES}.public.t" in text
    assert 'column "n" does not exist' in text
    assert "execute-snapshot" in text


def test_a_stream_continues_from_its_checkpoint_with_a_statement_that_fails(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    reader = reader_of(database, "SELECT * FROM t WHERE n < 5").drain()
    reader.stop()
    database.execute(GONE["renamed"])
    database.execute("INSERT INTO t VALUES (1000, 3, 'streamed')")
    reader.drain()
    assert '{"id": 1000}' in reader.fold("t")
    assert f'{OVERRIDES}.public.t: column "n" does not exist' in caplog.text
    signal_of_all = json.dumps({"data-collections": ["public.t", "public.z"], "type": "blocking"})
    database.execute("INSERT INTO signals VALUES ('x', 'execute-snapshot', %s)", (signal_of_all,))
    before = len(reader.records)
    reader.drain().stop()
    late = [json.loads(r["value"]) for r in reader.records[before:]]
    assert [e["source"]["table"] for e in late if e["op"] == "r"] == ["z"] * 20
    assert "public.t is left out" in caplog.text


@pytest.mark.parametrize("restarted", [False, True], ids=["goes on", "killed"])
@pytest.mark.parametrize("change", GONE)
def test_a_blocking_snapshot_leaves_out_what_a_filter_cannot_select_any_more(
    database: Database, change: str, restarted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    reader = reader_of(database, snapshot__mode="no_data")
    reader.step()
    signal(database, "blocking")
    between_chunks(reader, lambda: database.execute(GONE[change]))
    if restarted:
        reader.restart()
    reader.drain().stop()
    for name in ("a", "z"):
        assert reader.fold(name) == contents(database, name)
    assert "public.t is left out" in caplog.text
    assert "names the column n" in caplog.text


@pytest.mark.parametrize("change", GONE)
def test_a_chunk_with_a_filter_on_a_column_that_is_gone_is_left_out_by_its_task(
    database: Database, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    reader = reader_of(database, snapshot__mode="no_data")
    reader.step()
    signal(database, "blocking")
    before_a_planned_chunk_is_read(reader, lambda: database.execute(GONE[change]))
    reader.drain().stop()
    for name in ("a", "z"):
        assert reader.fold(name) == contents(database, name)
    assert "public.t is left out" in caplog.text
    assert "names the column n" in caplog.text


@pytest.mark.parametrize("restarted", [False, True], ids=["goes on", "killed"])
@pytest.mark.parametrize("change", GONE)
def test_an_incremental_snapshot_leaves_out_what_a_filter_cannot_select_any_more(
    database: Database, change: str, restarted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    reader = reader_of(database, snapshot__mode="no_data")
    reader.step()
    database.execute("DELETE FROM a WHERE id > 25")
    reader.drain()
    signal(database, "incremental")
    signal(database, "incremental", name="pause")
    reader.drain()
    database.execute(GONE[change])
    if restarted:
        reader.restart()
    signal(database, "incremental", name="resume")
    reader.drain().stop()
    for name in ("a", "z"):
        assert reader.fold(name) == contents(database, name)
    assert "public.t is not read: its filter names the column n" in caplog.text


@pytest.mark.parametrize(("change", "moment"), in_turn(REWRITTEN, MOMENTS))
def test_a_table_that_a_statement_joins_may_be_rewritten_while_the_snapshot_is_read(
    database: Database, change: str, moment: Moment
) -> None:
    reader = reader_of(database, JOINED)

    def rewrite() -> None:
        database.execute(REWRITTEN[change])
        database.execute("UPDATE t SET v = v || '!' WHERE id % 7 = 0")

    moment(reader, rewrite)
    reader.drain().stop()
    for name in ("a", "z"):
        assert reader.fold(name) == contents(database, name)
    present = contents(database, "t", "id % 7 = 0 OR id IN (SELECT t_id FROM picked)")
    assert reader.fold("t") == present


def test_a_view_that_a_statement_reads_is_followed_to_its_tables(database: Database) -> None:
    reader = reader_of(database, "SELECT * FROM chosen")
    database.execute(f"CREATE VIEW chosen AS {JOINED}")
    between_chunks(reader, lambda: database.execute(REWRITTEN["vacuum"]))
    reader.drain().stop()
    assert reader.fold("t") == contents(database, "t", "id IN (SELECT t_id FROM picked)")


def test_an_index_that_is_younger_than_the_snapshot_is_no_reason_to_begin_again(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    reader = reader_of(database, JOINED)
    between_chunks(reader, lambda: database.execute("CREATE INDEX ON picked (at)"))
    reader.drain().stop()
    assert reader.fold("t") == contents(database, "t", "id IN (SELECT t_id FROM picked)")
    assert "later one" not in caplog.text


@pytest.mark.parametrize("moment", MOMENTS[:2])
def test_a_table_that_a_statement_joins_may_be_locked_for_a_while(
    database: Database, moment: Moment, caplog: pytest.LogCaptureFixture
) -> None:
    reader = reader_of(database, JOINED, snapshot__lock__timeout__ms="300")
    other = database.connect()
    reported = f"waiting for a lock on public.picked (held by {other.info.backend_pid}"

    def free() -> None:
        wait_for(lambda: any(reported in text for text in list(caplog.messages)))
        other.execute("COMMIT")

    thread = threading.Thread(target=free)

    def lock() -> None:
        other.execute("BEGIN")
        other.execute("ALTER TABLE picked ALTER t_id TYPE bigint")
        thread.start()

    moment(reader, lock)
    reader.drain().stop()
    thread.join()
    other.close()
    assert reader.fold("t") == contents(database, "t", "id IN (SELECT t_id FROM picked)")
