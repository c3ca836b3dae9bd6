"""The statements and commands of the guide db2.md work, and suffice."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest

import headrace
from headrace.cli import main
from headrace.config.source import read_text
from headrace.connectors.db2 import errors
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.registry import check, parse_configuration, parse_options
from headrace.testing.db2.derby import DerbyServer
from tests.servers.db2 import Db2Database

GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "db2.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.M | re.S)


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
    """What stands in place of the guide's server."""
    names = ("database.hostname", "database.port", "database.dbname", "driver.AUTHENTICATION")
    return {name: database.properties()[name] for name in names}


@pytest.mark.db2
def test_the_guides_statements_let_its_user_read(
    prepared: Db2Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDC_PASSWORD", "secret-word")
    given = read_text(blocks("properties")[0]).with_overrides(where(prepared))

    def wrong(**more: str) -> list[str]:
        config = parse_configuration(
            given.with_overrides({name.replace("_", "."): text for name, text in more.items()})
        )
        return [one.code for one in check(config) if one.level == "error"]

    assert set(wrong()) == {"db2.no_privilege"}
    grants, signals = blocks("sql")
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
    (block,) = (one for one in blocks("sh") if "add-table" in one)
    printing, running = (shlex.split(line, comments=True)[1:] for line in block.splitlines())
    registered = "SELECT COUNT(*) FROM ASNCDC.IBMSNAP_REGISTER WHERE SOURCE_TABLE = 'CUSTOMERS'"
    assert main(printing) == 0
    assert "DATA CAPTURE CHANGES" in capsys.readouterr().out
    assert prepared.execute(registered) == [(0,)]
    # Derby has no DATA CAPTURE.
    assert main([*running, "--keep-data-capture"]) == 0
    assert prepared.execute(registered) == [(1,)]


def test_the_guides_example_in_spark_has_its_properties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDC_PASSWORD", "secret")
    example = ast.parse(blocks("python")[0])
    (given,) = (ast.literal_eval(one) for one in ast.walk(example) if isinstance(one, ast.Dict))
    config = parse_options(headrace.options(given))
    assert isinstance(config, Db2Config)
    assert config.warnings == ()
    written = parse_configuration(read_text(blocks("properties")[0]))
    assert isinstance(written, Db2Config)
    assert config.database_dbname == written.database_dbname


def test_the_guide_tells_of_logins_and_rights_that_are_refused() -> None:
    ends = [*errors._BY_CODE.values(), *errors._BY_STATE.values(), errors._LOGIN_KIND]
    codes = {f"db2.{one.code}" for one in ends if not one.retriable}
    table = GUIDE.split("## Failures")[1].split("\n## ")[0]
    assert codes - {"db2.table_gone"} <= set(re.findall(r"`(db2\.\w+)`", table))
