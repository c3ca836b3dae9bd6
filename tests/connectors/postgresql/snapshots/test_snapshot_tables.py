from __future__ import annotations

import pytest

from headrace.errors import HeadraceError
from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database

OVERRIDES = "snapshot.select.statement.overrides"

pytestmark = pytest.mark.postgres


def reader_of(database: Database, **more: str) -> Reader:
    changes = {name.replace("__", "."): value for name, value in more.items()}
    return Reader(database.properties() | {"headrace.slices": "1"} | changes)


def rows(reader: Reader, table: str) -> list[dict]:
    return [e["after"] for e in reader.events() if e["source"]["table"] == table]


def order(reader: Reader) -> list[str]:
    return list(dict.fromkeys(e["source"]["table"] for e in reader.events()))


def test_a_statement_of_its_own_gives_the_tables_columns_and_types(database: Database) -> None:
    database.execute(
        "CREATE TABLE t (id int PRIMARY KEY, v varchar(9), n numeric(8,2), gone bool);"
        "INSERT INTO t VALUES (1, 'a', 1, false), (2, 'b', 2, true), (3, 'c', NULL, false);"
        "CREATE TABLE u (id int PRIMARY KEY); INSERT INTO u VALUES (1), (2)"
    )
    more = {
        OVERRIDES: "public.t , public.u",
        f"{OVERRIDES}.public.t": "SELECT n::float8 * 3 AS n, id::bigint AS id, 'unknown' AS more,"
        " v || '!' AS v FROM t WHERE NOT gone ORDER BY id DESC -- no more;",
        "decimal.handling.mode": "string",
    }
    reader = reader_of(database, **more).drain()
    assert rows(reader, "t") == [
        {"id": 3, "v": "c!", "n": None, "gone": None},
        {"id": 1, "v": "a!", "n": "3.00", "gone": None},
    ]
    # No statement was given: all of its rows.
    assert rows(reader, "u") == [{"id": 1}, {"id": 2}]
    database.execute("INSERT INTO t VALUES (4, 'd', 4, true)")
    reader.drain().stop()
    assert rows(reader, "t")[-1]["gone"] is True


@pytest.mark.parametrize(
    "statement", ["SELECT", "SELECT id FROM nowhere", "SELECT 1; DROP TABLE t", "DELETE FROM t"]
)
def test_a_statement_that_is_no_select_of_the_table_is_named_at_the_start(
    database: Database, statement: str
) -> None:
    database.execute("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    more = {OVERRIDES: "public.t", f"{OVERRIDES}.public.t": statement}
    reader = reader_of(database, **more)
    with pytest.raises(HeadraceError, match=r"overrides\.public\.t"):
        reader.drain()
    reader.stop()
    assert database.execute("SELECT count(*) FROM t") == [(1,)]
    assert database.execute("SELECT count(*) FROM pg_publication") == [(0,)]


def test_a_statement_of_a_partitioned_table_reads_it_once(database: Database) -> None:
    database.execute(
        "CREATE TABLE p (id int PRIMARY KEY) PARTITION BY RANGE (id);"
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);"
        "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20);"
        "INSERT INTO p SELECT generate_series(1, 19)"
    )
    more = {
        OVERRIDES: "public.p",
        f"{OVERRIDES}.public.p": "SELECT * FROM p WHERE id % 5 = 0",
        "table.include.list": "public.p",
        "publish.via.partition.root": "true",
    }
    reader = reader_of(database, **more).drain()
    reader.stop()
    assert rows(reader, "p") == [{"id": 5}, {"id": 10}, {"id": 15}]


def test_a_table_with_a_statement_is_read_again_when_its_snapshot_was_lost(
    database: Database,
) -> None:
    database.execute(
        "CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a SELECT generate_series(1, 50);"
        "CREATE TABLE b (id int PRIMARY KEY, v text);"
        "INSERT INTO b SELECT i, repeat('x', 900) FROM generate_series(1, 4000) i"
    )
    more = {
        OVERRIDES: "public.a",
        f"{OVERRIDES}.public.a": "SELECT * FROM a WHERE id % 2 = 0",
        "headrace.snapshot.chunk.bytes": "40kB",
    }
    reader = reader_of(database, **more)
    reader.step()
    end = reader.plan()
    reader.restart()
    database.execute("UPDATE a SET id = id + 100 WHERE id = 2")
    reader.records += reader.read(end)
    reader.offsets.append(end)
    reader.drain().stop()
    assert len(reader.fold("a")) == 25
    assert len(reader.fold("b")) == 4000


def test_only_the_rows_of_the_chosen_tables_are_read(database: Database) -> None:
    database.execute(
        "CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY);"
        "INSERT INTO a VALUES (1); INSERT INTO b VALUES (1)"
    )
    reader = reader_of(database, snapshot__include__collection__list="public.B").drain()
    database.execute("INSERT INTO a VALUES (2)")
    reader.drain().stop()
    assert [(e["source"]["table"], e["op"]) for e in reader.events()] == [("b", "r"), ("a", "c")]
    assert reader.events()[0]["source"]["snapshot"] == "last"


@pytest.mark.parametrize(
    ("direction", "expected"),
    [("disabled", "abc"), ("ascending", "bca"), ("descending", "acb")],
)
def test_tables_are_read_by_their_number_of_rows(
    database: Database, direction: str, expected: str
) -> None:
    database.execute(
        "CREATE TABLE a (id int PRIMARY KEY, v text); CREATE TABLE b (LIKE a INCLUDING ALL);"
        "CREATE TABLE c (LIKE a INCLUDING ALL);"
        "INSERT INTO a SELECT i, 'x' FROM generate_series(1, 300) i; INSERT INTO b VALUES (1);"
        "INSERT INTO c SELECT i, repeat('x', 900) FROM generate_series(1, 200) i; ANALYZE a"
    )
    reader = reader_of(database, snapshot__tables__order__by__row__count=direction).drain()
    reader.stop()
    assert "".join(order(reader)) == expected
    markers = [e["source"]["snapshot"] for e in reader.events()]
    assert markers[-1] == "last"
    assert markers.count("last") == 1
    assert markers.count("last_in_data_collection") == 2


def test_a_table_without_key_is_read_before_larger_ones(database: Database) -> None:
    database.execute(
        "CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a SELECT generate_series(1, 9);"
        "CREATE TABLE b (id int); INSERT INTO b VALUES (1)"
    )
    more = {"snapshot__tables__order__by__row__count": "descending"}
    reader = reader_of(database, headrace__snapshot__chunk__bytes="1", **more).drain()
    reader.stop()
    assert order(reader) == ["b", "a"]
