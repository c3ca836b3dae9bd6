"""The statements and commands of the guide db2.md work, and suffice."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.connectors.db2 import errors
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.registry import check, parse_configuration
from headrace_demo.db2.derby import DerbyServer
from tests.docs.guides import check_example_in_spark, codes_of_failures, properties_of
from tests.docs.pages import block, blocks
from tests.servers.db2 import Db2Database

PAGE = "docs/guides/db2.md"


@pytest.fixture
def prepared(guarded_server: DerbyServer) -> Db2Database:
    """A database with the table of the guide, registered; its schema is made by hand, and its
    Capture program has run."""
    database = Db2Database.create(guarded_server)
    database.execute("CREATE SCHEMA INVENTORY")
    database.execute("CREATE TABLE INVENTORY.CUSTOMERS (ID INTEGER NOT NULL PRIMARY KEY)")
    database.capture.add_table("INVENTORY", "CUSTOMERS")
    with database.capture:
        database.capture.await_captured()
    return database


def where(database: Db2Database) -> dict[str, str]:
    """The address that replaces the guide's server."""
    names = ("database.hostname", "database.port", "database.dbname", "driver.AUTHENTICATION")
    return {name: database.properties()[name] for name in names}


@pytest.mark.db2
def test_the_guides_statements_let_its_user_read(
    prepared: Db2Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDC_PASSWORD", "secret-word")
    properties = properties_of(PAGE).with_overrides(where(prepared))

    def wrong(**more: str) -> list[str]:
        config = parse_configuration(
            properties.with_overrides({name.replace("_", "."): text for name, text in more.items()})
        )
        return [finding.code for finding in check(config) if finding.level == "error"]

    assert set(wrong()) == {"db2.no_privilege"}
    grants, signals = (block.text for block in blocks(PAGE, "sql"))
    for statement in filter(str.strip, grants.split(";")):
        prepared.execute(statement)
    assert wrong() == []
    for statement in filter(str.strip, signals.split(";\n")):
        prepared.execute(statement.removesuffix(";"))
        if "CREATE TABLE" in statement:
            prepared.capture.add_table("INVENTORY", "SIGNALS")
    assert wrong(signal_data_collection="INVENTORY.SIGNALS") == []


@pytest.mark.db2
def test_the_guides_commands_register_its_table(
    prepared: Db2Database,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    prepared.capture.remove_table("INVENTORY", "CUSTOMERS")
    properties = prepared.properties()
    (tmp_path / "application.properties").write_text(
        "".join(f"{name}={text}\n" for name, text in properties.items())
    )
    monkeypatch.chdir(tmp_path)
    commands = block(PAGE, "add-table").commands
    printing, running = (shlex.split(line)[1:] for line in commands)
    registered = "SELECT COUNT(*) FROM ASNCDC.IBMSNAP_REGISTER WHERE SOURCE_TABLE = 'CUSTOMERS'"
    assert main(printing) == 0
    assert "DATA CAPTURE CHANGES" in capsys.readouterr().out
    assert prepared.execute(registered) == [(0,)]
    # Derby has no DATA CAPTURE.
    assert main([*running, "--keep-data-capture"]) == 0
    assert prepared.execute(registered) == [(1,)]


def test_the_guides_example_in_spark_has_its_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDC_PASSWORD", "secret")
    config = check_example_in_spark(PAGE, "database_dbname")
    assert isinstance(config, Db2Config)


def test_the_guide_lists_refused_logins_and_rights() -> None:
    ends = [*errors._BY_CODE.values(), *errors._BY_STATE.values(), errors._LOGIN_KIND]
    ends.append(errors._NO_PROCEDURE)
    codes = {f"db2.{error.code}" for error in ends if not error.retriable}
    assert codes - {"db2.table_gone"} <= codes_of_failures(PAGE)
