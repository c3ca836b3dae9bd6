from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.postgresql.visibility import VisibleTransactions
from headrace.errors import HeadraceError
from tests.connectors.postgresql.harness import Reader, properties_with
from tests.servers.postgresql import Database

KEYED = (
    "CREATE TABLE t (id int PRIMARY KEY, v text, n int);"
    "ALTER TABLE t ALTER v SET STORAGE EXTERNAL;"
    "INSERT INTO t SELECT i, repeat('toasted ' || i || ' ', 400), i FROM generate_series(1, 1000) i"
)


properties = properties_with(
    {
        "headrace.snapshot.chunk.bytes": "10kB",
        "headrace.slices": "1",
    }
)


def table(database: Database, name: str = "t") -> dict[str, dict]:
    rows = database.execute(f"SELECT to_json(x) FROM {name} x")
    return {json.dumps({"id": row["id"]}): row for (row,) in rows}


def markers(reader: Reader, name: str) -> list[str]:
    return [e["source"]["snapshot"] for e in reader.events() if e["source"]["table"] == name]


@pytest.mark.postgres
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("postgres", [16, 18], indirect=True)
def test_chunks_hold_every_row_once_and_the_log_follows(database: Database) -> None:
    database.execute(
        KEYED + ';CREATE TABLE composite (a text COLLATE "C", b uuid DEFAULT gen_random_uuid(),'
        " c numeric, PRIMARY KEY (a, b));"
        "INSERT INTO composite SELECT 'key ' || i % 50, gen_random_uuid(), i"
        " FROM generate_series(1, 2250) i;"
        "CREATE TABLE empty (id int PRIMARY KEY)"
    )
    reader = Reader(properties(database))
    reader.step()
    database.execute("INSERT INTO t VALUES (-1, 'live', 0); DELETE FROM t WHERE id = 7")
    reader.drain()
    reader.stop()
    reads = [e for e in reader.events() if e["op"] == "r"]
    assert len(reads) == 1000 + 2250
    assert reader.fold("t") == table(database)
    assert len(reader.fold("composite")) == 2250
    assert max(len(offset.get("snapshot", {}).get("chunks", [])) for offset in reader.offsets) >= 1
    assert sum("snapshot" in offset for offset in reader.offsets) > 5
    assert len({record["sequence"] for record in reader.records}) == len(reader.records)
    snapshot_markers = markers(reader, "composite") + markers(reader, "t")
    assert snapshot_markers.count("first") == snapshot_markers.count("last") == 1
    assert (
        snapshot_markers.count("first_in_data_collection")
        == snapshot_markers.count("last_in_data_collection")
        == 1
    )
    assert snapshot_markers[0] == "first"


@pytest.mark.postgres
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    "between",
    [
        "UPDATE t SET n = -n WHERE id % 40 = 0",
        "VACUUM FULL t",
        "UPDATE t SET id = id + 10000 WHERE id % 100 = 0",
        "DELETE FROM t WHERE id % 3 = 0",
        "INSERT INTO t SELECT i, 'new', i FROM generate_series(5000, 5100) i",
    ],
)
def test_a_keyed_table_continues_at_its_next_chunk(database: Database, between: str) -> None:
    database.execute(KEYED)
    reader = Reader(properties(database))
    for _ in range(3):
        reader.step()
    before = len(reader.records)
    assert 0 < before < 1000
    reader.restart()
    database.execute(between)
    reader.drain()
    reader.stop()
    assert reader.fold("t") == table(database)
    reads = [json.dumps(e["key"]) for e in reader.events() if e["op"] == "r"]
    assert len(reads) == len(set(reads))
    assert reader.offsets[-1]["consistent"] > reader.offsets[1]["lsn_commit"]
    assert {e["source"]["lsn"] for e in reader.events() if e["op"] == "r"} == {
        reader.offsets[1]["lsn_commit"]
    }


@pytest.mark.postgres
@pytest.mark.usefixtures("small_chunks")
def test_a_chunk_whose_range_was_not_committed_is_read_again(database: Database) -> None:
    database.execute(KEYED)
    reader = Reader(properties(database))
    for _ in range(3):
        reader.step()
    end = reader.plan()
    first = {record["key"] for record in reader.read(end)}
    reader.restart()
    database.execute("UPDATE t SET n = 0")
    second = {record["key"] for record in reader.read(end)}
    assert first == second
    reader.stop()


@pytest.mark.postgres
@pytest.mark.usefixtures("small_chunks")
def test_a_keyless_table_that_was_being_read_starts_again_in_the_next_epoch(
    database: Database,
) -> None:
    database.execute(
        "CREATE TABLE k (a int, v text); ALTER TABLE k REPLICA IDENTITY FULL;"
        "INSERT INTO k SELECT i, repeat('x', 500) FROM generate_series(1, 1000) i"
    )
    reader = Reader(properties(database))
    for _ in range(3):
        reader.step()
    assert 0 < len(reader.records) < 1000
    reader.restart()
    database.execute("INSERT INTO k VALUES (9999, 'new')")
    reader.drain()
    reader.stop()
    assert reader.offsets[-1]["epoch"] == 2
    last = [e for e in reader.events() if e["sequence"].startswith("0002")]
    assert sorted(e["after"]["a"] for e in last) == [*range(1, 1001), 9999]


KEYLESS = (
    "CREATE TABLE k (a int, v text); ALTER TABLE k REPLICA IDENTITY FULL;"
    "INSERT INTO k SELECT i, repeat('x', 500) FROM generate_series(1, {rows}) i"
)


@pytest.mark.postgres
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("rows", [40, 1000])
def test_a_keyless_table_whose_last_chunk_may_be_of_another_snapshot_starts_again(
    database: Database, rows: int
) -> None:
    database.execute(KEYLESS.format(rows=rows))
    reader = Reader(properties(database))
    reader.step()
    while not (end := reader.plan())["snapshot"].get("done"):
        reader.step()
    reader.restart()
    database.execute("INSERT INTO k VALUES (9999, 'new')")
    reader.records += reader.read(end)
    reader.offsets.append(end)
    reader.drain()
    reader.stop()
    last = [e for e in reader.events() if e["sequence"].startswith("0002")]
    assert sorted(e["after"]["a"] for e in last) == [*range(1, rows + 1), 9999]


@pytest.mark.postgres
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("written", [False, True])
def test_a_kill_while_a_snapshot_starts_again_needs_no_hand(
    database: Database, written: bool
) -> None:
    database.execute(KEYLESS.format(rows=1000))
    reader = Reader(properties(database))
    for _ in range(3):
        reader.step()
    reader.restart()
    database.execute("INSERT INTO k VALUES (9999, 'new')")
    end = reader.plan()
    reader.restart()
    if written:
        assert reader.read(end) == []
        reader.offsets.append(end)
    database.execute("INSERT INTO k VALUES (10000, 'not twice')")
    reader.drain()
    reader.stop()
    # The snapshot of the attempt that was written down is lost too: yet another one.
    epoch = 3 if written else 2
    assert reader.offsets[-1]["epoch"] == epoch
    last = [e for e in reader.events() if e["sequence"].startswith(f"{epoch:04}")]
    assert sorted(e["after"]["a"] for e in last) == [*range(1, 1001), 9999, 10000]


@pytest.mark.postgres
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("moment", ["no offset was written", "the last chunk was not read"])
def test_rows_of_a_later_snapshot_say_from_where_on_they_are_consistent(
    database: Database, moment: str
) -> None:
    database.execute(KEYED)
    reader = Reader(properties(database))
    end = reader.plan()
    if moment == "the last chunk was not read":
        while not (end := reader.plan()).get("snapshot", {}).get("done"):
            reader.step()
    reader.restart()
    database.execute("UPDATE t SET n = -1")
    (late,) = database.execute("SELECT (pg_current_wal_lsn() - '0/0')::bigint")[0]
    if moment == "the last chunk was not read":
        reader.records += reader.read(end)
        reader.offsets.append(end)
        reader.restart()
    reader.drain()
    reader.stop()
    assert reader.fold("t") == table(database)
    assert reader.offsets[-1]["consistent"] >= late


@pytest.mark.postgres
@pytest.mark.usefixtures("small_chunks")
def test_a_role_with_the_least_privileges_reads_everything(database: Database) -> None:
    role = f"least_{database.name}"
    database.execute(KEYED)
    database.execute(f"CREATE PUBLICATION {database.name} FOR TABLE t")
    database.execute(
        f"CREATE ROLE {role} LOGIN REPLICATION; GRANT CONNECT ON DATABASE {database.name} TO"
        f" {role}; GRANT SELECT ON t TO {role}"
    )
    reader = Reader(
        properties(database, database__user=role, publication__autocreate__mode="disabled")
    )
    reader.step()
    database.execute("UPDATE t SET n = 0 WHERE id < 10")
    reader.drain()
    reader.stop()
    assert reader.fold("t") == table(database)
    database.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.postgres
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"table.include.list": "nowhere"}, "postgresql.no_tables"),
        ({"database.dbname": "nowhere"}, "postgresql.unknown_database"),
        ({"database.port": "1"}, "postgresql.unreachable"),
        ({"database.user": "nobody_known"}, "postgresql.authentication|postgresql.unknown"),
        (
            {"publication.autocreate.mode": "disabled", "publication.name": "missing"},
            "postgresql.publication_missing",
        ),
    ],
)
def test_a_start_that_fails_is_named_and_leaves_nothing_behind(
    database: Database, change: dict[str, str], code: str
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    reader = Reader(properties(database) | {"errors.max.retries": "0"} | change)
    with pytest.raises(HeadraceError, match=code):
        reader.step()
    reader.stop()
    assert database.execute("SELECT count(*) FROM pg_publication") == [(0,)]
    slots = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = %s"
    assert database.execute(slots, (database.name,)) == [(0,)]


@given(st.sets(st.integers(1, 30)), st.sets(st.integers(1, 30)), st.integers(1, 31))
def test_a_snapshot_covers_another_when_it_misses_nothing_that_the_other_sees(
    old_running: set[int], new_running: set[int], old_end: int
) -> None:
    def text(end: int, running: set[int]) -> str:
        inside = sorted(x for x in running if x < end)
        return f"{min(inside, default=end)}:{end}:{','.join(map(str, inside))}"

    old = VisibleTransactions(text(old_end, old_running))
    new = VisibleTransactions(text(31, new_running))
    seen_by_old = {x for x in range(1, old_end) if x not in old.running}
    missed_by_new = set(new_running)
    assert new.covers(old) == (not (seen_by_old & missed_by_new))
