"""Failures while redo is read: some are tried again, others end the stream with an error."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.streaming.windows import pacing
from tests.connectors.harness import wait_for
from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

TABLE = "INV.T"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs that are switched are looked for sooner."""
    monkeypatch.setattr(pacing, "_SHORTEST_WAIT", 0.05)
    monkeypatch.setattr(pacing, "_ARCHIVING_WAIT", 0.05)


@pytest.fixture
def reading(oracle_database: OracleDatabase) -> Iterator[OracleReader]:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database)
    yield reader
    reader.stop()


def add(database: OracleDatabase, *numbers: int, thread: int = 1) -> None:
    """Rows, in one transaction."""
    with database.transaction(thread=thread) as transaction:
        for number in numbers:
            transaction.insert(TABLE, ID=number, NAME="x")


@pytest.mark.parametrize(
    ("code", "when"), [(1291, "START_LOGMNR"), (310, "START_LOGMNR"), (310, "FETCH_REDO")]
)
def test_a_log_that_is_switched_meanwhile_is_looked_for_again(
    reading: OracleReader, oracle_database: OracleDatabase, code: int, when: str
) -> None:
    oracle_database.server.apply([{"error": code, "when": when, "times": 2}, {"switch": 1}])
    add(oracle_database, 1, 2)
    reading.await_changes(2)
    assert reading.ids() == [1, 2]


def test_a_log_that_is_switched_in_the_middle_of_a_fetch_ends_the_window(
    oracle_database: OracleDatabase,
) -> None:
    """However often: each window goes on after what was read."""
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    for number in range(24):
        add(oracle_database, number)
    oracle_database.server.apply([{"error": 310, "when": "FETCH_REDO", "times": 7, "after": 2}])
    reader = OracleReader.of(oracle_database, query_fetch_size="6")
    for number in range(24, 48):
        add(oracle_database, number)
    reader.await_changes(24)
    assert reader.ids() == list(range(24, 48))
    reader.stop()


def test_a_log_that_stays_missing_ends_the_stream(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    oracle_database.server.apply([{"error": 1291, "when": "START_LOGMNR", "times": 100}])
    error = reading.failure()
    assert (error.code, error.retriable) == ("oracle.missing_log", True)


def test_logs_that_were_removed_are_reported(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    add(oracle_database, 1)
    reading.await_changes(1)
    reading.stop()
    server = oracle_database.server
    server.apply([{"switch": 1}] * 4)
    server.apply([{"delete_logs": [1, 2, 3]}])
    error = reading.failure()
    assert error.code == "oracle.redo_gone"
    assert "snapshot.mode=when_needed" in error.remedy


def test_many_log_switches_lose_nothing(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    for number in range(8):
        add(oracle_database, number)
        oracle_database.server.apply([{"switch": 1}])
        if number % 3 == 0:
            reading.step()
    reading.await_changes(8)
    assert reading.ids() == list(range(8))


def test_redo_threads_that_open_and_close_are_followed(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    server = oracle_database.server
    add(oracle_database, 1)
    server.apply([{"open_thread": 2}])
    add(oracle_database, 2, thread=2)
    add(oracle_database, 3)
    reading.await_changes(3)
    server.apply([{"close_thread": 2}])
    add(oracle_database, 4)
    reading.await_changes(4)
    reading.restart()
    add(oracle_database, 5)
    reading.await_changes(5)
    assert reading.ids() == [1, 2, 3, 4, 5]
    threads = [value["source"]["redo_thread"] for value in reading.values()]
    assert threads == [1, 2, 1, 1, 1]


def test_the_databases_clock_may_change(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    add(oracle_database, 1)
    (first,) = reading.await_changes(1)
    oracle_database.change(offset="+02:00")
    reading.restart()
    add(oracle_database, 2)
    _, second = reading.await_changes(2)
    scns = [int(value["source"]["scn"]) for value in (first, second)]
    times = [value["source"]["ts_ms"] for value in (first, second)]
    assert times[1] - times[0] == (scns[1] - scns[0]) * 1000 - 2 * 3600 * 1000


def test_a_stream_waits_for_redo_that_does_not_reach_its_position(
    oracle_database: OracleDatabase,
) -> None:
    """The slowest redo thread may have written less than the SCN at which the stream begins."""
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    oracle_database.change(thread_states={1: {"LAST_REDO_CHANGE#": 5}})
    reader = OracleReader.of(oracle_database)
    add(oracle_database, 1)
    reader.look_again(oracle_database)
    assert reader.values() == []
    oracle_database.change(thread_states={})
    reader.await_changes(1)
    reader.stop()


def test_a_statement_that_is_not_understood_ends_the_stream_or_is_left_out(
    oracle_database: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    for mode in ("fail", "warn"):
        reader = OracleReader.of(oracle_database, event_processing_failure_handling_mode=mode)
        oracle_database.server.apply(
            [{"redo": "INSERT", "xid": "0b00010001000000", "table": TABLE, "sql": "grr;",
              "row_id": "AAAAAAAAAAAAAAAA01"},
             {"redo": "COMMIT", "xid": "0b00010001000000"}]
        )  # fmt: skip
        if mode == "fail":
            assert reader.failure().code == "oracle.redo_not_understood"
        else:
            add(oracle_database, 1)
            reader.await_changes(1)
            assert "is left out" in caplog.text
        reader.stop()


def test_a_change_that_logminer_cannot_reconstruct_ends_the_stream(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    oracle_database.server.apply(
        [{"redo": "INSERT", "xid": "0b00010001000000", "table": TABLE, "sql": "x", "status": 2,
          "info": "Object version mismatch", "row_id": "AAAAAAAAAAAAAAAA01"}]
    )  # fmt: skip
    error = reading.failure()
    assert error.code == "oracle.redo_not_reconstructed"
    assert "Object version mismatch" in error.message


def test_an_update_with_status_2_and_no_reason_is_an_event(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    update = """update "INV"."T" set "NAME" = 'e' where "ID" = '1' and "NAME" = 'x';"""
    oracle_database.server.apply(
        [{"redo": "UPDATE", "xid": "0b00010001000000", "table": TABLE, "sql": update, "status": 2,
          "row_id": "AAAAAAAAAAAAAAAA01"},
         {"redo": "COMMIT", "xid": "0b00010001000000"}]
    )  # fmt: skip
    reading.await_changes(1)
    assert reading.images() == [("u", {"ID": 1, "NAME": "x"}, {"ID": 1, "NAME": "e"})]


def test_a_broken_connection_is_named_and_what_follows_is_read(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    add(oracle_database, 1)
    reading.await_changes(1)
    oracle_database.server.call("end_sessions")
    error = reading.failure()
    assert (error.code, error.retriable) == ("oracle.connection_lost", True)
    reading.restart()
    add(oracle_database, 2)
    reading.await_changes(2)
    assert reading.ids() == [1, 2]


def test_a_restart_whose_pluggable_database_opens_later_than_the_root_is_waited_for(
    stand_in: OracleDatabase,
) -> None:
    stand_in.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(
        stand_in, errors_max_retries="-1", retriable_restart_connector_wait_ms="10"
    )
    add(stand_in, 1)
    reader.await_changes(1)
    stand_in.change(pdb_is_open=False)
    refused = stand_in.sent("set_container")
    stand_in.server.call("end_sessions")

    def open_late() -> None:
        wait_for(lambda: stand_in.sent("set_container") >= refused + 4)
        add(stand_in, 2)
        stand_in.change(pdb_is_open=True)

    # One micro-batch tries again until it is open.
    with ThreadPoolExecutor(1) as pool:
        opened = pool.submit(open_late)
        reader.await_changes(2)
        opened.result()
    reader.stop()
    assert reader.ids() == [1, 2]


@pytest.mark.parametrize("status", ["FULL", "ERROR"])
def test_a_recovery_area_that_is_full_is_waited_for_and_what_is_archived_is_read(
    stand_in: OracleDatabase, status: str, caplog: pytest.LogCaptureFixture
) -> None:
    stand_in.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(
        stand_in, errors_max_retries="-1", retriable_restart_connector_wait_ms="10"
    )
    add(stand_in, 1)
    reader.await_changes(1)
    reader.stop()
    add(stand_in, 2)
    stand_in.server.apply([{"switch": 1}] * 4)  # archived, and its group is written again
    add(stand_in, 3)
    stand_in.change(destination_status=status)
    reader.await_changes(3)
    assert f"LOG_ARCHIVE_DEST_1 has the status {status}" in caplog.text
    stand_in.server.apply([{"error": 257, "when": "CURRENT_SCN", "times": 3}, {"switch": 1}])
    add(stand_in, 4)
    reader.await_changes(4)
    reader.stop()
    assert reader.ids() == [1, 2, 3, 4]


def test_a_position_of_another_database_is_refused(reading: OracleReader) -> None:
    reading.stop()
    reading.offsets[-1] |= {"committed": "999999999999", "scn": "999999999999"}
    assert reading.failure().code == "oracle.position_ahead"


def test_a_database_that_was_restored_is_refused_though_it_is_past_the_position(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    add(oracle_database, 1)
    reading.await_changes(1)
    reading.stop()
    scn = int(reading.offsets[-1]["scn"])
    oracle_database.change(resetlogs=[scn - 1, "2024-02-01 00:00:00"])
    add(oracle_database, 2)
    error = reading.failure()
    assert error.code == "oracle.position_ahead"
    assert "RESETLOGS" in error.message


def test_a_database_that_was_restored_while_it_was_read_is_refused(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(
        oracle_database, errors_max_retries="5", retriable_restart_connector_wait_ms="10"
    )
    add(oracle_database, 1)
    reader.await_changes(1)
    scn = int(reader.offsets[-1]["scn"])
    oracle_database.change(resetlogs=[scn - 1, "2024-02-01 00:00:00"])
    oracle_database.server.apply([{"error": 3113, "when": "CURRENT_SCN", "times": 1}])
    add(oracle_database, 2)
    error = reader.failure()
    assert error.code == "oracle.position_ahead"
    assert "RESETLOGS" in error.message


def test_a_position_from_before_a_restoration_continues(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    add(oracle_database, 1)
    reading.await_changes(1)
    reading.stop()
    resetlogs = [oracle_database.server.call("scn") + 1, "2024-02-01 00:00:00"]
    oracle_database.change(resetlogs=resetlogs)
    add(oracle_database, 2)
    for number in (3, 4):
        reading.await_changes(number - 1)
        reading.restart()
        add(oracle_database, number)
    reading.await_changes(4)
    assert reading.offsets[-1]["system"] == str(resetlogs[0])


@pytest.mark.parametrize("code", [4030, 4036, 27102])
def test_a_mining_session_without_memory_is_reported_and_started_again(
    reading: OracleReader, oracle_database: OracleDatabase, code: int
) -> None:
    oracle_database.server.apply([{"error": code, "when": "FETCH_REDO", "times": 1}])
    add(oracle_database, 1)
    error = reading.failure()
    assert (error.code, error.retriable) == ("oracle.memory", True)
    assert "log.mining.restart.connection" in error.remedy
    reading.restart()
    add(oracle_database, 2)
    reading.await_changes(2)
    assert reading.ids() == [1, 2]


@pytest.mark.parametrize("when", ["FETCH_REDO", "START_LOGMNR"])
def test_a_window_that_took_too_long_is_read_again_and_may_take_twice_as_long(
    oracle_database: OracleDatabase, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    limits: list[int] = []
    set_limit = Connection.limit

    def recorded(connection: Connection, milliseconds: int) -> int:
        limits.append(milliseconds)
        return set_limit(connection, milliseconds)

    monkeypatch.setattr(Connection, "limit", recorded)
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(
        oracle_database, errors_max_retries="5", retriable_restart_connector_wait_ms="10"
    )
    limited: list[int] = []
    execute = Connection.execute

    def noted(connection: Connection, statement: str, *more: Any) -> None:
        if "START_LOGMNR" in statement:
            limited.append(connection._native.call_timeout)
        execute(connection, statement, *more)

    monkeypatch.setattr(Connection, "execute", noted)
    oracle_database.server.apply([{"error": 1013, "when": when, "times": 2}])
    add(oracle_database, 1)
    reader.await_changes(1)
    reader.stop()
    assert reader.ids() == [1]
    assert set(limited) == {600_000, 1_200_000, 2_400_000}
    assert set(limits) == {600_000, 1_200_000, 2_400_000}
    assert limits[-1] == 600_000  # of other statements


def test_a_commit_of_no_thread_is_of_no_account_unless_it_has_changes(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    server = oracle_database.server
    empty, full = "0c00110022330000", "0c00120022330000"
    statement = 'insert into "INV"."T"("ID","NAME") values (\'7\',\'x\');'
    server.apply(
        [
            {"redo": "START", "xid": empty},
            {"redo": "START", "xid": full},
            {"redo": "INSERT", "xid": full, "table": TABLE, "sql": statement},
            {"redo": "COMMIT", "xid": empty, "thread": 0},
            {"redo": "COMMIT", "xid": full, "thread": 0},
        ]
    )
    add(oracle_database, 1)
    (first, _) = reading.await_changes(2)
    assert reading.ids() == [7, 1]
    assert first["source"]["redo_thread"] == 0
    threads = {commit.split(":")[1] for commit in reading.offsets[-1]["commit_scn"].split(",")}
    assert threads <= {"0", "1"}
    assert empty not in reading.offsets[-1]["commit_scn"]


def test_waiting_for_logs_and_log_switches_are_counted_apart(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    reader = OracleReader.of(oracle_database, internal_log_mining_log_query_max_retries="3")
    server = oracle_database.server

    def counted(name: str) -> int:
        return int(server.call("counted").get(name, 0))

    begun = counted("start_logmnr")
    server.apply([{"error": 1291, "when": "START_LOGMNR", "times": 3}])
    add(oracle_database, 1)
    reader.step_until(lambda: counted("start_logmnr") >= begun + 3)
    oracle_database.change(archives=False)
    server.apply([{"switch": 1}])
    looked = counted("archived_logs")
    add(oracle_database, 2)
    reader.step_until(lambda: counted("archived_logs") > looked)
    oracle_database.change(archives=True)
    reader.await_changes(2)
    reader.stop()
    assert reader.ids() == [1, 2]


def test_a_database_that_does_not_archive_its_redo_is_refused(
    reading: OracleReader, oracle_database: OracleDatabase
) -> None:
    reading.stop()
    oracle_database.change(log_mode="NOARCHIVELOG")
    assert reading.failure().code == "oracle.no_archive_log_mode"
    oracle_database.change(log_mode="ARCHIVELOG", supplemental="NO")
    assert reading.failure().code == "oracle.no_supplemental_logging"


def test_archived_logs_alone_are_read_as_far_as_those_of_every_thread_reach(
    oracle_database: OracleDatabase,
) -> None:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    server = oracle_database.server
    server.apply([{"open_thread": 2}])
    reader = OracleReader.of(
        oracle_database,
        log_mining_archive_log_only_mode="true",
        log_mining_archive_log_only_scn_poll_interval_ms="10",
        internal_log_mining_log_query_max_retries="0",
    )
    add(oracle_database, 1)
    add(oracle_database, 2, thread=2)
    add(oracle_database, 3)
    server.apply([{"switch": 1}])
    reader.look_again(oracle_database)
    assert reader.ids() == []
    server.apply([{"switch": 2}])
    reader.await_changes(3)
    reader.stop()
    assert reader.ids() == [1, 2, 3]


def test_a_table_whose_redo_lacks_columns_is_reported_at_the_start(
    oracle_database: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """Updates of the table have the columns that were changed; a key is 0, as in Debezium's
    events."""
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"], supplemental=None)
    reader = OracleReader.of(oracle_database)
    assert "The redo of INV.T does not have all columns" in caplog.text
    with oracle_database.transaction() as transaction:
        transaction.insert(TABLE, ID=1, NAME="one")
        transaction.update(TABLE, {"ID": 1}, NAME="two")
        transaction.delete(TABLE, ID=1)
    changes = [(value["op"], value["before"], value["after"]) for value in reader.await_changes(3)]
    reader.stop()
    assert changes == [
        ("c", None, {"ID": 1, "NAME": "one"}),
        ("u", {"ID": 0, "NAME": "one"}, {"ID": 0, "NAME": "two"}),
        ("d", {"ID": 1, "NAME": "two"}, None),
    ]
