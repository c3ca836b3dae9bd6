"""Errors on the user's side, or between the server and us: one clear message each."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.oracle.connection import connect
from headrace.connectors.oracle.errors import DriverError, translate
from headrace.errors import HeadraceError
from tests.connectors.harness import ConnectorReader
from tests.connectors.oracle.reading import ID_AND_NAME, OracleReader
from tests.servers.oracle import OracleDatabase

OVERRIDES = "snapshot.select.statement.overrides"


def config(**more: str) -> OracleConfig:
    """The configuration of a server that does not exist."""
    properties = {
        "topic.prefix": "p",
        "database.hostname": "127.0.0.1",
        "database.port": "1",
        "database.user": "u",
        "database.password": "secret-word",
        "database.dbname": "D",
    }
    return OracleConfig.parse(properties | more)


@pytest.mark.parametrize(
    ("text", "is_of_statement"),
    [
        ("ORA-00904: \"X\": invalid identifier", True),
        ("ORA-00942: table or view does not exist", True),
        ("ORA-01476: divisor is equal to zero", True),
        ("ORA-01427: single-row subquery returns more than one row", True),
        ("ORA-01722: invalid number", True),
        ("ORA-01861: literal does not match format string", True),
        ("DPY-4010: a bind variable replacement value for placeholder \":A\" was not given", True),
        ("ORA-01031: insufficient privileges", False),
        ("ORA-01555: snapshot too old", False),
        ("ORA-03113: end-of-file on communication channel", False),
        ("ORA-04036: PGA memory used by the instance exceeds PGA_AGGREGATE_LIMIT", False),
        ("ORA-00060: deadlock detected while waiting for resource", False),
        ("DPY-4024: call timeout of 10 ms exceeded", False),
        ("DPY-4011: the database or network closed the connection", False),
        ("something else", False),
    ],
)  # fmt: skip
def test_errors_of_a_statement_are_not_those_of_the_server(
    text: str, is_of_statement: bool
) -> None:
    assert DriverError(text).is_of_statement is is_of_statement


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("driver.oracle.jdbc.timezoneAsRegion", "false", "impossible_parameter"),
        ("driver.sll_server_dn_match", "true", "impossible_parameter"),
        ("driver.ssl_server_dn_match", "perhaps", "impossible_parameter"),
        ("driver.sdu", "large", "impossible_parameter"),
        ("driver.mode", "SYSDBA", "impossible_parameter"),
        ("database.password", "", "authentication"),
        ("driver.sdu", "8192", "connection_lost"),
        ("driver.wallet_password", "123456", "connection_lost"),
        ("driver.oracle.net.CONNECT_TIMEOUT", "2000", "connection_lost"),
        ("driver.oracle.net.wallet_location", "(SOURCE=(METHOD_DATA=(DIRECTORY=/w)))",
         "connection_lost"),
    ],
)  # fmt: skip
def test_a_parameter_that_the_driver_has_not_is_named(name: str, value: str, code: str) -> None:
    with pytest.raises(HeadraceError) as caught:
        connect(config(**{name: value}))
    assert caught.value.code == f"oracle.{code}"
    assert (name in caught.value.message) is (code == "impossible_parameter")


@pytest.mark.parametrize("parameter", ["wallet_password", "access_token", "newpassword"])
def test_a_secret_among_the_drivers_parameters_is_never_shown(parameter: str) -> None:
    oracle_config = config(**{f"driver.{parameter}": "word-7", "database.password": "hush-hush"})
    assert "word-7" not in f"{oracle_config!r} {oracle_config.redacted()}"
    error = translate(DriverError("ORA-28759: word-7 and hush-hush open nothing"), oracle_config)
    assert error is not None
    assert "word-7" not in f"{error!r} {error} {error.__dict__}"
    assert "hush" not in str(error)


@pytest.fixture
def database(oracle_database: OracleDatabase) -> OracleDatabase:
    oracle_database.create_table("T", *ID_AND_NAME, key=["ID"], rows=[[1, "one"]])
    return oracle_database


def refusal(database: OracleDatabase, **more: str) -> HeadraceError:
    """The error with which a reader of existing rows is refused."""
    properties = database.properties(errors_max_retries="0") | more
    reader = ConnectorReader(properties)
    try:
        with pytest.raises(HeadraceError) as caught:
            reader.step_until(lambda: bool(reader.events()))
    finally:
        reader.stop()
    return caught.value


@pytest.mark.oracle
@pytest.mark.parametrize(
    "statement", ['SELECT NOTHING FROM "INV"."T"', 'SELECT * FROM "INV"."NOBODY"']
)
def test_a_statement_that_cannot_be_run_is_named_by_its_property(
    database: OracleDatabase, statement: str
) -> None:
    more = {OVERRIDES: "INV.T", f"{OVERRIDES}.INV.T": statement, "include.schema.changes": "false"}
    error = refusal(database, **more)
    assert error.code == "oracle.override"
    assert f"{OVERRIDES}.INV.T" in error.message


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("ora", "code", "retriable"),
    [(3113, "connection_lost", True), (1031, "no_privilege", False), (4036, "memory", True)],
)
def test_a_statement_is_not_blamed_for_what_the_server_does(
    database: OracleDatabase, ora: int, code: str, retriable: bool
) -> None:
    more = {OVERRIDES: "INV.T", f"{OVERRIDES}.INV.T": 'SELECT ID, NAME FROM "INV"."T"'}
    when = 'SELECT ID, NAME FROM "INV"."T"'
    database.server.apply([{"error": ora, "when": when, "times": 9}])
    error = refusal(database, **more)
    assert (error.code, error.retriable) == (f"oracle.{code}", retriable)
    assert OVERRIDES not in error.message


@pytest.mark.oracle
def test_a_lost_history_is_an_error_that_recovery_repairs(
    database: OracleDatabase, tmp_path: Path
) -> None:
    file = tmp_path / "history"
    reader = OracleReader.of(database, schema_history_internal_file_filename=str(file))
    with database.transaction() as transaction:
        transaction.insert("INV.T", ID=2, NAME="two")
    reader.await_changes(1)
    reader.stop()
    lines = file.read_text().splitlines()
    file.unlink()
    with pytest.raises(HeadraceError) as caught:
        reader.step_until(lambda: False)
    assert caught.value.code == "oracle.history_lost"
    assert "snapshot.mode=recovery" in caught.value.remedy
    reader.configure({**reader.properties, "snapshot.mode": "recovery"})
    with database.transaction() as transaction:
        transaction.insert("INV.T", ID=3, NAME="three")
    reader.await_changes(2)
    assert reader.ids() == [2, 3]
    reader.stop()
    history_lines = file.read_text().splitlines()
    assert len(history_lines) == len(lines) == 1
    reader.restart()
    with database.transaction() as transaction:
        transaction.insert("INV.T", ID=4, NAME="four")
    reader.await_changes(3)
    reader.stop()
    assert file.read_text().splitlines() == history_lines


@pytest.mark.oracle
@pytest.mark.parametrize("lobs", ["false", "true"])
def test_columns_that_are_null_or_not_in_the_redo_are_read_again(
    oracle_database: OracleDatabase, lobs: str
) -> None:
    oracle_database.create_table(
        "T", "A NUMBER(9,0) NOT NULL", "B DATE NOT NULL", "N NUMBER(9,2)", "V VARCHAR2(20)",
        "C CLOB", key=["A", "B"],
    )  # fmt: skip
    reader = OracleReader.of(
        oracle_database,
        lob_enabled=lobs,
        decimal_handling_mode="string",
        post_processors="again",
        again_type="io.debezium.processors.reselect.ReselectColumnsPostProcessor",
    )
    day = "2024-02-29 12:34:56"
    with oracle_database.transaction() as transaction:
        for number in range(150):
            transaction.insert("INV.T", A=number, B=day, C=f"text {number}")
        transaction.insert("INV.T", A=999, B=day)
    with oracle_database.transaction() as transaction:
        for number in range(150):
            transaction.update("INV.T", {"A": number}, N=f"{number}.5", V="it's")
        transaction.delete("INV.T", A=999)
    values = reader.await_changes(302)
    reader.stop()
    created = {int(value["after"]["A"]): value["after"] for value in values if value["op"] == "c"}
    changed = {int(value["after"]["A"]): value["after"] for value in values if value["op"] == "u"}
    for number in range(150):
        expected = {"A": str(number), "N": f"{number}.50", "V": "it's", "C": f"text {number}"}
        for row in (created[number], changed[number]):
            assert {name: row[name] for name in expected} == expected
    assert {created[999][name] for name in ("N", "V", "C")} == {None}
