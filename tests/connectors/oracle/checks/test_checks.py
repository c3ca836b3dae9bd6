"""`headrace check`: what is missing for Oracle, each with one message and a remedy."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.cli.check import script
from headrace.connectors.oracle.capture import Capture
from headrace.connectors.oracle.catalog.event_shapes import event_shapes
from headrace.connectors.oracle.checks.database import check
from headrace.connectors.oracle.checks.state import granted, granted_there, user_name
from headrace.connectors.oracle.config import OracleConfig
from headrace.errors import HeadraceError
from headrace.findings import Finding, statements
from headrace.kafka import topics
from headrace_demo.oracle.database import PRIVILEGES
from headrace_demo.oracle.service import VERSION
from tests.connectors.oracle.administrator import Administrator
from tests.connectors.oracle.reading import OracleReader
from tests.connectors.oracle.test_connection import PROPERTIES
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

KEYED = ("ID NUMBER(9,0) NOT NULL", "V VARCHAR2(20)")
USER = '"C##DBZUSER" CONTAINER=ALL'
IN_ROOT = "ALTER SESSION SET CONTAINER = CDB$ROOT;"
IN_DATABASE = 'ALTER SESSION SET CONTAINER = "ORCLPDB1";'


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    oracle_database.create_table("THINGS", *KEYED, key=["ID"])
    return oracle_database


def found(database: OracleDatabase, **more: str) -> list[Finding]:
    return list(check(OracleConfig.parse(database.properties(**more))))


def bad(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(finding.level, finding.code) for finding in findings if finding.level != "ok"]


def only(findings: list[Finding], code: str) -> Finding:
    (finding,) = (finding for finding in findings if finding.level != "ok")
    assert finding.code == code
    assert finding.remedy
    return finding


def test_a_database_that_is_ready_has_no_errors(database: OracleDatabase) -> None:
    findings = found(database)
    assert bad(findings) == []
    assert {finding.code.removeprefix("oracle.") for finding in findings} == {
        "server", "mining_rights", "archive_log_mode", "supplemental", "log_retention",
        "arrow_fetch", "mining", "tables", "table_rights", "types", "table_logging", "names",
        "flush_table",
    }  # fmt: skip


def server(database: OracleDatabase, **more: str) -> str:
    """The finding on the server."""
    first = found(database, **more)[0]
    assert (first.code, first.level) == ("oracle.server", "ok")
    return first.message.partition(" at ")[0]


@pytest.mark.usefixtures("oracle_stand_in")
def test_the_server_is_described_by_version_edition_platform_and_containers(
    database: OracleDatabase,
) -> None:
    assert server(database) == (
        f"Oracle {VERSION} (Oracle Database 19c Enterprise Edition, Linux x86 64-bit, "
        "a container database)"
    )
    parts = ["NLSRTL ", "Oracle Database 12c Standard Edition ", "PL/SQL "]
    database.change(products=parts, platform="AIX-Based Systems (64-bit)", cdb="NO")
    assert server(database) == (
        f"Oracle {VERSION} (Oracle Database 12c Standard Edition, AIX-Based Systems (64-bit), "
        "not a container database)"
    )


def test_what_may_not_be_seen_of_the_server_is_left_out(database: OracleDatabase) -> None:
    rows_only = {"snapshot_mode": "initial_only", "snapshot_locking_mode": "none"}
    database.change(hidden_views={"V$DATABASE"})
    assert server(database) == f"Oracle {VERSION} (Oracle Database 19c Enterprise Edition)"
    database.change(hidden_views={"PRODUCT_COMPONENT_VERSION"})
    assert server(database) == f"Oracle {VERSION} (Linux x86 64-bit, a container database)"
    assert bad(found(database)) == []
    database.change(hidden_views={"PRODUCT_COMPONENT_VERSION", "V$DATABASE"})
    assert server(database, **rows_only) == f"Oracle {VERSION}"


def test_a_server_that_goes_away_while_it_is_described_is_one_error(
    database: OracleDatabase,
) -> None:
    database.server.apply([{"error": 3113, "when": "PLATFORM_NAME"}])
    only(found(database), "oracle.connection_lost")


@pytest.mark.parametrize("code", [1031, 65040, 1435])
def test_a_server_whose_root_is_out_of_reach_is_refused_by_name(
    database: OracleDatabase, code: int
) -> None:
    """Amazon RDS and Autonomous Database are such servers."""
    database.change(root_error=code)
    error = only(found(database), "oracle.root_not_accessible")
    assert error.level == "error"
    assert "SET CONTAINER" in error.remedy
    assert "snapshot.mode=initial_only" in error.remedy
    assert bad(found(database, snapshot_mode="initial_only")) == []
    with pytest.raises(HeadraceError) as refused:
        OracleReader.of(database)
    assert (refused.value.code, refused.value.retriable) == ("oracle.root_not_accessible", False)


def test_a_database_without_archived_logs_is_an_error(database: OracleDatabase) -> None:
    database.change(log_mode="NOARCHIVELOG")
    error = only(found(database), "oracle.no_archive_log_mode")
    assert error.level == "error"
    assert "NOARCHIVELOG" in error.message
    assert statements(error.remedy) == [
        IN_ROOT,
        "SHUTDOWN IMMEDIATE;",
        "STARTUP MOUNT;",
        "ALTER DATABASE ARCHIVELOG;",
        "ALTER DATABASE OPEN;",
        "ALTER PLUGGABLE DATABASE ALL OPEN;",
    ]


def test_a_database_without_supplemental_logging_is_an_error(database: OracleDatabase) -> None:
    database.change(supplemental="NO")
    error = only(found(database), "oracle.no_supplemental_logging")
    assert statements(error.remedy) == [IN_ROOT, "ALTER DATABASE ADD SUPPLEMENTAL LOG DATA;"]
    assert bad(found(database, snapshot_mode="initial_only")) == []
    database.change(supplemental="IMPLICIT")
    assert bad(found(database)) == []


def test_a_table_whose_redo_lacks_columns_is_an_error_with_its_statement(
    database: OracleDatabase,
) -> None:
    database.create_table("OTHERS", *KEYED, key=["ID"], supplemental=None)
    database.create_table("OTHER.TABLES", *KEYED, key=["ID"], supplemental=None)
    error = only(found(database), "oracle.no_table_logging")
    assert "INV.OTHERS" in error.message
    assert "OTHER.TABLES" not in error.message
    place, statement = statements(error.remedy)
    assert place == IN_DATABASE
    assert statement == 'ALTER TABLE "INV"."OTHERS" ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS;'
    database.server.ddl(statement.replace('"INV"."OTHERS"', "INV.OTHERS"))
    assert bad(found(database)) == []


def test_what_the_user_may_not_do_is_one_error_with_its_grants(database: OracleDatabase) -> None:
    left = [privilege for privilege in PRIVILEGES if privilege != "LOGMINING"]
    database.change(privileges=left, hidden_views={"V$LOGFILE", "V$THREAD"})
    findings = [finding for finding in found(database) if finding.code == "oracle.no_privilege"]
    assert statements(findings[0].remedy) == [
        IN_ROOT,
        f"GRANT LOGMINING TO {USER};",
        f"GRANT SELECT ON V_$LOGFILE TO {USER};",
        f"GRANT SELECT ON V_$THREAD TO {USER};",
    ]
    assert "c##" in findings[0].message.lower()


def test_metrics_of_memory_need_rights_of_their_own(database: OracleDatabase) -> None:
    database.change(hidden_views={"V$MYSTAT"})
    warning = only(found(database), "oracle.no_memory_metrics")
    assert warning.level == "warning"
    assert statements(warning.remedy) == [IN_ROOT, f"GRANT SELECT ON V_$MYSTAT TO {USER};"]


def test_rights_on_tables_are_needed_as_the_snapshot_reads_them(database: OracleDatabase) -> None:
    left = [
        privilege
        for privilege in PRIVILEGES
        if privilege not in ("FLASHBACK ANY TABLE", "LOCK ANY TABLE")
    ]
    database.change(privileges=left)
    error = only(found(database), "oracle.no_privilege")
    assert statements(error.remedy) == [
        IN_ROOT,
        f"GRANT FLASHBACK ANY TABLE TO {USER};",
        f"GRANT LOCK ANY TABLE TO {USER};",
    ]
    assert "LOCK" not in only(found(database, snapshot_locking_mode="none"), error.code).message
    assert bad(found(database, snapshot_mode="no_data")) == []


def test_rights_on_each_table_do_as_well_as_privileges(database: OracleDatabase) -> None:
    left = [
        privilege
        for privilege in PRIVILEGES
        if privilege not in ("FLASHBACK ANY TABLE", "LOCK ANY TABLE")
    ]
    rights = {"INV.THINGS": ["SELECT", "FLASHBACK"]}
    database.change(privileges=left, table_rights=rights)
    assert bad(found(database)) == []
    database.create_table("OTHERS", *KEYED, key=["ID"])
    error = only(found(database), "oracle.no_privilege")
    assert "FLASHBACK ANY TABLE, LOCK ANY TABLE" in error.message
    database.change(table_rights={**rights, "INV.OTHERS": ["SELECT"]})
    error = only(found(database), "oracle.no_privilege")
    assert "LOCK ANY TABLE" not in error.message


def test_the_package_that_writes_the_dictionary_is_needed_by_the_strategy_that_uses_it(
    database: OracleDatabase,
) -> None:
    database.change(packages=["DBMS_LOGMNR"])
    assert bad(found(database)) == []
    error = only(found(database, log_mining_strategy="redo_log_catalog"), "oracle.no_privilege")
    assert statements(error.remedy) == [IN_ROOT, f"GRANT EXECUTE ON DBMS_LOGMNR_D TO {USER};"]


def test_supplemental_logging_of_a_schema_is_that_of_its_tables(database: OracleDatabase) -> None:
    database.create_table("OTHERS", *KEYED, key=["ID"], supplemental=None)
    only(found(database), "oracle.no_table_logging")
    database.change(logged_schemas=["INV"])
    assert bad(found(database)) == []
    database.change(hidden_views={"ALL_CAPTURE_PREPARED_SCHEMAS"})
    only(found(database), "oracle.no_table_logging")


@pytest.mark.parametrize("of", ["logging", "partition_logging", "subpartition_logging"])
def test_tables_whose_direct_loads_are_not_in_the_redo_are_reported(
    database: OracleDatabase, of: str
) -> None:
    setting = "NO" if of == "logging" else ["YES", "NO"]
    database.server.call("change_table", "INV.THINGS", **{of: setting})
    assert bad(found(database)) == []
    database.change(force_logging="NO")
    warning = only(found(database), "oracle.nologging")
    assert warning.level == "warning"
    assert statements(warning.remedy)[:2] == [IN_DATABASE, 'ALTER TABLE "INV"."THINGS" LOGGING;']
    assert "ALTER DATABASE FORCE LOGGING" in warning.remedy


@pytest.mark.parametrize("view", ["ALL_LOBS", "ALL_LOB_PARTITIONS", "ALL_LOB_SUBPARTITIONS"])
def test_columns_whose_large_values_are_not_in_the_redo_are_named(
    database: OracleDatabase, view: str
) -> None:
    columns = {view: {"NOTE": "NO", "PHOTO": "YES", "OTHER": "NONE"}}
    database.server.call("change_table", "INV.THINGS", lob_logging=columns)
    assert bad(found(database, lob_enabled="true")) == []
    database.change(force_logging="NO")
    assert bad(found(database)) == []
    warning = only(found(database, lob_enabled="true"), "oracle.nologging")
    assert warning.level == "warning"
    assert "INV.THINGS.NOTE" in warning.message
    assert "PHOTO" not in warning.message
    assert statements(warning.remedy)[:2] == [
        IN_DATABASE,
        'ALTER TABLE "INV"."THINGS" MODIFY LOB ("NOTE") (NOCACHE LOGGING);',
    ]


def test_a_container_database_needs_the_name_of_the_pluggable_one(
    database: OracleDatabase,
) -> None:
    properties = database.properties()
    del properties["database.pdb.name"]
    findings = list(check(OracleConfig.parse(properties)))
    (error,) = (finding for finding in findings if finding.code == "oracle.no_pluggable_database")
    assert (error.level, "database.pdb.name" in error.remedy) == ("error", True)
    database.change(cdb="NO")
    findings = list(check(OracleConfig.parse(properties)))
    assert "oracle.no_pluggable_database" not in {finding.code for finding in findings}


def test_a_user_that_cannot_make_a_flush_table_is_reported(database: OracleDatabase) -> None:
    database.change(
        privileges=[privilege for privilege in PRIVILEGES if privilege != "CREATE TABLE"]
    )
    error = only(found(database), "oracle.no_flush_table")
    assert statements(error.remedy) == [IN_ROOT, f"GRANT CREATE TABLE TO {USER};"]
    assert bad(found(database, log_mining_read_only="true")) == []


def test_dropped_tables_are_looked_for_where_the_strategy_needs_it(
    database: OracleDatabase,
) -> None:
    database.change(hidden_views={"DBA_RECYCLEBIN"})
    assert bad(found(database)) == []
    error = only(found(database, log_mining_strategy="hybrid"), "oracle.no_privilege")
    assert statements(error.remedy) == [IN_ROOT, f"GRANT SELECT ON DBA_RECYCLEBIN TO {USER};"]


def test_names_that_logminer_does_not_know_are_reported(database: OracleDatabase) -> None:
    long = "A" * 31
    database.create_table("LONG", "ID NUMBER(9,0)", f"{long} NUMBER", key=["ID"])
    warning = only(found(database), "oracle.long_name")
    assert warning.level == "warning"
    assert long in warning.message
    assert statements(warning.remedy) == []


def test_a_transaction_older_than_the_logs_is_an_error(database: OracleDatabase) -> None:
    transaction = database.server.begin()
    transaction.insert("INV.THINGS", ID=1)
    assert bad(found(database)) == []
    database.server.apply([{"switch": 1}] * 4 + [{"delete_logs": [1, 2]}])
    error = only(found(database), "oracle.log_retention")
    assert transaction.xid in error.message
    transaction.rollback()
    assert bad(found(database)) == []


def test_a_transaction_that_is_open_for_hours_is_a_warning(database: OracleDatabase) -> None:
    server = database.server
    server.begin().insert("INV.THINGS", ID=1)
    server.apply([{"scn": server.call("scn") + 3 * 3600}])
    warning = only(found(database), "oracle.long_transaction")
    assert (warning.level, " 3 h" in warning.message) == ("warning", True)
    assert "log.mining.window.max.ms" in warning.remedy
    assert bad(found(database, log_mining_window_max_ms="3600000")) == []


def test_logs_that_do_not_reach_back_to_where_the_connector_was_are_reported(
    database: OracleDatabase,
) -> None:
    reader = OracleReader.of(database)
    for number in (1, 2):
        with database.transaction() as transaction:
            transaction.insert("INV.THINGS", ID=number)
        if number == 1:
            reader.await_changes(1)
            reader.stop()
            assert bad(found(database)) == []
    database.server.apply([{"switch": 1}] * 4 + [{"delete_logs": [1, 2]}])
    warning = only(found(database), "oracle.log_retention")
    assert warning.level == "warning"
    assert "LOG_MINING_FLUSH" in warning.message
    assert "when_needed" in warning.remedy
    assert bad(found(database, log_mining_flush_table_name="ANOTHER")) == []


BROKEN: dict[str, dict[str, Any]] = {
    "oracle.no_archive_log_mode": {"log_mode": "NOARCHIVELOG"},
    "oracle.no_supplemental_logging": {"supplemental": "NO"},
    "oracle.no_privilege": {
        "privileges": ["CREATE SESSION", "CREATE TABLE"],
        "packages": ["DBMS_LOGMNR"],
        "hidden_views": {"V$LOGMNR_CONTENTS", "V$TRANSACTION", "GV$TRANSACTION"},
    },
    "oracle.no_quota": {"quota": None},
    "oracle.no_flush_table": {
        "privileges": [privilege for privilege in PRIVILEGES if privilege != "CREATE TABLE"]
    },
}


@pytest.mark.parametrize("code", BROKEN)
def test_the_statements_of_a_remedy_add_what_is_missing(
    database: OracleDatabase, code: str
) -> None:
    administrator = Administrator.of(database, **BROKEN[code])
    administrator.minds_containers = True
    more = {"rac_nodes": "n1,n2"} if code == "oracle.no_privilege" else {}
    findings = [finding for finding in found(database, **more) if finding.level == "error"]
    assert {finding.code for finding in findings} == {code}
    for finding in findings:
        for statement in statements(finding.remedy):
            administrator.run(statement)
    unreachable = {("warning", "oracle.node_unreachable")} if more else set()
    assert set(bad(found(database, **more))) == unreachable


def test_one_script_adds_all_that_is_missing_each_thing_in_its_container(
    database: OracleDatabase,
) -> None:
    database.create_table("OTHERS", *KEYED, key=["ID"], supplemental=None)
    administrator = Administrator.of_nothing(database, {"V$LOG", "V$TRANSACTION", "V$MYSTAT"})
    administrator.minds_containers = True
    for _ in range(2):  # logs that are archived now are looked at then
        lines = list(script(found(database)))
        for line in lines:
            if line and not line.startswith("--"):
                administrator.run(line)
    assert {level for level, _ in bad(found(database))} == {"warning"}


def test_rights_on_a_table_are_granted_where_the_table_is() -> None:
    properties = {"topic.prefix": "p", "database.hostname": "h", "database.dbname": "ORCLCDB"}
    properties |= {"database.user": "c##u", "database.pdb.name": "ORCLPDB1"}
    config = OracleConfig.parse(properties)
    remedies = [granted_there(config, 'SELECT ON "A"."B"'), granted(config, "LOGMINING")]
    findings = [Finding("code", "error", "message", " ".join(remedies))]
    assert list(script(findings)) == [
        "",
        IN_DATABASE,
        "-- error: message",
        'GRANT SELECT ON "A"."B" TO "C##U";',
        "",
        IN_ROOT,
        "-- error: message",
        'GRANT LOGMINING TO "C##U" CONTAINER=ALL;',
    ]


def test_a_destination_that_is_not_there_is_an_error(database: OracleDatabase) -> None:
    assert bad(found(database, archive_destination_name="LOG_ARCHIVE_DEST_1")) == []
    error = only(
        found(database, archive_destination_name="LOG_ARCHIVE_DEST_7"),
        "oracle.no_archive_destination",
    )
    assert "LOG_ARCHIVE_DEST_7" in error.message
    assert "LOG_ARCHIVE_DEST_1" in error.remedy


@pytest.mark.parametrize("status", ["FULL", "ERROR", "DEFERRED"])
def test_a_destination_that_takes_no_logs_is_a_warning(
    database: OracleDatabase, status: str
) -> None:
    """The logs that it has are read."""
    database.change(destination_status=status)
    warning = only(found(database), "oracle.archive_destination_fails")
    assert (warning.level, status in warning.message) == ("warning", True)
    database.change(second_destination="LOCAL")
    assert bad(found(database, archive_destination_name="LOG_ARCHIVE_DEST_2")) == []
    assert bad(found(database)) == []


@pytest.mark.parametrize(("user", "stored"), [("dbzUser", "DBZUSER"), ('"dbzUser"', "dbzUser")])
def test_a_user_has_one_name_in_grants_and_in_what_is_left_out(user: str, stored: str) -> None:
    config = OracleConfig.parse(PROPERTIES | {"database.user": user})
    assert user_name(config) == f'"{stored}"'
    capture = Capture(config)
    assert capture.is_system(stored, "LOG_MINING_FLUSH")
    assert not capture.is_system("OTHER", "LOG_MINING_FLUSH")
    listed = PROPERTIES | {"database.user": user, "log.mining.username.include.list": "APP"}
    assert OracleConfig.parse(listed).user_lists == (["APP", stored], [])


def test_a_pluggable_database_that_is_not_there_is_an_error(database: OracleDatabase) -> None:
    error = only(found(database, database_pdb_name="NOWHERE"), "oracle.unknown_database")
    assert "NOWHERE" in error.message


def test_what_a_run_needs_besides_the_database_is_looked_for(
    database: OracleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("confluent_kafka")
    monkeypatch.setattr(topics, "ANSWER_SECONDS", 0.5)
    more = {
        "rac_nodes": "127.0.0.1:1/RACDB1",
        "signal_data_collection": "ORCLPDB1.INV.SIGNALS",
        "schema_history_internal": "kafka",
        "schema_history_internal_kafka_topic": "history",
        "schema_history_internal_kafka_bootstrap_servers": "127.0.0.1:1",
    }
    findings = found(database, **more)
    (remedy,) = (finding.remedy for finding in findings if finding.code == "oracle.signal_table")
    assert statements(remedy)[0] == IN_DATABASE
    assert bad(findings) == [
        ("error", "oracle.signal_table"),
        ("warning", "oracle.node_unreachable"),
        ("error", "relational.kafka_unreachable"),
    ]


def test_no_archived_log_is_a_warning_where_no_others_are_read(database: OracleDatabase) -> None:
    more = {"log_mining_archive_log_only_mode": "true"}
    warning = only(found(database, **more), "oracle.log_retention")
    assert "ARCHIVE_LAG_TARGET" in warning.remedy
    database.server.apply([{"switch": 1}])
    assert bad(found(database, **more)) == []


def test_no_table_that_is_captured_is_an_error(database: OracleDatabase) -> None:
    error = only(found(database, table_include_list="NOBODY.*"), "oracle.no_tables")
    assert error.level == "error"


def test_a_database_that_does_not_answer_is_one_error(database: OracleDatabase) -> None:
    error = only(found(database, database_port="1"), "oracle.connection_lost")
    assert "hush" not in error.message


def test_events_have_the_shapes_of_the_captured_tables(database: OracleDatabase) -> None:
    (shape,) = event_shapes(OracleConfig.parse(database.properties()))
    assert "THINGS" in str(shape)
