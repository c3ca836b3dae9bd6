"""Connections to Oracle: data source names, sessions, errors, and what they hide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import oracledb
import pyarrow as pa
import pytest

from headrace.connectors.oracle import sql
from headrace.connectors.oracle.config import OracleConfig, data_source
from headrace.connectors.oracle.connection import (
    CHECK_LIMIT,
    Connection,
    connect,
    opened,
)
from headrace.connectors.oracle.errors import QUERY_LIMIT, DriverError, translate
from headrace.errors import HeadraceError
from headrace_demo.oracle.driver import OracleConnection
from tests.servers.oracle import PDB, OracleDatabase

PROPERTIES = {
    "connector.class": "oracle",
    "topic.prefix": "p",
    "database.hostname": "db",
    "database.port": "1521",
    "database.user": "c##dbzuser",
    "database.password": "hush-hush",
    "database.dbname": "ORCLCDB",
    "table.include.list": "INV.*",
}


def config(**more: str) -> OracleConfig:
    return OracleConfig.parse(
        PROPERTIES | {name.replace("_", "."): value for name, value in more.items()}
    )


@pytest.mark.parametrize(
    ("url", "dsn"),
    [
        ("jdbc:oracle:thin:@//h:1521/svc.world", "h:1521/svc.world"),
        ("jdbc:oracle:thin:@h:1521/svc", "h:1521/svc"),
        ("jdbc:oracle:thin:@tcps://h:2484/svc", "tcps://h:2484/svc"),
        (
            "jdbc:oracle:thin:@h:1521:ORCL",
            "(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=h)(PORT=1521))(CONNECT_DATA=(SID=ORCL)))",
        ),
        ("jdbc:oracle:oci:@(DESCRIPTION=(X=1))", "(DESCRIPTION=(X=1))"),
        ("jdbc:oracle:thin:@prod_alias", "prod_alias"),
    ],
)
def test_the_url_of_javas_driver_names_the_same_database(url: str, dsn: str) -> None:
    assert data_source(config(database_url=url)) == dsn


def test_a_database_is_named_by_host_port_and_service() -> None:
    assert data_source(config()) == "db:1521/ORCLCDB"
    assert data_source(config(), "node2") == "node2:1521/ORCLCDB"
    assert data_source(config(), "node2:1600/RAC2") == (
        "(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=node2)(PORT=1600))(CONNECT_DATA=(SID=RAC2)))"
    )


def test_a_url_of_another_database_is_refused_and_not_shown() -> None:
    for url in (
        "jdbc:postgresql://u:secret@h/d",
        "jdbc:oracle:thin:scott/sec@ret-secret@//h:1/s",
        "jdbc:oracle:thin:@(DESCRIPTION=(SECURITY=(WALLET_PASSWORD=secret)))",
    ):
        with pytest.raises(HeadraceError, match=r"database\.user, database\.password") as error:
            config(database_url=url)
        assert error.value.code == "config.invalid"
        assert "secret" not in f"{error.value} {error.value!r} {error.value.__dict__}"
    oracle_config = config(database_url="jdbc:oracle:thin:@//hidden:1/s")
    assert "hidden" not in f"{oracle_config!r} {oracle_config.redacted()}"


def test_a_host_that_is_not_found_is_waited_for() -> None:
    with pytest.raises(HeadraceError) as error:
        connect(config(database_hostname="nowhere.invalid"))
    assert (error.value.code, error.value.retriable) == ("oracle.connection_lost", True)
    assert "nowhere.invalid" in error.value.message


@pytest.mark.parametrize(
    ("text", "code", "retriable"),
    [
        ("ORA-01017: invalid username/password; logon denied", "authentication", False),
        ("ORA-28000: The account is locked.", "account", False),
        ("ORA-01555: snapshot too old", "snapshot_too_old", True),
        ("ORA-01466: unable to read data - table definition has changed", "table_altered", True),
        ("ORA-04030: out of process memory", "memory", True),
        ("ORA-04036: PGA memory used by the instance exceeds", "memory", True),
        ("ORA-00310: archived log contains sequence 5; sequence 4 required", "log_switched", True),
        ("ORA-01291: missing log file", "missing_log", True),
        ("ORA-00942: table or view does not exist", "table_gone", False),
        ("ORA-01031: insufficient privileges", "no_privilege", False),
        ("ORA-00054: resource busy", "lock_timeout", True),
        ("ORA-65011: Pluggable database X does not exist.", "unknown_database", False),
        ("DPY-4024: call timeout of 10 ms exceeded", "query_timeout", True),
        ("DPY-4011: the database or network closed the connection", "connection_lost", True),
        ("DPY-6005: cannot connect to database (CONNECTION_ID=x)", "connection_lost", True),
        ("ORA-03113: end-of-file on communication channel", "connection_lost", True),
        ("ORA-12541: TNS:no listener", "connection_lost", True),
        ("ORA-12899: value too large for column", "query_failed", False),
        ("ORA-01109: database not open", "not_open", True),
        ("ORA-01219: database or pluggable database not open", "not_open", True),
        ("ORA-01507: database not mounted", "not_open", True),
        ("ORA-16456: switchover to standby in progress or completed", "not_open", True),
        ("ORA-00257: Archiver error. Connect AS SYSDBA only until resolved.",
         "archiver_stuck", True),
        ("ORA-02399: exceeded maximum connect time, you are being logged off",
         "connection_lost", True),
        ("ORA-02391: exceeded simultaneous SESSIONS_PER_USER limit", "too_many_connections", True),
        ("ORA-12516: TNS:listener could not find available handler", "connection_lost", True),
        ("ORA-12564: TNS:connection refused", "connection_lost", True),
        ("ORA-12592: TNS:bad packet", "connection_lost", True),
        ("ORA-12609: TNS: Receive timeout occurred", "connection_lost", True),
        ("ORA-12505: TNS:listener does not currently know of SID", "unknown_database", True),
        ("ORA-12514: TNS:listener does not currently know of service", "unknown_database", True),
        ("ORA-12521: TNS:listener does not currently know of instance", "unknown_database", True),
        ("ORA-29275: partial multibyte character", "invalid_text", False),
        ("ORA-28759: failure to open file", "tls", False),
        ("ORA-28860: Fatal SSL error", "tls", False),
        ("ORA-29024: Certificate validation failure", "tls", False),
        ("ORA-12650: No common encryption or data integrity algorithm", "tls", False),
        ("ORA-28040: No matching authentication protocol", "authentication_kind", False),
        ("ORA-12638: Credential retrieval failed", "authentication", False),
    ],
)  # fmt: skip
def test_each_error_of_oracle_has_its_code(text: str, code: str, retriable: bool) -> None:
    error = translate(DriverError(text), config(), "Mining")
    assert error is not None
    assert (error.code, error.retriable) == (f"oracle.{code}", retriable)
    assert error.remedy
    assert text.split(":")[0] in str(error)


def test_no_message_has_the_password() -> None:
    error = translate(DriverError("ORA-00900: near hush-hush"), config())
    assert error is not None
    assert "hush" not in str(error)
    assert "near ********" in str(error)
    assert translate(ValueError("x"), config()) is None


def test_an_unknown_driver_is_an_error() -> None:
    for module in ("no.such.module", "json"):
        with pytest.raises(HeadraceError) as error:
            connect(config(driver_module=module))
        assert error.value.code == "oracle.unknown_driver"


def test_python_oracledb_itself_finds_no_server() -> None:
    pytest.importorskip("oracledb")
    with pytest.raises(HeadraceError) as error:
        connect(config(database_hostname="127.0.0.1", database_port="1"))
    assert error.value.code == "oracle.connection_lost"
    assert error.value.retriable
    assert "hush" not in str(error.value)


@pytest.mark.parametrize("url", ["(DESCRIPTION=(X", "carrier://h:1/s", "//h:1521/a b"])
def test_a_url_that_the_driver_cannot_read_is_an_error_that_says_so(url: str) -> None:
    """python-oracledb itself."""
    with pytest.raises(HeadraceError) as error:
        connect(config(database_url=f"jdbc:oracle:thin:@{url}"))
    assert (error.value.code, error.value.retriable) == ("oracle.url", False)
    assert "database.url" in error.value.remedy


def test_a_mode_of_administrators_is_not_supported_and_says_so() -> None:
    with pytest.raises(HeadraceError) as error:
        connect(config(driver_mode="SYSDBA"))
    assert error.value.code == "oracle.impossible_parameter"
    assert "driver.mode is not supported" in error.value.message
    assert "SYSDBA" in error.value.remedy


def test_the_drivers_pointer_to_its_manual_is_left_out_whole() -> None:
    text = (
        "DPI-1047: Cannot locate a 64-bit Oracle Client library: no such file. See "
        "https://python-oracledb.readthedocs.io/en/latest/user_guide/initialization.html for help"
    )
    assert DriverError(text).text == (
        "DPI-1047: Cannot locate a 64-bit Oracle Client library: no such file."
    )


@pytest.mark.oracle
def test_a_session_has_headraces_formats_and_switches_its_container(
    oracle_database: OracleDatabase,
) -> None:
    parsed = OracleConfig.parse(oracle_database.properties())
    with connect(parsed) as connection:
        assert connection.version >= (19,)
        assert connection.rows(sql.CLOCK())[0][0].endswith(" +00:00")
        connection.switch_to(PDB)
        connection.switch_to(PDB)
        assert connection.container == PDB
    counted = oracle_database.server.call("counted")
    assert counted["session_formats"] == counted["session_time_zone"] == 2
    assert counted["set_container"] == 1


@pytest.mark.oracle
def test_the_formats_of_a_session_are_set_in_the_container_that_it_switched_to(
    oracle_database: OracleDatabase,
) -> None:
    """The stand-in forgets them when the container is another one."""
    parsed = OracleConfig.parse(oracle_database.properties())
    statements: list[str] = []
    with connect(parsed, container=PDB) as connection:
        execute = connection.execute
        connection.execute = lambda text: statements.append(text) or execute(text)  # type: ignore
        connection.switch_to(sql.ROOT)
    assert statements == [
        sql.set_container(sql.ROOT),
        sql.SESSION_FORMATS(),
        sql.SESSION_TIME_ZONE(),
    ]


def test_a_connection_of_checks_keeps_no_statements_for_another_container(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connect_options: list[dict[str, Any]] = []

    def refused(*, stmtcachesize: int | None = None, **_: Any) -> None:
        connect_options.append({} if stmtcachesize is None else {"stmtcachesize": stmtcachesize})
        raise oracledb.DatabaseError("refused")

    monkeypatch.setattr(oracledb, "connect", refused)
    for limit in (QUERY_LIMIT, CHECK_LIMIT):
        with pytest.raises(HeadraceError):
            connect(config(), limit=limit)
    assert connect_options == [{}, {"stmtcachesize": 0}]


@pytest.mark.oracle
def test_a_container_that_does_not_exist_is_an_error(oracle_database: OracleDatabase) -> None:
    parsed = OracleConfig.parse(oracle_database.properties(database_pdb_name="NOWHERE"))
    with pytest.raises(HeadraceError) as error, opened(parsed, "Looking"):
        pass
    assert error.value.code == "oracle.unknown_database"


@pytest.mark.oracle
def test_a_wrong_password_is_reported_without_it(oracle_database: OracleDatabase) -> None:
    parsed = OracleConfig.parse(oracle_database.properties(database_password="wrong-word"))
    with pytest.raises(HeadraceError) as error:
        connect(parsed)
    assert error.value.code == "oracle.authentication"
    assert "wrong-word" not in str(error.value)


@pytest.mark.oracle
def test_rows_are_fetched_in_parts_with_all_digits(oracle_database: OracleDatabase) -> None:
    number = "98765432109876543210.5"
    oracle_database.create_table(
        "T", "ID NUMBER(9,0) NOT NULL", "N NUMBER", key=["ID"], rows=[[1, number], [2, None]]
    )
    select = 'SELECT "ID", "N" FROM "INV"."T" "t" ORDER BY "t"."ID"'
    with connect(OracleConfig.parse(oracle_database.properties())) as connection:
        cursor = connection.cursor(select, rows=1, exact=True)
        assert cursor.columns == ("ID", "N")
        assert cursor.fetch(1) == [("1", number)]
        assert cursor.fetch(5) == [("2", None)]
        assert cursor.fetch(5) == []
        cursor.close()
        schema = pa.schema([("id", pa.int64()), ("n", pa.float64())])
        (batch,) = connection.batches(select, schema)
        assert batch.to_pydict() == {"id": [1, 2], "n": [float(number), None]}


@pytest.mark.oracle
@pytest.mark.usefixtures("oracle_stand_in")
def test_batches_are_made_of_the_drivers_own_frames_without_a_copy(
    oracle_database: OracleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames: list[oracledb.DataFrame] = []
    fetch = OracleConnection.fetch_df_batches

    def recorded(*arguments: Any, **named: Any) -> Iterator[oracledb.DataFrame]:
        for frame in fetch(*arguments, **named):
            frames.append(frame)
            yield frame

    monkeypatch.setattr(OracleConnection, "fetch_df_batches", recorded)
    oracle_database.create_table("T", "ID NUMBER(9,0) NOT NULL", key=["ID"], rows=[[1], [2], [3]])
    select = 'SELECT "ID" FROM "INV"."T" "t" ORDER BY "t"."ID"'
    schema = pa.schema([("id", pa.int64())])
    with connect(OracleConfig.parse(oracle_database.properties())) as connection:
        batches = list(connection.batches(select, schema, rows=2))
        assert [batch.to_pydict() for batch in batches] == [{"id": [1, 2]}, {"id": [3]}]
        nothing = select.replace('"t" ORDER', '"t" WHERE "t"."ID" < 0 ORDER')
        assert list(connection.batches(nothing, schema)) == []
    assert {type(frame) for frame in frames} == {oracledb.DataFrame}
    assert [frame.num_rows() for frame in frames] == [2, 1, 0]
    frame_column = pa.table(frames[0]).column(0).chunk(0)
    assert frame_column.buffers()[1].address == batches[0].column(0).buffers()[1].address


@pytest.mark.oracle
def test_what_the_driver_refuses_is_an_error_of_the_driver(
    oracle_database: OracleDatabase,
) -> None:
    with connect(OracleConfig.parse(oracle_database.properties())) as connection:
        with pytest.raises(DriverError) as error:
            connection.rows(sql.END_LOGMNR())
        assert (error.value.code, error.value.full_code) == (1307, "ORA-01307")
        oracle_database.server.call("end_sessions")
        with pytest.raises(DriverError) as lost:
            connection.rows(sql.CURRENT_SCN())
        assert lost.value.is_unreachable


@pytest.mark.oracle
def test_a_connection_whose_container_is_not_there_is_closed(
    oracle_database: OracleDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Connection] = []
    close = Connection.close

    def recorded(connection: Connection) -> None:
        closed.append(connection)
        close(connection)

    monkeypatch.setattr(Connection, "close", recorded)
    with pytest.raises(HeadraceError) as error:
        connect(OracleConfig.parse(oracle_database.properties()), container="NOWHERE")
    assert error.value.code == "oracle.unknown_database"
    (connection,) = closed
    with pytest.raises(DriverError):
        connection.rows(sql.CURRENT_SCN())
