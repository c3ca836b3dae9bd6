"""A reader of `first-table.md`: from nothing to SELECT on five replicated tables; and of
`replicas.md`."""

from __future__ import annotations

import glob
import importlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog

from headrace.sinks.delta.format import FORMAT as DELTA
from headrace.sinks.iceberg.format import FORMAT as ICEBERG
from headrace.sinks.iceberg.options import LOCAL_DATABASE
from headrace.sinks.replicas.options import OPTIONS
from tests.docs.pages import ROOT, block
from tests.docs.shop import Shop, shop
from tests.docs.terminal import Terminal

pytestmark = [pytest.mark.postgres, pytest.mark.spark]
PAGE, FIRST = "docs/guides/replicas.md", "docs/guides/first-table.md"
TABLES = ("customers", "lines", "orders", "products", "stock")


@pytest.fixture
def database() -> Iterator[Shop]:
    with shop(tables="") as created:
        created.run(block(FIRST, "CREATE SCHEMA"))
        created.run(block(FIRST, "CREATE ROLE"))
        yield created


@pytest.fixture
def terminal(database: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """One in an empty folder, which is that of this process, too."""
    monkeypatch.chdir(tmp_path)
    address = {
        "dbname=shop": f"dbname=shop\ndatabase.port={database.server.port}",
        '"localhost"': f'"{database.server.host}", "database.port": "{database.server.port}"',
        "=localhost": f"={database.server.host}",
    }
    return Terminal(tmp_path, address)


def stored(database: Shop, table: str) -> list[tuple[Any, ...]]:
    return sorted(database.execute(f"SELECT * FROM inventory.{table}"))


def replicated(catalog: Catalog, table: str) -> list[tuple[Any, ...]]:
    rows = catalog.load_table(f"inventory.{table}").scan().to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def load_iceberg_of_duckdb(connection: duckdb.DuckDBPyConnection) -> None:
    """Loads the extension from its package: DuckDB fetches extensions by itself if there is a
    network."""
    for extension in ("avro", "iceberg"):
        folder = os.path.dirname(importlib.import_module(f"duckdb_extension_{extension}").__file__)
        (file,) = glob.glob(f"{folder}/**/*.duckdb_extension", recursive=True)
        connection.execute(f"LOAD '{file}'")


def test_twelve_lines_lead_to_five_tables_that_are_equal_to_their_source(
    database: Shop, terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    configuration = block(FIRST, "connector.class=")
    assert len(configuration.text.splitlines()) == 12
    terminal.write("shop.properties", configuration)
    commands = block(FIRST, "headrace check")
    printed = terminal.run(commands)
    assert ", 0 errors, 1 warning" in printed
    database.run(block(FIRST, "DELETE FROM"))
    terminal.run(commands)
    names: dict[str, Any] = {}
    exec(block(FIRST, "load_catalog").text, names)
    assert capsys.readouterr().out.count("\n") == len(TABLES)
    for table in TABLES:
        assert replicated(names["catalog"], table) == stored(database, table)
    terminal.type("headrace resync shop.properties inventory.stock --checkpoint state")
    copied = terminal.run(commands)
    assert "The new copy of the table inventory.stock is complete" in copied
    assert replicated(names["catalog"], "stock") == stored(database, "stock")
    duckdb.default_connection().close()
    duckdb.set_default_connection(duckdb.connect(config={"allow_unsigned_extensions": "true"}))
    load_iceberg_of_duckdb(duckdb.default_connection())
    exec(block(FIRST, "iceberg_scan").text, names)
    assert capsys.readouterr().out == "[('A', 100), ('B', 5)]\n"


def test_settings_of_a_reader_in_spark_have_the_releases_and_the_catalog_of_the_tables() -> None:
    """Spark 4.1, which Iceberg's package needs, is not installed here."""
    settings = dict(line.split("=", 1) for line in block(FIRST, "spark.sql.catalog").text.split())
    written = dict(line.split("=", 1) for line in block(FIRST, "connector.class=").text.split())
    catalog = "spark.sql.catalog.headrace"
    assert settings[f"{catalog}.warehouse"] == written["headrace.sink.warehouse"] == "lake"
    assert settings[f"{catalog}.uri"] == "jdbc:sqlite:lake/catalog.db"
    releases = {package.split(":")[2] for package in ICEBERG.packages({"warehouse": "lake"})}
    packages = settings["spark.jars.packages"].split(",")
    assert {package.split(":")[2] for package in packages} <= releases
    assert LOCAL_DATABASE in packages


@pytest.mark.chaos
def test_a_program_replicates_into_delta(
    database: Shop, terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    program = Path("replicate.py")
    program.write_text(terminal.text(block(PAGE, "headrace.replicate(")))
    for is_changed in (False, True):
        if is_changed:
            database.run(block(FIRST, "DELETE FROM"))
        terminal.type(f"CDC_PASSWORD=secret {sys.executable} {program}")
        exec(block(FIRST, "QueryBuilder").text, names := {})
        rows = pa.table(names["stock"].execute("SELECT * FROM stock").read_all()).to_pylist()
        assert sorted(tuple(row.values()) for row in rows) == stored(database, "stock")
    assert "sku" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("Options of both formats", OPTIONS),
        ("Options of Iceberg", ICEBERG.options),
        ("Options of Delta", DELTA.options),
    ],
)
def test_each_option_has_its_line(words: str, names: tuple[str, ...]) -> None:
    table = (ROOT / PAGE).read_text().split(f"{words}:\n\n")[1].split("\n\n")[0]
    described = re.findall(r"^\| `([\w.-]+)`", table, re.M)
    assert sorted(described) == sorted(name.replace("*", "X") for name in names)
