"""Bad input of Db2's connector gets one message, a code and a remedy, and leaves nothing that is
half made; a Capture that does not run is a warning, and is waited for."""

from __future__ import annotations

import logging
import re

import pytest

from headrace.connectors.db2.capture import Capture
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import connect
from headrace.connectors.db2.starting.readiness import Readiness
from headrace.connectors.db2.streaming.capture_watch import CaptureWatch
from headrace_demo.db2.derby import DerbyServer
from tests.connectors.attempt import SECRET, Attempt, attempt
from tests.connectors.harness import ConnectorReader
from tests.servers.db2 import Db2Database

__all__ = ["attempt"]

pytestmark = pytest.mark.db2

KEYED = "ID INTEGER NOT NULL PRIMARY KEY, V VARCHAR(20)"
PLAIN = {"snapshot.mode": "no_data", "heartbeat.interval.ms": "0", "poll.interval.ms": "20"}
ONCE = {"errors.max.retries": "0"}


def properties_of(database: Db2Database, **more: str) -> dict[str, str]:
    return PLAIN | ONCE | database.properties(**more)


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ({"cdc_control_schema": "NOWHERE"}, "db2.no_control_tables", "schema NOWHERE"),
        ({"database_dbname": "NODB"}, "db2.unknown_database", "NODB"),
        ({"database_port": "1"}, "db2.connection_lost", "127.0.0.1:1/"),
        ({"table_include_list": "INV.NONE"}, "db2.no_tables", "INV.NONE"),
        ({"driver_AUTHENTICATION": "SERVER_ENCRYPT"}, "db2.authentication_kind", "reason"),
        ({"signal_data_collection": "INV.NONE"}, "db2.signal_table", "INV.NONE"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(
    db2_database: Db2Database, attempt: Attempt, more: dict[str, str], code: str, said: str
) -> None:
    db2_database.create_table("THINGS", KEYED)
    error, _ = attempt.refused(properties_of(db2_database, **more))
    assert f"[{code}" in error
    assert said in error


def test_a_table_that_is_not_registered_is_refused(
    db2_database: Db2Database, attempt: Attempt
) -> None:
    db2_database.create_table("THINGS", KEYED, captured=False)
    error, remedy = attempt.refused(properties_of(db2_database))
    assert "[db2.not_registered]" in error
    assert "INV.THINGS" in error
    assert "ADDTABLE('INV', 'THINGS')" in remedy


def test_a_table_that_is_not_registered_beside_others_is_warned_of(
    db2_database: Db2Database, caplog: pytest.LogCaptureFixture
) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.create_table("OTHERS", KEYED, captured=False)
    reader = ConnectorReader(properties_of(db2_database))
    reader.step_until(lambda: len(reader.offsets) > 1)
    reader.stop()
    (warning,) = (
        record.message for record in caplog.records if "db2.not_registered" in record.message
    )
    assert "INV.OTHERS" in warning


def test_an_invalid_change_table_is_refused(db2_database: Db2Database, attempt: Attempt) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.capture.stop_capturing("CDC_INV_THINGS")
    db2_database.execute("RENAME COLUMN ASNCDC.CDC_INV_THINGS.IBMSNAP_INTENTSEQ TO ELSE_")
    error, remedy = attempt.refused(properties_of(db2_database))
    assert "[db2.change_table_altered]" in error
    assert "IBMSNAP_INTENTSEQ" in error
    assert "remove-table" in remedy


def test_a_wrong_password_is_refused_and_not_shown(
    guarded_server: DerbyServer, attempt: Attempt
) -> None:
    database = Db2Database.create(guarded_server)
    more = {"database_user": "READER", "database_password": SECRET}
    error, remedy = attempt.refused(properties_of(database, **more))
    assert "[db2.authentication]" in error
    assert "database.password" in remedy


def test_a_table_that_may_not_be_read_is_refused_with_its_grant(
    guarded_server: DerbyServer, attempt: Attempt
) -> None:
    database = Db2Database.create(guarded_server)
    database.create_table("THINGS", KEYED)
    more = {"database_user": "READER", "database_password": "secret-word"}
    error, remedy = attempt.refused(properties_of(database, **more))
    assert "[db2.no_privilege]" in error
    assert 'GRANT SELECT ON "INV"."THINGS" TO USER "READER";' in remedy


@pytest.mark.parametrize("setting", ["SYNCHPOINT = NULL", "SYNCHTIME = '2020-01-02 03:04:05'"])
def test_a_capture_that_does_not_run_is_warned_of_and_waited_for(
    db2_database: Db2Database, caplog: pytest.LogCaptureFixture, setting: str
) -> None:
    db2_database.create_table("THINGS", KEYED)
    capture = db2_database.capture
    capture.await_captured()
    ((synchpoint,),) = db2_database.execute(
        "SELECT SYNCHPOINT FROM ASNCDC.IBMSNAP_REGISTER WHERE GLOBAL_RECORD = 'Y'"
    )
    capture.stop()
    db2_database.execute(f"UPDATE ASNCDC.IBMSNAP_REGISTER SET {setting} WHERE GLOBAL_RECORD = 'Y'")
    reader = ConnectorReader(properties_of(db2_database))
    reader.step_until(lambda: len(reader.offsets) > 1)
    codes = ("db2.capture_stopped", "db2.capture_never_ran")
    warnings = [
        record for record in caplog.records if any(code in record.message for code in codes)
    ]
    assert [warning.levelno for warning in warnings] == [logging.WARNING]
    db2_database.execute(
        "UPDATE ASNCDC.IBMSNAP_REGISTER SET SYNCHPOINT = ? WHERE GLOBAL_RECORD = 'Y'",
        (synchpoint,),
    )
    db2_database.execute("INSERT INTO INV.THINGS VALUES (1, 'a')")
    capture.start()
    reader.step_until(lambda: len(reader.records) > 0)
    reader.stop()


def test_a_capture_that_stops_is_warned_of_once_each_time(
    db2_database: Db2Database, caplog: pytest.LogCaptureFixture
) -> None:
    db2_database.capture.await_captured()
    db2_database.capture.stop()
    config = Db2Config.parse(db2_database.properties())
    watch = CaptureWatch(config, seconds=0)

    def looked(moved: str) -> int:
        db2_database.execute(
            f"UPDATE ASNCDC.IBMSNAP_REGISTER SET SYNCHTIME = {moved} WHERE GLOBAL_RECORD = 'Y'"
        )
        caplog.clear()
        with connect(config) as connection:
            watch.look(connection)
            watch.look(connection)
        return sum(
            "[db2.capture_stopped, retriable]" in record.message for record in caplog.records
        )

    now, before = "CURRENT_TIMESTAMP", "'2020-01-02 03:04:05'"
    assert [looked(moved) for moved in (now, before, before, now, before)] == [0, 1, 0, 0, 1]


def test_what_is_no_error_is_warned_of_once_however_often_a_stream_begins(
    db2_database: Db2Database, caplog: pytest.LogCaptureFixture
) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.create_table("OTHERS", KEYED, captured=False)
    db2_database.capture.stop()
    for setting in ("CHG_UPD_TO_DEL_INS = 'N'", "SYNCHTIME = '2020-01-02 03:04:05'"):
        db2_database.execute(f"UPDATE ASNCDC.IBMSNAP_REGISTER SET {setting}")
    config = Db2Config.parse(db2_database.properties())
    watch = CaptureWatch(config, seconds=0)
    readiness = Readiness(config, Capture(config), lambda: connect(config), watch)
    readiness.prepare()
    readiness.prepare()
    with connect(config) as connection:
        watch.look(connection)
    codes = [re.search(r"\[(.*?)\]", record.message) for record in caplog.records]
    assert sorted(code[1] for code in codes if code) == [
        "db2.capture_stopped, retriable", "db2.not_registered", "db2.updates_without_before",
    ]  # fmt: skip
