"""The statements and commands of the guide oracle.md work, and suffice."""

from __future__ import annotations

import re

import pytest

from headrace.config.formats import Properties
from headrace.connectors.oracle import errors, sql
from headrace.connectors.oracle.config import OracleConfig
from headrace.connectors.registry import check, parse_configuration
from headrace.errors import HeadraceError
from tests.connectors.harness import ConnectorReader
from tests.connectors.oracle.administrator import Administrator
from tests.docs.guides import check_example_in_spark, codes_of_failures, properties_of
from tests.docs.pages import ROOT, block, blocks
from tests.servers.oracle import OracleDatabase

PAGE = "docs/guides/oracle.md"
VIEWS = {
    view
    for statement in sql.STATEMENTS
    for view in re.findall(r"\bG?V\$\w+", f"{statement.text} {statement.manual}")
}


@pytest.fixture
def database(stand_in: OracleDatabase) -> OracleDatabase:
    """A database with the table of the guide, whose redo has only changed columns."""
    stand_in.create_table(
        "INVENTORY.CUSTOMERS",
        "ID NUMBER(9,0) NOT NULL",
        "NAME VARCHAR2(40)",
        key=["ID"],
        rows=[[1, "Sally"], [2, "Anne"]],
        supplemental=None,
    )
    return stand_in


@pytest.fixture
def given(database: OracleDatabase, monkeypatch: pytest.MonkeyPatch) -> Properties:
    """The guide's properties, with another server's place and password."""
    server = database.server.properties()
    monkeypatch.setenv("CDC_PASSWORD", server["database.password"])
    names = ("database.hostname", "database.port", "driver.module")
    return properties_of(PAGE).with_overrides({name: server[name] for name in names})


@pytest.mark.oracle
def test_the_guides_statements_prepare_a_database(
    database: OracleDatabase, given: Properties
) -> None:
    administrator = Administrator.of_nothing(database, VIEWS)

    def wrong(**more: str) -> list[str]:
        named = {name.replace("_", "."): text for name, text in more.items()}
        config = parse_configuration(given.with_overrides(named))
        return [finding.code for finding in check(config) if finding.level != "ok"]

    assert "oracle.no_privilege" in wrong()
    administrator.run_all(block(PAGE, "CREATE USER").text)
    assert {code.removeprefix("oracle.") for code in wrong()} == {
        "no_archive_log_mode", "no_supplemental_logging", "no_table_logging",
    }  # fmt: skip
    administrator.run_all(block(PAGE, "ARCHIVE LOG LIST").text)
    administrator.run_all(block(PAGE, "ALTER DATABASE ADD SUPPLEMENTAL").text)
    assert wrong() == []
    reader = ConnectorReader(dict(given) | {"signal.data.collection": "ORCLPDB1.INVENTORY.SIGNALS"})
    *tables, signal, _ = block(PAGE, "CREATE TABLE INVENTORY.SIGNALS").text.strip().splitlines()
    administrator.run_all("\n".join(tables))
    assert wrong(signal_data_collection="ORCLPDB1.INVENTORY.SIGNALS") == []
    reader.step_until(lambda: len(rows(reader)) == 2)
    administrator.run(signal)
    reader.step_until(lambda: len(rows(reader)) == 4)
    reader.stop()
    assert [value["source"]["snapshot"] for value in rows(reader)[2:]] == ["incremental"] * 2


def rows(reader: ConnectorReader) -> list[dict[str, dict[str, str]]]:
    """Events of rows of the guide's table that were read."""
    return [event for event in reader.events() if event.get("op") == "r"]


def test_the_guide_grants_the_views_that_are_read_and_no_others() -> None:
    granted = set(re.findall(r"GRANT SELECT ON (V_\$\w+)", block(PAGE, "CREATE USER").text))
    assert granted == {view.replace("V$", "V_$") for view in VIEWS if view[0] == "V"}


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("jdbc:oracle:thin:@//{address}/ORCLCDB", None),
        ("jdbc:oracle:thin:@nowhere.invalid:1521:ORCL", "oracle.connection_lost"),
        ("jdbc:oracle:thin:@//{address}", "oracle.unknown_database"),
    ],
)
def test_the_guides_forms_of_urls_are_taken(
    database: OracleDatabase, given: Properties, url: str, code: str | None
) -> None:
    server = database.server
    address = f"{server.host}:{server.port}"
    more = {"database.url": url.format(address=address)}
    del_names = {"database.hostname", "database.port"}
    properties = {name: text for name, text in dict(given).items() if name not in del_names}
    first = next(iter(check(parse_configuration(properties | more))))
    assert (first.level, first.code) == (
        ("ok", "oracle.server") if code is None else ("error", code)
    )


def test_the_guides_example_in_spark_has_its_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDC_PASSWORD", "secret")
    config = check_example_in_spark(PAGE, "database_dbname", "database_pdb_name", "database_user")
    assert isinstance(config, OracleConfig)


def test_the_guide_lists_refused_logins_and_rights() -> None:
    ends = [*errors._BY_CODE.values(), *errors._BY_DRIVER.values()]
    codes = {f"oracle.{error.code}" for error in ends if not error.retriable}
    assert codes - {"oracle.table_gone", "oracle.unknown_scn"} <= codes_of_failures(PAGE)


def test_every_error_of_the_guide_exists() -> None:
    reference = (ROOT / "docs/reference/errors.md").read_text()
    known = set(re.findall(r"^\| `([\w.]+)`", reference, re.M))
    shared = {code.replace("CONNECTOR.", "oracle.") for code in known}
    assert codes_of_failures(PAGE) <= known | shared


@pytest.mark.parametrize("adapter", ["XStream", "OLR", "xstream", "olr"])
def test_what_the_guide_says_is_refused_is_refused(
    adapter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDC_PASSWORD", "secret")
    with pytest.raises(HeadraceError, match=r"database\.connection\.adapter") as refused:
        parse_configuration(
            properties_of(PAGE).with_overrides({"database.connection.adapter": adapter})
        )
    assert refused.value.code == "config.not_supported"


def test_every_block_of_the_guide_is_one_of_these() -> None:
    assert len(blocks(PAGE, "sql")) == 3
    assert len(blocks(PAGE, "properties")) == len(blocks(PAGE, "python")) == 1
