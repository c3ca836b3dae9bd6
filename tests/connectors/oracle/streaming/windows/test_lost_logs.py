"""Logs that are missing for a while or for good: waits, continuation and messages."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection, connect
from headrace.connectors.oracle.streaming.progress import MiningProgress
from headrace.connectors.oracle.streaming.windows import pacing
from headrace.connectors.oracle.streaming.windows.logs import RedoThread
from headrace.connectors.oracle.streaming.windows.redo import Redo
from headrace.connectors.oracle.streaming.windows.session import MiningSession, RowLimit
from headrace.errors import HeadraceError
from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.connectors.oracle.test_connection import PROPERTIES
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

TABLE = "INV.T"


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"])
    return oracle_database


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "_SHORTEST_WAIT", 0.02)
    monkeypatch.setattr(pacing, "_ARCHIVING_WAIT", 0.02)


def add(database: OracleDatabase, *numbers: int, thread: int = 1) -> None:
    with database.transaction(thread=thread) as transaction:
        for number in numbers:
            transaction.insert(TABLE, ID=number, NAME="x")


def test_a_redo_thread_that_was_closed_and_opened_again_is_read_on(
    database: OracleDatabase,
) -> None:
    server = database.server
    server.apply([{"open_thread": 2}])
    reader = OracleReader.of(database)
    add(database, 1, thread=2)
    reader.await_changes(1)
    server.apply([{"close_thread": 2}])
    add(database, 2)
    reader.await_changes(2)
    reader.look_again(database)
    reader.stop()  # its position is of an SCN at which the thread was closed
    add(database, 3)
    server.apply([{"open_thread": 2}])
    add(database, 4, thread=2)
    add(database, 5)
    reader.await_changes(5)
    reader.restart()
    add(database, 6, thread=2)
    reader.await_changes(6)
    reader.stop()
    assert reader.ids() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("is_so", ["archives", "shows_archived"])
def test_a_log_that_is_being_archived_is_waited_for_however_long_that_takes(
    database: OracleDatabase, is_so: str
) -> None:
    """The reader waits also while V$LOG shows the log as archived, and V$ARCHIVED_LOG does not show
    it yet."""
    reader = OracleReader.of(database, internal_log_mining_log_query_max_retries="1")
    database.change(**{is_so: False})
    database.server.apply([{"switch": 1}])
    add(database, 1)
    looked = database.sent("archived_logs")
    reader.step_until(lambda: database.sent("archived_logs") > looked + 5)
    assert reader.ids() == []
    database.change(**{is_so: True})
    reader.await_changes(1)
    reader.stop()
    assert reader.ids() == [1]


def test_logs_that_do_not_fit_together_end_the_stream_after_some_attempts(
    database: OracleDatabase,
) -> None:
    reader = OracleReader.of(database, internal_log_mining_log_query_max_retries="2")
    add(database, 1)
    reader.await_changes(1)
    database.server.apply([{"switch": 1}] * 3)
    open_transaction = database.server.begin()
    open_transaction.insert(TABLE, ID=2, NAME="x")
    reader.look_again(database)
    reader.stop()
    database.server.apply([{"switch": 1}] * 3 + [{"delete_logs": [5]}])
    error = reader.failure()
    assert (error.code, error.retriable) == ("oracle.logs_inconsistent", True)


@pytest.mark.parametrize("mode", ["no_data", "when_needed"])
def test_groups_that_were_never_written_do_not_hide_that_redo_is_gone(
    database: OracleDatabase, mode: str
) -> None:
    database.change(unused_groups=2)
    reader = OracleReader.of(database, snapshot_mode=mode)
    add(database, 1)
    reader.await_changes(1)
    reader.stop()
    database.server.apply([{"switch": 1}] * 4 + [{"delete_logs": [1, 2, 3]}])
    if mode == "no_data":
        assert reader.failure().code == "oracle.redo_gone"
        return
    reader.step_until(lambda: [value["op"] for value in reader.values()][-1] == "r")
    add(database, 2)
    reader.step_until(lambda: 2 in reader.ids())
    reader.stop()


def test_redo_is_gone_where_the_logs_of_one_thread_are(database: OracleDatabase) -> None:
    server = database.server
    server.apply([{"open_thread": 2}])
    reader = OracleReader.of(database)
    add(database, 1)
    add(database, 2, thread=2)
    reader.await_changes(2)
    reader.stop()
    server.apply([{"switch": 2}] * 4 + [{"delete_logs": [1, 2, 3], "thread": 2}])
    assert reader.failure().code == "oracle.redo_gone"


@pytest.mark.parametrize("mode", ["no_data", "when_needed"])
def test_an_archived_log_whose_file_was_removed_is_gone(
    database: OracleDatabase, mode: str
) -> None:
    """V$ARCHIVED_LOG shows it all the same, because RMAN did not remove it."""
    reader = OracleReader.of(database, snapshot_mode=mode)
    add(database, 1)
    reader.await_changes(1)
    reader.stop()
    database.server.apply([{"switch": 1}] * 4 + [{"remove_logs": [1]}])
    if mode == "no_data":
        error = reader.failure()
        assert error.code == "oracle.redo_gone"
        assert "1_1_1154906117.dbf" in error.message
        assert "CROSSCHECK" in error.remedy
        return
    reader.step_until(lambda: [value["op"] for value in reader.values()][-1] == "r")
    add(database, 2)
    reader.step_until(lambda: 2 in reader.ids())
    reader.stop()


def test_archived_logs_that_were_restored_are_read(database: OracleDatabase) -> None:
    """The DEST_ID of such logs is 0."""
    reader = OracleReader.of(database)
    add(database, 1)
    reader.await_changes(1)
    reader.stop()
    add(database, 2)
    database.server.apply([{"switch": 1}] * 4)
    database.change(restored=1.0)
    reader.await_changes(2)
    reader.stop()
    assert reader.ids() == [1, 2]


def test_transactions_of_which_the_server_does_not_know_the_start_are_left_out(
    database: OracleDatabase, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.connectors.oracle.catalog.open_transactions._PAUSE", 0.0)
    database.change(unknown_starts=2)
    database.server.apply([{"switch": 1}] * 3 + [{"delete_logs": [1]}])
    database.server.begin().insert(TABLE, ID=9, NAME="x")
    reader = OracleReader.of(
        database,
        database_connection_adapter="LogMiner_Unbuffered",
        internal_log_mining_transaction_snapshot_boundary_mode="transaction_view_only",
    )
    with caplog.at_level(logging.WARNING):
        add(database, 1)
        reader.await_changes(1)
    assert "no START_SCN for 2 open transactions (the first one is ff00ff00ff00ff00)" in caplog.text
    reader.restart()
    add(database, 2)
    reader.await_changes(2)
    reader.stop()
    assert reader.ids() == [1, 2]
    assert int(reader.offsets[-1]["scn"]) > 1_000_000


GAP = {"redo": "MISSING_SCN", "status": 1291, "info": "Missing SCN #1 to #2"}
"""The row that LogMiner returns in place of redo whose log it does not have."""


def test_a_gap_that_logminer_leaves_is_mined_again_before_anything_after_it_is_delivered(
    database: OracleDatabase, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is there once, while a log was switched; what was lost is read then."""
    monkeypatch.setattr(pacing, "_SHORTEST_WAIT", 1.0)
    caplog.set_level(logging.INFO)
    reader = OracleReader.of(database)
    add(database, 1)
    reader.await_changes(1)
    database.server.apply([GAP])
    reader.step_until(lambda: "missing log file" in caplog.text)
    database.server.call("forget_redo", 34)
    add(database, 2)
    reader.await_changes(2)
    reader.stop()
    assert reader.ids() == [1, 2]


def test_a_gap_that_stays_ends_the_stream_with_what_is_missing(database: OracleDatabase) -> None:
    reader = OracleReader.of(database)
    database.server.apply([GAP])
    add(database, 1)
    error = reader.failure()
    assert error.code == "oracle.missing_log"
    assert "MISSING_SCN" in error.message
    assert "Missing SCN #1 to #2" in error.message


def test_a_gap_that_stays_is_a_warning_where_failures_are(
    database: OracleDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    reader = OracleReader.of(database, event_processing_failure_handling_mode="warn")
    database.server.apply([GAP])
    add(database, 1)
    reader.await_changes(1)
    reader.stop()
    assert "missing redo" in caplog.text


def test_destinations_that_are_gone_are_waited_for_once_the_stream_has_begun() -> None:
    class Nothing:
        def rows(self, _statement: str, _binds: object = None) -> list[tuple[Any, ...]]:
            return []

    redo = Redo(OracleConfig.parse(PROPERTIES))
    with pytest.raises(HeadraceError) as error:
        redo.logs(cast("Connection", Nothing()), 1, [RedoThread(1, is_open=True)])
    assert (error.value.code, error.value.retriable) == ("oracle.no_archive_destination", True)


def test_redo_that_is_missing_is_reported_though_it_is_of_no_container(
    database: OracleDatabase,
) -> None:
    reader = OracleReader.of(database, log_mining_username_include_list="APP")
    database.server.apply([GAP | {"container": None, "user": None}])
    assert reader.failure().code == "oracle.missing_log"
    reader.stop()


def test_a_session_that_lacks_logs_is_ended_though_the_view_has_a_row_of_them(
    database: OracleDatabase,
) -> None:
    """REMOVE_LOGFILE takes no sentence (ORA-01290)."""
    config = OracleConfig.parse(database.properties())
    with connect(config) as connection:
        connection.switch_to(sql.ROOT)
        database.server.apply([{"switch": 1}] * 3)
        names = [row[0] for row in connection.rows(sql.ONLINE_LOGS())]
        binds = {"destination": "LOG_ARCHIVE_DEST_1", "scn": 0, "hours": 0}
        archived = [row[0] for row in connection.rows(sql.ARCHIVED_LOGS(), binds)]
        session = MiningSession(connection, config, None, MiningProgress(), RowLimit(config))
        for name in (archived[0], *names):
            connection.execute(sql.ADD_LOGFILE(), {"name": name})
        session_logs = connection.rows(sql.SESSION_LOGS())
        assert len(session_logs) == 2
        session.end()
        assert connection.rows(sql.SESSION_LOGS()) == []


@pytest.mark.parametrize("reopened", [False, True])
def test_a_log_that_is_switched_while_the_views_are_read_is_not_gone(
    database: OracleDatabase, monkeypatch: pytest.MonkeyPatch, reopened: bool
) -> None:
    """The only log of a thread that was opened after the reader's position: first it is no
    archived one yet, then no current one any more."""
    server = database.server
    if reopened:
        server.apply([{"open_thread": 2}, {"close_thread": 2}])
    reader = OracleReader.of(database)
    add(database, 1)
    reader.await_changes(1)
    reader.stop()
    add(database, 2)
    server.apply([{"open_thread": 2}])
    if reopened:
        server.apply([{"delete_logs": [1], "thread": 2}])
    add(database, 3, thread=2)
    rows, switched = Connection.rows, []

    def reading(self: Connection, text: str, *more: Any) -> Any:
        view_rows = rows(self, text, *more)
        if text == sql.ARCHIVED_LOGS() and len(switched) < 2:
            switched.append(text)
            server.apply([{"switch": 2}])
        return view_rows

    monkeypatch.setattr(Connection, "rows", reading)
    reader.await_changes(3)
    reader.stop()
    assert (reader.ids(), len(switched)) == ([1, 2, 3], 2)


def test_a_member_of_a_group_that_cannot_be_opened_is_not_the_one_that_is_mined(
    database: OracleDatabase,
) -> None:
    """The name of that member comes first."""
    database.change(has_invalid_members=True)
    reader = OracleReader.of(database)
    add(database, 1)
    reader.await_changes(1)
    reader.stop()
    assert reader.ids() == [1]
