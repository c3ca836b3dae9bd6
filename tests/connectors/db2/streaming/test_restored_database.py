"""A database that goes back to an older state while the stream runs."""

from __future__ import annotations

import pytest

from headrace.connectors.db2.lsn import format_lsn
from headrace.errors import HeadraceError
from headrace_demo.db2.control_tables import SIMULATOR
from tests.connectors.db2.test_streaming import TABLE, Reader, reader_of
from tests.servers.db2 import SCHEMA, Db2Database

pytestmark = pytest.mark.db2

COMMITS = 1000


def move_log(database: Db2Database, commits: int) -> bytes:
    """Move Capture's synchpoint by `commits` (negative: back), while Capture is stopped."""
    number = int.from_bytes(database.capture.synchpoint()) + commits
    synchpoint = number.to_bytes(database.capture.width)
    database.execute(
        "UPDATE ASNCDC.IBMSNAP_REGISTER SET SYNCHPOINT = ? WHERE GLOBAL_RECORD = 'Y'",
        (synchpoint,),
    )
    database.execute(f"UPDATE {SIMULATOR}.COMMITS SET NUMBER = {number}")
    return synchpoint


def restored(database: Db2Database, **more: str) -> Reader:
    """A reader that has read COMMITS commits which its database, restored to an older state, no
    longer has. The restored database has one more row."""
    database.create_table("T", TABLE)
    reader = reader_of(database, headrace_acknowledge_interval="50 ms", **more)
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (1, 'one')")
    reader.await_changes(1)
    database.capture.await_captured()
    database.capture.stop()
    place = format_lsn(move_log(database, COMMITS))
    reader.step_until(lambda: reader.offsets[-1]["commit_lsn"] >= place)
    move_log(database, -COMMITS)
    database.execute(f"INSERT INTO {SCHEMA}.T VALUES (2, 'after')")
    database.capture.start()
    return reader


@pytest.mark.parametrize("connections_end", [False, True])
def test_a_synchpoint_that_goes_back_while_the_stream_runs_is_an_error(
    db2_database: Db2Database, connections_end: bool
) -> None:
    retries = {"errors_max_retries": "500", "retriable_restart_connector_wait_ms": "10"}
    reader = restored(db2_database, **(retries if connections_end else {}))
    if connections_end:  # a restore ends all connections
        db2_database.server.shut_down(db2_database.name)
    with pytest.raises(HeadraceError) as caught:
        reader.await_changes(2)
    reader.stop()
    assert caught.value.code == "db2.position_ahead"


def test_with_when_needed_a_restored_database_is_read_again(db2_database: Db2Database) -> None:
    reader = restored(db2_database, snapshot_mode="when_needed")
    values = reader.await_changes(3)
    reader.stop()
    assert [(value["op"], value["after"]["ID"]) for value in values] == [
        ("c", 1), ("r", 1), ("r", 2),
    ]  # fmt: skip
