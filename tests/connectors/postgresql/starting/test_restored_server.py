"""A server that was restored from a backup: its log ends before the checkpoint's position."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import pytest

from headrace.errors import HeadraceError
from headrace.testing.embedded import PostgresServer
from tests.connectors.postgresql.harness import Reader
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres


@pytest.fixture
def database() -> Iterator[Database]:
    server = PostgresServer(16)
    server.start()
    try:
        yield Database.create(server)
    finally:
        server.close()


def restored(database: Database, mode: str) -> Reader:
    """A reader whose checkpoint is newer than its server, which has the slot, a row and a change
    that it had not at the time of the checkpoint."""
    server = database.server
    backup = server.data.with_name("backup")
    database.execute("CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'a')")
    reader = Reader(database.properties() | {"snapshot.mode": mode}).drain().restart()
    server.stop()
    subprocess.run(["cp", "-a", str(server.data), str(backup)], check=True)  # with the owner
    server.start()
    database.execute(
        "INSERT INTO t SELECT i, repeat('v', 100) FROM generate_series(2, 1000) i;"
        "UPDATE t SET v = 'lost' WHERE id = 1"
    )
    reader.drain().restart()
    server.stop()
    shutil.rmtree(server.data)
    backup.rename(server.data)
    server.start()
    database.execute("UPDATE t SET v = 'after' WHERE id = 1")
    return reader


def test_changes_of_a_restored_server_are_not_skipped(database: Database) -> None:
    reader = restored(database, "initial")
    before = len(reader.records)
    with pytest.raises(HeadraceError, match=r"postgresql\.position_ahead"):
        reader.drain()
    reader.stop()
    assert len(reader.records) == before
    ((is_before,),) = database.execute(
        "SELECT confirmed_flush_lsn <= pg_current_wal_lsn() FROM pg_replication_slots"
    )
    assert is_before


def test_when_needed_reads_a_restored_server_again(database: Database) -> None:
    reader = restored(database, "when_needed").drain()
    reader.stop()
    again = [event for event in reader.events() if event["sequence"].startswith("0002")]
    assert again[0]["op"] == "r"
    assert {event["after"]["v"] for event in again} == {"after"}
    assert {event["after"]["id"] for event in again} == {1}
