from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.connectors.postgresql.reading.keeper import Keeper
from headrace.connectors.registry import parse_configuration
from headrace.errors import HeadraceError
from headrace.snapshots.modes import SnapshotRule
from headrace.testing.embedded import PostgresServer
from tests.connectors.postgresql.harness import Reader, wait_for
from tests.servers.postgresql import Database

BASED = "snapshot.mode.configuration.based"
TABLE = (
    "CREATE TABLE t (id int PRIMARY KEY, v text);"
    "INSERT INTO t SELECT i, 'v' || i FROM generate_series(1, 20) i"
)


SAFE = "SELECT 1 FROM pg_stat_activity WHERE datname = %s AND wait_event = 'SafeSnapshot'"


def reader_of(database: Database, **more: str) -> Reader:
    changes = {name.replace("__", "."): value for name, value in more.items()}
    return Reader(database.properties() | {"headrace.slices": "1"} | changes)


def operations(reader: Reader) -> str:
    return "".join(event["op"] for event in reader.events())


def slots(database: Database) -> int:
    query = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = %s"
    return int(database.execute(query, (database.name,))[0][0])


def table(database: Database) -> dict[str, dict]:
    rows = database.execute("SELECT to_json(x) FROM t x")
    return {json.dumps({"id": row["id"]}): row for (row,) in rows}


def wal_position(database: Database) -> int:
    return int(database.execute("SELECT (pg_current_wal_lsn() - '0/0')::bigint")[0][0])


@pytest.mark.postgres
def test_always_reads_every_row_at_each_start_and_loses_no_change_between(
    database: Database,
) -> None:
    database.execute(TABLE)
    reader = reader_of(database, snapshot__mode="always").drain().restart()
    assert operations(reader) == "r" * 20
    database.execute("DELETE FROM t WHERE id = 3; INSERT INTO t VALUES (21, 'new')")
    late = wal_position(database)
    reader.drain()
    # Debezium continues after the snapshot: the delete would never be reported.
    assert operations(reader) == "r" * 20 + "r" * 20 + "dc"
    assert reader.fold("t") == table(database)
    assert reader.offsets[-1]["epoch"] == 2
    assert reader.offsets[-1]["consistent"] >= late
    assert len({record["sequence"] for record in reader.records}) == len(reader.records)
    database.execute("UPDATE t SET v = 'x' WHERE id = 1")
    reader.drain().stop()
    assert operations(reader).endswith("dcu")


@pytest.mark.postgres
@pytest.mark.usefixtures("small_chunks")
def test_a_snapshot_of_always_that_was_cut_short_continues(database: Database) -> None:
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v text);"
        "INSERT INTO t SELECT i, repeat('v', 900) FROM generate_series(1, 1000) i"
    )
    more = {"snapshot__mode": "always", "headrace__snapshot__chunk__bytes": "10kB"}
    reader = reader_of(database, **more)
    for _ in range(3):
        reader.step()
    assert 0 < len(reader.records) < 1000
    reader.restart().drain().stop()
    assert operations(reader) == "r" * 1000


@pytest.mark.postgres
def test_always_replays_what_was_planned_before_its_rows(database: Database) -> None:
    database.execute(TABLE)
    reader = reader_of(database, snapshot__mode="always").drain()
    database.execute("UPDATE t SET v = 'planned' WHERE id = 1")
    end = reader.plan()
    assert end != reader.offsets[-1]
    reader.restart()
    reader.records += reader.read(end)
    reader.offsets.append(end)
    reader.drain().stop()
    assert operations(reader) == "r" * 20 + "u" + "r" * 20
    assert reader.fold("t") == table(database)


@pytest.mark.postgres
@pytest.mark.parametrize("postgres", [16, 18], indirect=True)
def test_initial_only_makes_neither_slot_nor_publication_and_reads_once(
    database: Database,
) -> None:
    database.execute(TABLE)
    reader = reader_of(database, snapshot__mode="initial_only").drain()
    database.execute("INSERT INTO t VALUES (21, 'new')")
    reader.drain().restart().drain().stop()
    assert operations(reader) == "r" * 20
    assert slots(database) == 0
    assert database.execute("SELECT count(*) FROM pg_publication") == [(0,)]


@pytest.mark.postgres
def test_initial_only_needs_no_more_than_select(database: Database) -> None:
    role = f"least_{database.name}"
    database.execute(TABLE)
    database.execute(f"CREATE ROLE {role} LOGIN; GRANT SELECT ON t TO {role}")
    more = {"snapshot__mode": "initial_only", "database__user": role}
    reader = reader_of(database, **more)
    reader.open().validate(None)
    reader.drain().stop()
    assert operations(reader) == "r" * 20
    database.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.postgres
@pytest.mark.usefixtures("small_chunks")
def test_initial_only_begins_again_when_its_snapshot_was_lost(database: Database) -> None:
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v text);"
        "INSERT INTO t SELECT i, repeat('v', 900) FROM generate_series(1, 1000) i"
    )
    more = {"snapshot__mode": "initial_only", "headrace__snapshot__chunk__bytes": "10kB"}
    reader = reader_of(database, **more)
    for _ in range(3):
        reader.step()
    assert 0 < len(reader.records) < 1000
    reader.restart()
    # No stream would report it.
    database.execute("UPDATE t SET v = 'later'; DELETE FROM t WHERE id = 1")
    reader.drain().stop()
    last = [e for e in reader.events() if e["sequence"].startswith("0002")]
    assert {e["after"]["v"] for e in last} == {"later"}
    assert len(last) == 999


@pytest.mark.postgres
def test_no_data_reads_no_rows_and_refuses_half_a_snapshot(database: Database) -> None:
    database.execute(TABLE)
    reader = reader_of(database, snapshot__mode="no_data").drain()
    database.execute("INSERT INTO t VALUES (21, 'new')")
    reader.drain().stop()
    assert operations(reader) == "c"
    half = reader_of(database, slot__name=f"{database.name}_2")
    half.step()
    half.step()
    half.stop()
    assert "snapshot" in half.offsets[-1]
    never = reader_of(database, slot__name=f"{database.name}_2", snapshot__mode="never")
    never.offsets = half.offsets
    with pytest.raises(HeadraceError, match="snapshot_unfinished"):
        never.step()
    never.restart()
    # Spark plans the last range again before it asks for another one.
    *never.offsets, planned = half.offsets
    with pytest.raises(HeadraceError, match="snapshot_unfinished"):
        never.read(planned)
    never.stop()


def lose(database: Database, how: str) -> None:
    """Drops the slot, or creates another one in its place; a change happens meanwhile."""
    database.drop_slot()
    database.execute("DELETE FROM t WHERE id = 20; INSERT INTO t VALUES (21, 'unseen')")
    if how == "created again":
        make = "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')"
        database.execute(make, (database.name,))


@pytest.mark.postgres
@pytest.mark.parametrize("how", ["gone", "created again"])
@pytest.mark.parametrize("mode", ["when_needed", "always", "configuration_based"])
def test_a_lost_position_is_met_with_a_new_snapshot(
    database: Database, mode: str, how: str
) -> None:
    database.execute(TABLE)
    parts = {f"{BASED}.start.stream": "true", f"{BASED}.snapshot.on.data.error": "true"}
    reader = reader_of(database, snapshot__mode=mode, **parts).drain().restart()
    assert operations(reader) == ("" if mode == "configuration_based" else "r" * 20)
    lose(database, how)
    reader.drain()
    database.execute("UPDATE t SET v = 'seen' WHERE id = 1")
    reader.drain().stop()
    assert reader.offsets[-1]["epoch"] == 2
    last = [e for e in reader.events() if e["sequence"].startswith("0002")]
    assert "".join(e["op"] for e in last) == "r" * 20 + "u"
    assert {"id": 21, "v": "unseen"} in [e["after"] for e in last]


@pytest.mark.postgres
@pytest.mark.parametrize("how", ["gone", "moved"])
def test_when_needed_leaves_what_was_planned_last_to_the_new_snapshot(
    database: Database, how: str
) -> None:
    database.execute(TABLE)
    reader = reader_of(database, snapshot__mode="when_needed").drain()
    database.execute("UPDATE t SET v = 'planned' WHERE id = 1")
    end = reader.plan()
    assert end != reader.offsets[-1]
    reader.restart()
    if how == "gone":
        lose(database, how)
    else:
        # No further than what was planned: after it, the slot would look right.
        end_lsn = f"{end['lsn_commit'] >> 32:X}/{end['lsn_commit'] & 0xFFFFFFFF:X}"
        database.advance_slot(end_lsn)
    assert reader.read(end) == []
    reader.offsets.append(end)
    reader.restart().drain().stop()
    last = [e for e in reader.events() if e["sequence"].startswith("0002")]
    assert {json.dumps(e["key"]): e["after"] for e in last} == table(database)


@pytest.mark.postgres
@pytest.mark.parametrize("how", ["gone", "created again"])
@pytest.mark.parametrize("mode", ["initial", "no_data"])
def test_a_lost_position_is_never_a_silent_gap(database: Database, mode: str, how: str) -> None:
    database.execute(TABLE)
    reader = reader_of(database, snapshot__mode=mode).drain().restart()
    lose(database, how)
    code = "slot_missing" if how == "gone" else "slot_moved"
    with pytest.raises(HeadraceError, match=code):
        reader.drain()
    with pytest.raises(HeadraceError, match=code):
        reader.open().validate(reader.offsets[-1])
    reader.stop()


@pytest.mark.postgres
def test_when_needed_reads_rows_only_when_it_must(database: Database) -> None:
    database.execute(TABLE)
    reader = reader_of(database, snapshot__mode="when_needed").drain().restart()
    database.execute("UPDATE t SET v = 'x' WHERE id = 1")
    reader.drain().stop()
    assert operations(reader) == "r" * 20 + "u"


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("data", "stream", "expected"),
    [
        ("true", "true", "r" * 20 + "c" + "r" * 21 + "c"),
        ("true", "false", "r" * 20 + "r" * 21),
        ("false", "true", "cc"),
    ],
)
def test_configuration_based_does_what_its_parts_say(
    database: Database, data: str, stream: str, expected: str
) -> None:
    database.execute(TABLE)
    parts = {
        "snapshot__mode": "configuration_based",
        f"{BASED}.snapshot.data": data,
        f"{BASED}.start.stream": stream,
    }
    reader = reader_of(database, **parts).drain()
    database.execute("INSERT INTO t VALUES (21, 'first')")
    reader.drain().restart().drain()
    database.execute("INSERT INTO t VALUES (22, 'second')")
    reader.drain().stop()
    assert operations(reader) == expected
    assert slots(database) == (stream == "true")


def rule(**more: str) -> SnapshotRule:
    properties = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "topic.prefix": "headrace",
        "database.hostname": "h",
        "database.user": "u",
        "database.dbname": "d",
    } | {name.replace("__", "."): value for name, value in more.items()}
    config = parse_configuration(properties)
    return SnapshotRule.of(config)  # type: ignore[arg-type]


def test_configuration_based_repairs_a_lost_position_when_asked() -> None:
    parts = {"snapshot__mode": "configuration_based", f"{BASED}.start.stream": "true"}
    assert not rule(**parts).repairs
    assert rule(**parts, **{f"{BASED}.snapshot.on.data.error": "true"}).repairs


def test_configuration_based_that_does_nothing_is_refused() -> None:
    with pytest.raises(HeadraceError, match="neither rows nor changes"):
        rule(snapshot__mode="configuration_based")


def waiting(database: Database, query_start: str) -> bool:
    query = (
        "SELECT 1 FROM pg_stat_activity WHERE datname = %s AND query LIKE %s"
        " AND wait_event_type = 'Lock'"
    )
    return bool(database.execute(query, (database.name, f"{query_start}%")))


@pytest.mark.postgres
def test_shared_locks_hold_off_a_change_and_give_way_without_losing_a_row(
    database: Database,
) -> None:
    database.execute(TABLE)
    more = {"snapshot__lock__timeout__ms": "1000", "retriable__restart__connector__wait__ms": "50"}
    reader = reader_of(database, snapshot__locking__mode="shared", **more)
    reader.step()
    with database.connect() as other, ThreadPoolExecutor(1) as pool:
        other.execute("SET statement_timeout = 120000")
        # It rewrites the table: an older snapshot would find it empty.
        altered = pool.submit(other.execute, "ALTER TABLE t ALTER id TYPE bigint")
        wait_for(lambda: waiting(database, "ALTER"))
        reader.drain()
        altered.result(120)
    reader.stop()
    assert operations(reader) == "r" * 20
    assert reader.fold("t") == table(database)


@pytest.mark.postgres
def test_a_lock_that_is_not_given_is_named_and_leaves_nothing_behind(database: Database) -> None:
    database.execute(TABLE)
    more = {"snapshot__locking__mode": "shared", "snapshot__lock__timeout__ms": "100"}
    reader = reader_of(database, errors__max__retries="0", **more)
    with database.connect() as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE t")
        with pytest.raises(HeadraceError, match="lock_timeout"):
            reader.step()
    assert slots(database) == 0
    reader.drain().stop()
    assert operations(reader) == "r" * 20


@pytest.mark.postgres
def test_a_slot_that_waits_for_an_open_transaction_is_given_up_in_time(database: Database) -> None:
    database.execute(TABLE)
    more = {"internal__create__slot__command__timeout": "500 ms", "errors__max__retries": "0"}
    reader = reader_of(database, **more)
    with database.connect() as other:
        other.execute("BEGIN")
        other.execute("INSERT INTO t VALUES (21, 'open')")
        with pytest.raises(HeadraceError, match="slot_timeout"):
            reader.step()
        other.execute("ROLLBACK")
    assert slots(database) == 0
    reader.drain().stop()
    assert operations(reader) == "r" * 20


@pytest.mark.postgres
@pytest.mark.parametrize("mode", ["serializable", "repeatable_read", "read_committed"])
def test_a_snapshot_without_a_new_slot_has_the_isolation_asked_for(
    database: Database, mode: str
) -> None:
    database.execute(TABLE)
    more = {"snapshot__mode": "initial_only", "snapshot__isolation__mode": mode}
    keeper = Keeper(reader_of(database, **more).config)  # type: ignore[arg-type]
    isolation_row = keeper.connection.execute("SHOW transaction_isolation").fetchone()
    expected = "serializable" if mode == "serializable" else "repeatable read"
    assert isolation_row == (expected,)
    keeper.close()
    reader = reader_of(database, **more).drain()
    reader.stop()
    assert operations(reader) == "r" * 20


@pytest.mark.postgres
def test_a_serializable_snapshot_waits_until_it_is_safe(database: Database) -> None:
    database.execute(TABLE)
    reader = reader_of(database, snapshot__mode="initial_only")
    with database.connect() as writer, database.connect() as other:
        # Both write, and each reads what the other writes.
        for session in (writer, other):
            session.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
            session.execute("SELECT count(*) FROM t")
        writer.execute("INSERT INTO t VALUES (21, 'x')")
        with ThreadPoolExecutor(1) as pool:
            begun = pool.submit(reader.step)
            wait_for(lambda: database.execute(SAFE, (database.name,)))
            assert not begun.done()
            writer.execute("COMMIT")
            other.execute("COMMIT")
            assert begun.result(120)
    reader.drain().stop()
    assert operations(reader) in ("r" * 20, "r" * 21)


@pytest.mark.postgres
def test_delays_are_waited_for_without_holding_up_a_poll(database: Database) -> None:
    database.execute(TABLE)
    more = {"snapshot__delay__ms": "300", "streaming__delay__ms": "3000"}
    reader = reader_of(database, **more)
    started = time.monotonic()
    reader.step()
    assert time.monotonic() - started >= 0.3
    while "snapshot" in reader.offsets[-1]:
        reader.step()
    database.execute("INSERT INTO t VALUES (21, 'new')")
    assert not reader.step(0.2)
    assert operations(reader) == "r" * 20
    wait_for(lambda: reader.step(0.5))
    reader.stop()
    assert operations(reader) == "r" * 20 + "c"


@pytest.mark.postgres
@pytest.mark.parametrize(("threads", "most"), [(None, 3), ("2", 2)])
def test_as_many_connections_read_as_is_allowed(
    database: Database, threads: str | None, most: int
) -> None:
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v text);"
        "INSERT INTO t SELECT i, repeat('v', 900) FROM generate_series(1, 9000) i"
    )
    more = {} if threads is None else {"snapshot.max.threads": threads}
    properties = database.properties() | {"headrace.snapshot.chunk.bytes": "1MB"} | more
    reader = Reader(properties).drain()
    reader.stop()
    assert max(o["slices"] for o in reader.offsets if o.get("snapshot")) == most
    markers = [e["source"]["snapshot"] for e in reader.events()]
    assert (markers[0], markers[-1]) == ("first", "last")
    assert set(markers[1:-1]) == {"true"}


@pytest.mark.postgres
def test_a_slot_whose_log_was_removed_is_an_error_or_repaired() -> None:
    limits = {"max_slot_wal_keep_size": "1MB", "max_wal_size": "32MB", "min_wal_size": "32MB"}
    with PostgresServer(16, limits) as server:
        database = Database.create(server)
        database.execute(TABLE)
        reader = reader_of(database, snapshot__mode="initial").drain().restart()
        for _ in range(4):
            database.execute("SELECT pg_logical_emit_message(false, 'fill', repeat('x', 9000000))")
            database.execute("SELECT pg_switch_wal()")
            database.execute("CHECKPOINT")
        query = "SELECT wal_status FROM pg_replication_slots"
        assert database.execute(query) == [("lost",)]
        with pytest.raises(HeadraceError, match="slot_lost"):
            reader.drain()
        reader.stop()
        again = reader_of(database, snapshot__mode="when_needed")
        again.offsets = reader.offsets
        again.open().validate(again.offsets[-1])
        again.drain()
        database.execute("INSERT INTO t VALUES (21, 'new')")
        again.drain().stop()
        assert operations(again) == "r" * 20 + "c"
        assert database.execute(query) == [("reserved",)]


@pytest.mark.postgres
def test_always_reads_rows_in_the_middle_of_a_transaction(database: Database) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    reader = reader_of(database, snapshot__mode="always", headrace__range__max__rows="100").drain()
    database.execute("INSERT INTO t SELECT i, 'v' FROM generate_series(1, 1000) i")
    while "txn" not in reader.offsets[-1]:
        reader.step()
    before = len(reader.records)
    assert 0 < before < 1000
    reader.restart().drain()
    database.execute("UPDATE t SET v = 'x' WHERE id = 1")
    reader.drain().stop()
    event_operations = operations(reader)
    assert event_operations == "c" * before + "r" * 1000 + "c" * (1000 - before) + "u"
    assert len({record["sequence"] for record in reader.records}) == len(reader.records)
    assert reader.fold("t") == table(database)
