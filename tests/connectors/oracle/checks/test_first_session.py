"""`headrace check` tries on Oracle what the stream does first: rows as Arrow, and LogMiner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracledb
import pyarrow as pa
import pytest

from headrace.connectors.oracle.checks import mining
from headrace.connectors.oracle.checks.arrow_fetch import SCHEMA
from headrace.connectors.oracle.checks.database import check, require
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import Connection
from headrace.connectors.oracle.streaming.redo_rows import REDO
from headrace.errors import HeadraceError
from headrace.findings import Finding, statements
from headrace_demo.oracle import driver
from headrace_demo.oracle.driver import OracleConnection, frame_of
from headrace_demo.oracle.service import VERSION
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    oracle_database.create_table("THINGS", "ID NUMBER(9,0) NOT NULL", key=["ID"])
    return oracle_database


def configured(database: OracleDatabase, **more: str) -> OracleConfig:
    return OracleConfig.parse(database.properties(**more))


def found(database: OracleDatabase, **more: str) -> dict[str, Finding]:
    return {finding.code: finding for finding in check(configured(database, **more))}


def not_a_driver(*_: Any, **__: Any) -> None:
    raise TypeError("fetch_df_batches() got an unexpected keyword argument 'requested_schema'")


def of_an_old_server(*_: Any, **__: Any) -> Iterator[oracledb.DataFrame]:
    """The driver refuses a type, as python-oracledb does."""
    raise driver._error(0, "DPY-3038: database type cannot be converted to Apache Arrow type")


def of_other_frames(*_: Any, **__: Any) -> Iterator[object]:
    """A batch of PyArrow instead of the driver's own frames."""
    yield pa.RecordBatch.from_pylist([], SCHEMA)


def of_other_values(*_: Any, **__: Any) -> Iterator[oracledb.DataFrame]:
    yield frame_of(pa.RecordBatch.from_pylist([{"SCN": 1}], SCHEMA))


def test_the_row_that_is_fetched_has_every_type_of_the_redo() -> None:
    assert set(SCHEMA.types) == set(REDO.types)


@pytest.mark.usefixtures("oracle_stand_in")
def test_a_driver_that_gives_arrow_is_named_with_its_version(database: OracleDatabase) -> None:
    finding = found(database)["oracle.arrow_fetch"]
    assert finding.level == "ok"
    assert "headrace_demo.oracle.driver" in finding.message


@pytest.mark.usefixtures("oracle_stand_in")
@pytest.mark.parametrize(
    ("fetch", "why"),
    [
        (not_a_driver, "requested_schema"),
        (of_an_old_server, "DPY-3038"),
        (of_other_frames, "TypeError"),
        (of_other_values, "differ"),
    ],
)
def test_a_driver_that_gives_no_arrow_is_an_error_of_check_and_of_each_start(
    database: OracleDatabase, monkeypatch: pytest.MonkeyPatch, fetch: Any, why: str
) -> None:
    monkeypatch.setattr(OracleConnection, "fetch_df_batches", fetch)
    findings = found(database)
    error = findings["oracle.arrow_fetch"]
    assert error.level == "error"
    assert why in error.message
    assert VERSION in error.message
    assert "pip install --upgrade oracledb" in error.remedy
    assert "oracle.table_rights" in findings
    with pytest.raises(HeadraceError) as refused:
        require(configured(database), None)
    assert (refused.value.code, refused.value.retriable) == ("oracle.arrow_fetch", False)


def test_a_lost_connection_and_a_view_that_is_hidden_keep_their_own_codes(
    database: OracleDatabase,
) -> None:
    database.server.apply([{"error": 3113, "when": "STANDARD_HASH"}])
    assert found(database)["oracle.connection_lost"].level == "error"
    database.server.apply([{"error": 942, "when": "STANDARD_HASH"}])
    findings = found(database)
    assert "oracle.table_gone" in findings
    assert "oracle.arrow_fetch" not in findings


@pytest.mark.usefixtures("oracle_stand_in")
def test_a_driver_that_gives_no_arrow_reads_rows_all_the_same(
    database: OracleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OracleConnection, "fetch_df_batches", not_a_driver)
    findings = found(database, snapshot_mode="initial_only")
    assert "error" not in {finding.level for finding in findings.values()}


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets retries happen at once."""
    monkeypatch.setattr(mining, "_WAITS", (0, 0, 0))


def counted(database: OracleDatabase) -> dict[str, int]:
    """The counts of LogMiner's statements, and of those that write."""
    names = ("add_logfile", "start_logmnr", "contents", "committed_contents", "end_logmnr",
             "build_dictionary", "flush_table_create", "flush_table_update")  # fmt: skip
    statement_counts = database.server.call("counted")
    return {name: statement_counts[name] for name in names if statement_counts.get(name)}


MINED = {"add_logfile": 1, "start_logmnr": 1, "contents": 1, "end_logmnr": 1}


def test_check_mines_the_newest_scn_once_and_leaves_no_session(database: OracleDatabase) -> None:
    with database.transaction() as transaction:
        transaction.insert("INV.THINGS", ID=1)
    scn = database.server.call("scn")
    database.change(thread_states={1: {"LAST_REDO_CHANGE#": scn - 1}})
    more = {"internal_log_mining_redo_thread_scn_adjustment": "0"}
    finding = found(database, **more)["oracle.mining"]
    assert finding.level == "ok"
    assert f": 1 rows of the SCN {scn - 1} in " in finding.message
    assert counted(database) == MINED


def test_a_start_asks_the_same_questions_and_does_not_mine(database: OracleDatabase) -> None:
    require(configured(database), None)
    assert counted(database) == {}


@pytest.mark.parametrize(
    ("more", "ran"),
    [
        ({"log_mining_strategy": "redo_log_catalog"}, MINED),
        ({"log_mining_strategy": "hybrid", "log_mining_query_filter_mode": "in",
          "table_include_list": "INV.THINGS"}, MINED),
        ({"database_connection_adapter": "LogMiner_Unbuffered"},
         {**MINED, "contents": 0, "committed_contents": 1}),
        ({"log_mining_archive_log_only_mode": "true"}, {}),
        ({"snapshot_mode": "initial_only"}, {}),
    ],
)  # fmt: skip
def test_check_mines_as_the_stream_does_and_writes_nothing(
    database: OracleDatabase, more: dict[str, str], ran: dict[str, int]
) -> None:
    findings = found(database, **more)
    assert counted(database) == {name: count for name, count in ran.items() if count}
    assert ("oracle.mining" in findings) is bool(ran)
    assert "error" not in {finding.level for finding in findings.values()}


def test_archived_logs_are_mined_where_no_others_are_read(database: OracleDatabase) -> None:
    database.server.apply([{"switch": 1}])
    finding = found(database, log_mining_archive_log_only_mode="true")["oracle.mining"]
    assert (finding.level, "arch" in finding.message) == ("ok", True)


@pytest.mark.parametrize(
    ("code", "when", "known", "words"),
    [
        (6550, "ADD_LOGFILE", "no_privilege", "GRANT EXECUTE_CATALOG_ROLE TO"),
        (1031, "START_LOGMNR", "no_privilege", "GRANT LOGMINING TO"),
        (942, "DATA_OBJV#", "table_gone", "GRANT SELECT_CATALOG_ROLE TO"),
        (904, "DATA_OBJV#", "mining", "19c"),
        (1284, "ADD_LOGFILE", "missing_log", "keep archived logs"),
        (1336, "START_LOGMNR", "no_dictionary_file", "log.mining.path.dictionary"),
        (1295, "START_LOGMNR", "no_dictionary_file", "log.mining.path.dictionary"),
        (1333, "START_LOGMNR", "no_dictionary", "online_catalog"),
        (4036, "FETCH_REDO", "memory", "PGA_AGGREGATE_LIMIT"),
        (600, "START_LOGMNR", "internal_error", "alert log"),
        (1291, "START_LOGMNR", "missing_log", "keep archived logs"),
        (310, "FETCH_REDO", "log_switched", "switched"),
    ],
)
@pytest.mark.usefixtures("soon")
def test_what_logminer_refuses_is_an_error_of_check_in_the_words_of_the_stream(
    database: OracleDatabase, code: int, when: str, known: str, words: str
) -> None:
    database.server.apply([{"error": code, "when": when, "times": 3}])
    findings = found(database)
    error = findings[f"oracle.{known}"]
    assert (error.level, f"ORA-{code:05d}" in error.message) == ("error", True)
    assert words in error.remedy
    assert "headrace check" not in error.remedy
    if when == "ADD_LOGFILE":
        assert "redo11.log" in error.message
    assert "oracle.table_rights" in findings
    assert {"start_logmnr", "end_logmnr"} & set(counted(database)) <= {"start_logmnr"}


def test_rights_that_logminer_misses_are_granted_in_the_root(database: OracleDatabase) -> None:
    database.server.apply([{"error": 1031, "when": "START_LOGMNR"}])
    first, *_ = statements(found(database)["oracle.no_privilege"].remedy)
    assert first == "ALTER SESSION SET CONTAINER = CDB$ROOT;"


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("code", [310, 1291])
def test_a_log_that_is_switched_meanwhile_is_tried_again(
    database: OracleDatabase, code: int
) -> None:
    database.server.apply([{"error": code, "when": "START_LOGMNR", "times": 2}])
    assert found(database)["oracle.mining"].level == "ok"
    assert counted(database)["start_logmnr"] == 3


@pytest.mark.usefixtures("soon")
def test_a_log_that_is_being_archived_is_a_warning(database: OracleDatabase) -> None:
    """The stream waits for it."""
    database.change(archives=False)
    database.server.apply([{"switch": 1}])
    written = database.server.call("scn")
    database.change(thread_states={1: {"LAST_REDO_CHANGE#": written}})
    assert found(database)["oracle.logs_inconsistent"].level == "warning"
    database.change(archives=True)
    assert found(database)["oracle.mining"].level == "ok"


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(
    ("deleted", "code"), [([4], "logs_inconsistent"), ([1, 2, 3], "redo_gone")]
)
def test_logs_that_are_missing_are_an_error_before_the_stream_waits_for_them(
    database: OracleDatabase, deleted: list[int], code: str
) -> None:
    server = database.server
    server.apply([{"switch": 1}] * 2)
    written = server.call("scn")  # in the third log
    server.apply([{"switch": 1}] * 2 + [{"delete_logs": deleted}])
    database.change(thread_states={1: {"LAST_REDO_CHANGE#": written + 1}})
    assert found(database)[f"oracle.{code}"].level == "error"
    assert counted(database) == {}


def test_a_session_that_takes_longer_than_the_limit_of_checks_is_a_warning(
    database: OracleDatabase,
) -> None:
    """The stream has another limit, which it doubles."""
    database.server.apply([{"error": 1013, "when": "FETCH_REDO"}])
    warning = found(database)["oracle.query_timeout"]
    assert warning.level == "warning"
    assert "connection.validation.timeout.ms" in warning.remedy


def test_check_mines_within_its_own_limit(
    database: OracleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[int] = []
    limit = Connection.limit

    def recorded(connection: Connection, milliseconds: int) -> int:
        limits.append(milliseconds)
        return limit(connection, milliseconds)

    monkeypatch.setattr(Connection, "limit", recorded)
    found(database, connection_validation_timeout_ms="7000")
    assert set(limits) == {7000}


@pytest.mark.usefixtures("soon", "oracle_stand_in")
def test_redo_that_is_not_given_as_arrow_is_named(
    database: OracleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row of the check before it was."""
    fetch = OracleConnection.fetch_df_batches

    def broken(connection: OracleConnection, statement: str, **named: Any) -> Any:
        if "V$LOGMNR_CONTENTS" in statement:
            raise TypeError("no int64")
        return fetch(connection, statement, **named)

    monkeypatch.setattr(OracleConnection, "fetch_df_batches", broken)
    error = found(database)["oracle.arrow_fetch"]
    assert (error.level, "no int64" in error.message) == ("error", True)


def test_nothing_is_mined_where_rights_are_missing(database: OracleDatabase) -> None:
    database.change(hidden_views={"V$LOGFILE"})
    findings = found(database)
    assert findings["oracle.no_privilege"].level == "error"
    assert "oracle.mining" not in findings
    assert counted(database) == {}
