"""Reading rows and log of a hot standby."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.connectors.postgresql.checks.database import check
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.errors import HeadraceError
from headrace.testing.embedded import PostgresServer
from tests.connectors.postgresql.harness import Reader, wait_for
from tests.servers.postgresql import Database
from tests.servers.standby import caught_up, running_transactions_logged, standby_of

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.parametrize("postgres", [16, 18], indirect=True),
]

TABLE = "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a'), (2, 'b')"


@pytest.fixture
def standby(database: Database) -> Iterator[PostgresServer]:
    with standby_of(database.server) as server:
        yield server


def reader_of(database: Database, standby: PostgresServer, **more: str) -> Reader:
    changes = {name.replace("__", "."): value for name, value in more.items()}
    of_standby = {"database.port": str(standby.port), "headrace.slices": "1"}
    return Reader(database.properties() | of_standby | changes)


def operations(reader: Reader) -> str:
    return "".join(event["op"] for event in reader.events())


def test_rows_and_changes_come_from_the_standby(
    database: Database, standby: PostgresServer
) -> None:
    database.execute(TABLE)
    database.execute(f"CREATE PUBLICATION {database.name} FOR TABLE t")
    caught_up(database.server, standby)
    reader = reader_of(
        database, standby, publication__autocreate__mode="filtered", slot__failover="true"
    )
    with running_transactions_logged(database.server):
        reader.step()
    reader.drain()
    assert operations(reader) == "rr"
    database.execute("INSERT INTO t VALUES (3, 'c'); DELETE FROM t WHERE id = 1")
    caught_up(database.server, standby)
    reader.drain().restart()
    database.execute("UPDATE t SET v = 'd' WHERE id = 2")
    caught_up(database.server, standby)
    reader.bounded = True
    reader.drain()
    reader.stop()
    assert operations(reader) == "rrcdu"
    slots = "SELECT slot_name FROM pg_replication_slots"
    assert standby.execute(slots) == [(database.name,)]
    assert database.execute(slots + f" WHERE database = '{database.name}'") == []
    reads = [e["source"] for e in reader.events() if e["op"] == "r"]
    assert {source["txId"] for source in reads} == {None}


def test_only_rows_are_read_of_a_standby_when_no_more_is_asked_for(
    database: Database, standby: PostgresServer
) -> None:
    database.execute(TABLE)
    caught_up(database.server, standby)
    reader = reader_of(database, standby, snapshot__mode="initial_only").drain()
    reader.stop()
    assert operations(reader) == "rr"


def test_chunks_are_read_at_once_of_a_standby(
    database: Database, standby: PostgresServer, tmp_path: Path
) -> None:
    database.execute(TABLE + "; INSERT INTO t SELECT i FROM generate_series(100, 300) i")
    database.execute(f"CREATE PUBLICATION {database.name} FOR TABLE t")
    caught_up(database.server, standby)
    file = tmp_path / "signals.jsonl"
    reader = reader_of(
        database,
        standby,
        snapshot__mode="no_data",
        read__only="true",
        incremental__snapshot__chunk__size="10",
        signal__enabled__channels="file",
        signal__file=str(file),
        signal__poll__interval__ms="0",
    )
    with running_transactions_logged(database.server):
        reader.step()
        send = {"type": "execute-snapshot", "data": {"data-collections": ["public.t"]}}
        file.write_text(json.dumps(send) + "\n")

        def all_read() -> bool:
            # The log moves, so that windows close.
            database.execute("UPDATE t SET v = v || '.' WHERE id = 1")
            reader.step()
            return len(reader.fold("t")) == 203

        wait_for(all_read)
    reader.stop()
    source_ids = [row[0] for row in database.execute("SELECT id FROM t ORDER BY id")]
    read = [e["after"]["id"] for e in reader.events() if e["op"] == "r"]
    assert [key for key in read if key != 1] == source_ids[1:]


@pytest.mark.parametrize(
    ("made", "code"), [("", "publication_missing"), ("FOR TABLE u", "publication_unsuitable")]
)
def test_a_publication_that_the_standby_cannot_correct_is_named(
    database: Database, standby: PostgresServer, made: str, code: str
) -> None:
    database.execute(TABLE + "; CREATE TABLE u (id int PRIMARY KEY)")
    if made:
        database.execute(f"CREATE PUBLICATION {database.name} {made}")
    caught_up(database.server, standby)
    reader = reader_of(database, standby, publication__autocreate__mode="filtered")
    with pytest.raises(HeadraceError, match=code):
        reader.step()
    reader.stop()
    assert standby.execute("SELECT count(*) FROM pg_replication_slots") == [(0,)]


def test_a_check_says_what_a_standby_needs(database: Database, standby: PostgresServer) -> None:
    database.execute(TABLE)
    database.execute(f"CREATE PUBLICATION {database.name} FOR TABLE t")
    standby.execute("ALTER SYSTEM SET hot_standby_feedback = off")
    standby.settings["hot_standby_feedback"] = "off"
    standby.restart()
    caught_up(database.server, standby)
    config = reader_of(database, standby).config
    assert isinstance(config, PostgresConfig)
    levels_by_code = {finding.code: finding.level for finding in check(config)}
    assert levels_by_code["postgresql.standby_feedback"] == "warning"
    assert "error" not in levels_by_code.values()
