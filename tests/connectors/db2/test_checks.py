"""`headrace check`: what is missing for Db2, each with one message and a remedy."""

from __future__ import annotations

import datetime as dt

import ibm_db
import pytest

from headrace.connectors.db2 import sql
from headrace.connectors.db2.checks.database import check
from headrace.connectors.db2.config import Db2Config
from headrace.findings import Finding, statements
from headrace_demo.db2.derby import DerbyServer
from tests.connectors.harness import ConnectorReader
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2

KEYED = "ID INTEGER NOT NULL PRIMARY KEY, V VARCHAR(20)"


def found(database: Db2Database, **more: str) -> list[Finding]:
    return list(check(Db2Config.parse(database.properties(**more))))


def bad(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.level, finding.code) for finding in findings if finding.level != "ok"]


def only(findings: list[Finding], code: str) -> Finding:
    (finding,) = (finding for finding in findings if finding.level != "ok")
    assert finding.code == code
    assert finding.remedy
    return finding


def test_a_database_that_is_ready_has_no_errors(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", KEYED)
    findings = found(db2_database)
    assert bad(findings) == []
    assert {finding.code for finding in findings} == {
        "db2.server", "db2.time_zone", "db2.cur_commit", "db2.control_tables", "db2.capture",
        "db2.tables", "db2.select", "db2.types", "db2.registered", "db2.change_tables",
    }  # fmt: skip


def test_a_clock_that_does_not_show_utc_is_warned_of_unless_its_zone_is_named(
    db2_database: Db2Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db2_database.create_table("THINGS", KEYED)
    query = "SELECT CURRENT TIMESTAMP, {} FROM SYSIBM.SYSDUMMY1"
    monkeypatch.setattr(sql, "CURRENT_TIME", query.format("-33000.0"))
    warning = only(found(db2_database), "db2.time_zone")
    assert warning.level == "warning"
    assert "shows UTC-03:30" in warning.message
    assert "headrace.capture.time.zone" in warning.remedy
    assert "to -03:30 where" in warning.remedy
    named = found(db2_database, headrace_capture_time_zone="Etc/UTC")
    assert bad(named) == []
    (time_zone,) = (finding for finding in named if finding.code == "db2.time_zone")
    assert "of the time zone Etc/UTC" in time_zone.message


@pytest.mark.parametrize(
    ("setting", "more"), [("DISABLED", ""), ("AVAILABLE", "driver.ConcurrentAccessResolution=1")]
)
def test_readers_that_wait_for_writers_are_warned_of(
    db2_database: Db2Database, setting: str, more: str
) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.execute(f"UPDATE CAPTURE.DBCFG SET \"VALUE\" = '{setting}'")
    warning = only(found(db2_database), "db2.cur_commit")
    assert warning.level == "warning"
    assert f"CUR_COMMIT {setting}" in warning.message
    assert f"db2 update db cfg for {db2_database.name} using CUR_COMMIT ON" in warning.remedy
    assert more in warning.remedy
    assert bad(found(db2_database, db2_platform="ZOS")) == []


def test_a_setting_that_may_not_be_read_is_passed_over(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.execute("DROP TABLE CAPTURE.DBCFG")
    findings = found(db2_database)
    assert bad(findings) == []
    assert "db2.cur_commit" not in {finding.code for finding in findings}


@pytest.mark.parametrize(
    ("text", "code", "remedy"),
    [
        (
            "SQL1598N  An attempt to connect to the database server failed because of a licensing "
            "problem.  SQLSTATE=42968 SQLCODE=-1598",
            "db2.no_licence",
            "clidriver/license",
        ),
        (
            'SQL0805N  Package "NULLID.SYSSH200 0X5359534C564C3031" was not found.  '
            "SQLSTATE=51002 SQLCODE=-805",
            "db2.packages_not_bound",
            "db2 bind @db2cli.lst",
        ),
    ],
)
def test_a_first_contact_that_fails_is_one_error_with_its_remedy(
    db2_database: Db2Database, monkeypatch: pytest.MonkeyPatch, text: str, code: str, remedy: str
) -> None:
    def refused(*_: object) -> None:
        raise Exception(f"[IBM][CLI Driver] {text}")

    at = "connect" if code == "db2.no_licence" else "prepare"
    monkeypatch.setattr(ibm_db, at, refused)
    errors = [finding for finding in found(db2_database) if finding.level != "ok"]
    assert {error.code for error in errors} == {code}
    assert remedy in errors[0].remedy
    assert len(errors) == 1


def test_without_control_tables_there_is_one_error(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", KEYED)
    error = only(found(db2_database, cdc_control_schema="NOWHERE"), "db2.no_control_tables")
    assert error.level == "error"
    assert "NOWHERE (cdc.control.schema)" in error.message


def test_a_table_that_is_not_registered_is_an_error_with_its_statements(
    db2_database: Db2Database,
) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.create_table("OTHERS", KEYED, captured=False)
    error = only(found(db2_database), "db2.not_registered")
    assert error.level == "error"
    assert "INV.OTHERS" in error.message
    assert "INV.THINGS" not in error.message
    assert statements(error.remedy) == [
        """CALL "ASNCDC".ADDTABLE('INV', 'OTHERS');""",
        """VALUES "ASNCDC".ASNCDCSERVICES('reinit','asncdc');""",
    ]
    rows_only = found(db2_database, snapshot_mode="initial_only")
    assert bad(rows_only) == []


def test_a_registration_that_is_not_active_is_an_error(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.capture.set_state("CDC_INV_THINGS", "S")
    error = only(found(db2_database), "db2.registration_inactive")
    assert error.level == "error"
    db2_database.capture.add_table("INV", "THINGS", "CDC_AGAIN")
    assert bad(found(db2_database)) == []


def test_a_registration_that_capture_did_not_read_yet_is_a_warning(
    db2_database: Db2Database, caplog: pytest.LogCaptureFixture
) -> None:
    """Changes before Capture reads it are in no change table, whatever STATE says."""
    db2_database.create_table("THINGS", KEYED)
    db2_database.capture.stop()
    db2_database.create_table("LATER", KEYED)
    warning = only(found(db2_database), "db2.registration_not_begun")
    assert warning.level == "warning"
    assert "INV.LATER" in warning.message
    assert "INV.THINGS" not in warning.message
    assert statements(warning.remedy) == ["""VALUES "ASNCDC".ASNCDCSERVICES('reinit','asncdc');"""]
    run = ConnectorReader(db2_database.properties(snapshot_mode="no_data"))
    run.step()
    run.stop()
    assert "Capture has not begun with INV.LATER" in caplog.text
    db2_database.capture.start()
    db2_database.capture.await_captured()
    assert bad(found(db2_database)) == []


def test_a_synchpoint_that_does_not_move_is_an_error(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.capture.await_captured()
    db2_database.capture.stop()
    db2_database.execute(
        "UPDATE ASNCDC.IBMSNAP_REGISTER SET SYNCHTIME = TIMESTAMP('2020-01-02 03:04:05') "
        "WHERE GLOBAL_RECORD = 'Y'"
    )
    error = only(found(db2_database), "db2.capture_stopped")
    assert "since 2020-01-02 03:04:05" in error.message
    assert statements(error.remedy) == ["""VALUES "ASNCDC".ASNCDCSERVICES('start','asncdc');"""]


def test_a_synchpoint_of_another_time_zone_moves_if_that_is_configured(
    db2_database: Db2Database,
) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.capture.await_captured()
    db2_database.capture.stop()
    for hours, zone in ((5, "+05:00"), (-5, "-05:00")):
        moved = f"TIMESTAMP('{(dt.datetime.now(dt.UTC) + dt.timedelta(hours=hours)):%F %T}')"
        db2_database.execute(
            f"UPDATE ASNCDC.IBMSNAP_REGISTER SET SYNCHTIME = {moved} WHERE GLOBAL_RECORD = 'Y'"
        )
        code = "db2.capture_clock" if hours > 0 else "db2.capture_stopped"
        error = only(found(db2_database), code)
        assert "headrace.capture.time.zone" in error.remedy
        assert bad(found(db2_database, headrace_capture_time_zone=zone)) == []


def test_a_capture_that_never_ran_is_an_error(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.capture.stop()
    db2_database.execute(
        "UPDATE ASNCDC.IBMSNAP_REGISTER SET SYNCHPOINT = NULL WHERE GLOBAL_RECORD = 'Y'"
    )
    assert "has no SYNCHPOINT" in only(found(db2_database), "db2.capture_never_ran").message


def test_a_change_table_that_is_altered_is_reported(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.execute("ALTER TABLE INV.THINGS ADD COLUMN LATER INTEGER")
    warning = only(found(db2_database), "db2.change_table_altered")
    assert warning.level == "warning"
    assert "lacks LATER of INV.THINGS" in warning.message
    db2_database.execute("ALTER TABLE ASNCDC.CDC_INV_THINGS ADD COLUMN LATER VARCHAR(9)")
    warning = only(found(db2_database), "db2.change_table_altered")
    assert "has other types for LATER of INV.THINGS" in warning.message
    assert bad(found(db2_database, column_exclude_list=r"INV\.THINGS\.LATER")) == []


def test_a_change_table_without_a_column_of_the_key_is_an_error(
    db2_database: Db2Database,
) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.capture.stop_capturing("CDC_INV_THINGS")
    db2_database.execute("RENAME COLUMN ASNCDC.CDC_INV_THINGS.ID TO ELSE_")
    error = only(found(db2_database), "db2.change_table_altered")
    assert error.level == "error"
    assert "lacks ID of the key of INV.THINGS" in error.message
    others = found(db2_database, message_key_columns="INV.THINGS:V")
    assert only(others, "db2.change_table_altered").level == "warning"


def test_a_change_table_without_its_own_columns_is_an_error(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.capture.stop_capturing("CDC_INV_THINGS")
    db2_database.execute("RENAME COLUMN ASNCDC.CDC_INV_THINGS.IBMSNAP_INTENTSEQ TO ELSE_")
    error = only(found(db2_database), "db2.change_table_altered")
    assert error.level == "error"
    assert "lacks IBMSNAP_INTENTSEQ" in error.message
    db2_database.execute("DROP TABLE ASNCDC.CDC_INV_THINGS")
    error = only(found(db2_database), "db2.no_change_table")
    assert "ASNCDC.CDC_INV_THINGS of INV.THINGS" in error.message


def test_a_change_table_without_index_and_single_updates_are_warned_of(
    db2_database: Db2Database,
) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.execute("DROP INDEX ASNCDC.CDC_INV_THINGS_X")
    db2_database.execute(
        "UPDATE ASNCDC.IBMSNAP_REGISTER SET CHG_UPD_TO_DEL_INS = 'N' WHERE GLOBAL_RECORD = 'N'"
    )
    assert bad(found(db2_database)) == [
        ("warning", "db2.updates_without_before"),
        ("warning", "db2.change_table_index"),
    ]
    on_zos = found(db2_database, db2_platform="ZOS")
    assert bad(on_zos) == [("warning", "db2.change_table_index")]


def test_changes_that_no_set_holds_back_are_warned_of(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", KEYED)
    db2_database.execute("DELETE FROM ASNCDC.IBMSNAP_PRUNE_SET")
    warning = only(found(db2_database), "db2.prune_set")
    assert warning.level == "warning"
    assert "INV.THINGS" in warning.message
    assert "RETENTION_LIMIT" in warning.remedy
    db2_database.execute("DROP TABLE ASNCDC.IBMSNAP_PRUNE_SET")
    assert bad(found(db2_database)) == []


def test_an_include_list_that_names_nothing_is_an_error(db2_database: Db2Database) -> None:
    db2_database.create_table("THINGS", KEYED)
    findings = found(db2_database, table_include_list=r"INV\.NOTHING")
    assert bad(findings) == [("error", "db2.no_tables")]
    remedy = only(findings, "db2.no_tables").remedy
    assert "table.include.list" in remedy
    assert "schema.include.list" not in remedy  # which is refused


def test_a_column_without_a_supported_type_is_reported_with_properties_that_exist(
    db2_database: Db2Database,
) -> None:
    db2_database.execute("CREATE TYPE INV.PRICE EXTERNAL NAME 'java.util.HashMap' LANGUAGE JAVA")
    db2_database.create_table("THINGS", f"{KEYED}, P INV.PRICE")
    findings = found(db2_database)
    (left_out,) = (finding for finding in findings if finding.code == "db2.type_left_out")
    assert "include.unknown.datatypes" not in left_out.remedy
    assert "Nothing, if this is intended" in left_out.remedy


def test_a_login_that_is_refused_is_the_only_finding(db2_database: Db2Database) -> None:
    (error,) = found(db2_database, database_dbname="NODB")
    assert (error.level, error.code) == ("error", "db2.unknown_database")


def test_a_wrong_password_is_reported_and_not_shown(guarded_server: DerbyServer) -> None:
    database = Db2Database.create(guarded_server)
    (error,) = found(database, database_user="READER", database_password="guessed-word")
    assert error.code == "db2.authentication"
    assert "guessed-word" not in error.message
    assert "database.password" in error.remedy


def test_what_the_user_may_not_read_is_named_with_its_grants(guarded_server: DerbyServer) -> None:
    database = Db2Database.create(guarded_server)
    with database.capture:
        database.create_table("THINGS", KEYED)
        reader = {"database_user": "READER", "database_password": "secret-word"}
        granted: list[str] = []
        while errors := [
            finding for finding in found(database, **reader) if finding.level == "error"
        ]:
            assert {error.code for error in errors} == {"db2.no_privilege"}
            missing = [grant for error in errors for grant in statements(error.remedy)]
            assert missing
            assert not set(missing) & set(granted)
            granted += missing
            for grant in missing:
                database.execute(grant.rstrip(";").replace("TO USER", "TO"))
        assert bad(found(database, **reader)) == []
        both = " ".join(granted)
        for table in ('"INV"."THINGS"', '"ASNCDC"."CDC_INV_THINGS"', '"ASNCDC"."IBMSNAP_REGISTER"'):
            assert f'GRANT SELECT ON {table} TO USER "READER";' in both
