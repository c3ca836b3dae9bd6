"""`headrace demo`: a shop that is rebuilt from its events."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pymongo import MongoClient
from rich.console import Console

from headrace.cli import main
from headrace.cli.demo.events import RebuiltTables
from headrace.cli.demo.tables import show_progress
from headrace.connectors.mongodb import demo as mongodb_demo
from headrace.connectors.mongodb.config import MongoConfig
from headrace.connectors.mongodb.connection import connect
from headrace.connectors.postgresql.demo import ShopDemo as PostgresDemo
from headrace.errors import HeadraceError
from headrace.sinks.console.sink import Shown
from headrace.testing.mongodb import MongoServer
from headrace_demo.db2.derby import DerbyServer
from headrace_demo.db2.shop import ShopDemo as Db2Demo
from headrace_demo.oracle.shop import ShopDemo as OracleDemo
from tests.resident.resident import Resident
from tests.servers.mongodb_kinds import GuardedServer


@pytest.fixture
def rebuilt() -> Iterator[RebuiltTables]:
    """Tables that events of MongoDB's shop rebuild; nothing connects to its server."""
    with MongoClient("mongodb://127.0.0.1:1/", connect=False) as client:
        yield RebuiltTables(mongodb_demo.ShopDatabase(client, {}))


def event(op: str, number: int, after: str | None) -> Shown:
    text = "null" if after is None else '"' + after.replace('"', '\\"') + '"'
    value = f'{{"before":null,"after":{text},"op":"{op}"}}'
    return Shown("shop.demo.customers", f'{{"id":"{number}"}}', value)


def test_events_that_say_what_is_stored_show_no_difference(rebuilt: RebuiltTables) -> None:
    gone = Shown("shop.demo.customers", '{"id":"2"}', None)
    rebuilt.add(
        [
            event("c", 1, '{"_id": 1,"name": "Ada"}'),
            event("c", 2, '{"_id": 2,"name": "Bela"}'),
            event("u", 1, '{"_id": 1,"name": "Ann","n": {"$numberLong": "5"}}'),
            event("d", 2, None),
            gone,
        ],
        0,
    )
    assert rebuilt.differences("customers", {(1,): {"_id": 1, "name": "Ann", "n": 5}}) == []
    assert rebuilt.operations == {"c": 2, "u": 1, "d": 1, "tombstone": 1}


def test_what_differs_is_named(rebuilt: RebuiltTables) -> None:
    rebuilt.add([event("c", 1, '{"_id": 1,"a": 1,"b": 1}'), event("c", 2, '{"_id": 2}')], 3)
    stored = {(1,): {"_id": 1, "a": 2, "c": None}, (3,): {"_id": 3}}
    assert rebuilt.differences("customers", stored) == [
        "3 events were not folded",
        "customers (3,): not in the events",
        "customers (2,): not in the database",
        "customers (1,) a: 1 in the events, 2 stored",
        "customers (1,) c: only in the database",
        "customers (1,) b: only in the events",
    ]


def test_the_demo_of_an_unknown_database_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--database", "nosuch"]) == 1
    assert "[connectors.unknown]" in capsys.readouterr().err


def test_the_demo_of_postgresql_reads_no_other_server() -> None:
    with (
        pytest.raises(HeadraceError, match="Remove --uri"),
        PostgresDemo().open("postgresql://localhost/"),
    ):
        pass


@pytest.mark.mongodb
def test_each_visit_to_mongodbs_shop_is_committed(mongodb: MongoServer) -> None:
    with mongodb_demo.ShopDemo().open(mongodb.uri) as database, mongodb.connect() as client:
        workload = database.workload
        for action in mongodb_demo._Visits(client).actions:
            action()
        assert workload.failure is None
        assert len(database.rows("customers")) == len(database.rows("products")) == 10
        assert len(database.rows("orders")) == 1  # two were placed, one was cancelled
        ((order,),) = (database.rows("orders").values(),)
        assert order["items"]
        with (
            pytest.raises(HeadraceError, match=r"mongodb\.demo_database"),
            mongodb_demo.ShopDemo().open(mongodb.uri),
        ):
            pass
        assert mongodb_demo.DATABASE in client.list_database_names()
    with mongodb.connect() as client:
        assert mongodb_demo.DATABASE not in client.list_database_names()


@pytest.mark.db2
def test_each_visit_to_db2s_shop_is_captured(derby: DerbyServer) -> None:
    assert derby.running
    with Db2Demo().open(None) as database:
        for action in database.workload._actions:
            action()
        assert len(database.rows("CUSTOMERS")) == len(database.rows("PRODUCTS")) == 10
        assert len(database.rows("ORDERS")) == 1
        assert database.rows("ORDER_ITEMS")
    with pytest.raises(HeadraceError, match="Remove --uri"), Db2Demo().open("db2://h/"):
        pass


@pytest.mark.oracle
def test_each_visit_to_oracles_shop_is_committed() -> None:
    with OracleDemo().open(None) as database:
        for action in database.workload._actions:
            action()
        assert len(database.rows("CUSTOMERS")) == len(database.rows("PRODUCTS")) == 10
        assert len(database.rows("ORDERS")) == 1
        assert database.rows("ORDER_ITEMS")
    with pytest.raises(HeadraceError, match="Remove --uri"), OracleDemo().open("oracle://h/"):
        pass


@pytest.mark.mongodb
def test_a_server_that_is_no_replica_set_is_named(mongodb: MongoServer) -> None:
    uri = f"mongodb://{mongodb.host}:{mongodb.port}/"
    with (
        pytest.raises(HeadraceError, match=r"mongodb\.replica_set_name"),
        mongodb_demo.ShopDemo().open(uri),
    ):
        pass


@pytest.mark.parametrize(
    "uri", ["postgresql://x/y", "mongodb://h:port/", "mongodb://u:p@ss@h/", "x"]
)
def test_what_is_wrong_with_the_uri_is_said_of_the_uri(uri: str) -> None:
    with pytest.raises(HeadraceError) as raised, mongodb_demo.ShopDemo().open(uri):
        pass
    assert raised.value.code == "mongodb.demo_uri"
    assert "--uri" in raised.value.message
    assert "mongodb.connection.string" not in str(raised.value)


@pytest.fixture(scope="module")
def guarded(mongodb_servers: Callable[[str], MongoServer]) -> Iterator[GuardedServer]:
    assert mongodb_servers("plain").running
    with GuardedServer() as server:
        server.start()
        yield server


@pytest.mark.mongodb
def test_rights_that_the_demo_lacks_come_with_the_command_that_gives_them(
    guarded: GuardedServer,
) -> None:
    guarded.add_user("reader", "readAnyDatabase")
    uri = guarded.uri.replace("://", "://reader:reader@")
    with pytest.raises(HeadraceError) as raised, mongodb_demo.ShopDemo().open(uri):
        pass
    assert raised.value.code == "mongodb.demo_privilege"
    role = {"role": "readWrite", "db": mongodb_demo.DATABASE}
    command = 'grantRolesToUser("reader", [{role: "readWrite", db: "headrace_demo"}])'
    assert command in raised.value.remedy
    with guarded.connect_to_member() as client:
        client.admin.command("revokeRolesFromUser", "reader", roles=["readAnyDatabase"])
        client.admin.command("grantRolesToUser", "reader", roles=[role])
        with mongodb_demo.ShopDemo().open(uri) as database:
            config = MongoConfig.parse(database.properties)
            with connect(config) as reader:
                reader[mongodb_demo.DATABASE].watch().close()
        assert mongodb_demo.DATABASE not in client.list_database_names()


@pytest.mark.mongodb
def test_a_demo_without_login_says_where_to_write_it(guarded: GuardedServer) -> None:
    with pytest.raises(HeadraceError) as raised, mongodb_demo.ShopDemo().open(guarded.uri):
        pass
    assert raised.value.code == "mongodb.authentication"
    assert "--uri" in raised.value.remedy


@pytest.mark.spark
@pytest.mark.parametrize(
    "database",
    [
        pytest.param("postgresql", marks=pytest.mark.postgres),
        pytest.param("mongodb", marks=pytest.mark.mongodb),
        pytest.param("db2", marks=pytest.mark.db2),
        pytest.param("oracle", marks=pytest.mark.oracle),
    ],
)
def test_the_rows_rebuilt_from_the_events_equal_the_databases(
    database: str, resident: Resident, request: pytest.FixtureRequest
) -> None:
    if server := {"mongodb": "mongodb", "db2": "derby"}.get(database):
        request.getfixturevalue(server)  # skips where it cannot be had
    demo = resident.run("demo", "--database", database, "--seconds", "4")
    assert demo.returncode == 0, (demo.stdout, demo.stderr)
    assert "self-check passed" in demo.stdout
    update = r"update +shop\.\w+\.products  \w+=\d+  (price|stock): .* → "
    assert re.search(update, demo.stdout, re.IGNORECASE)


@pytest.mark.spark
@pytest.mark.postgres
def test_the_rows_of_tables_equal_the_databases_and_are_read_as_the_demo_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = demo_of_tables("postgresql", "iceberg", tmp_path / "shop")
    lines = [line.strip() for line in printed.split("in Python:")[1].splitlines()]
    exec("\n".join(lines[1:4]), {})
    assert "'id': 1" in capsys.readouterr().out


@pytest.mark.spark
@pytest.mark.chaos
@pytest.mark.parametrize(
    ("database", "table_format"),
    [
        pytest.param("postgresql", "delta", marks=pytest.mark.postgres),
        *(
            pytest.param(database, table_format, marks=getattr(pytest.mark, database))
            for database in ("mongodb", "db2", "oracle")
            for table_format in ("iceberg", "delta")
        ),
    ],
)
def test_the_rows_of_tables_equal_those_of_every_database(
    database: str, table_format: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if server := {"mongodb": "mongodb", "db2": "derby"}.get(database):
        request.getfixturevalue(server)  # skips where it cannot be had
    demo_of_tables(database, table_format, tmp_path / "shop")


def demo_of_tables(database: str, table_format: str, output: Path) -> str:
    """The output of a demo that keeps its tables. The demo has a session of its own, with the
    format's jars."""
    words = ("--database", database, "--tables", table_format, "--output", str(output))
    demo = subprocess.run(
        [sys.executable, "-m", "headrace.cli", "demo", *words, "--seconds", "4"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert demo.returncode == 0, (demo.stdout, demo.stderr)
    assert "rows of the tables equal the database's" in demo.stdout
    progress, _, _ = demo.stdout.partition(" changes of ")
    assert "waiting for the first rows …" in progress, "there is no terminal"
    assert re.search(r"customers: [1-9]\d* written", progress, re.IGNORECASE)
    return demo.stdout


def test_lines_that_change_are_shown_again_where_there_is_no_terminal() -> None:
    console = Console(file=io.StringIO())
    now, were_read = ["waiting"], threading.Event()

    class Lines(list[str]):
        """Says when they were asked for."""

        def __iter__(self) -> Iterator[str]:
            were_read.set()
            return super().__iter__()

    with show_progress(console, lambda: Lines(now), every=0.001):
        for lines in (["a: 1", "b: 1"], ["a: 1", "b: 2"]):
            were_read.clear()
            assert were_read.wait(60)
            were_read.clear()
            assert were_read.wait(60), "whoever iterates now has shown what was there before"
            now[:] = lines
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == ["waiting", "a: 1", "b: 1", "b: 2"]


def test_tables_go_into_an_empty_folder_and_events_into_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--database", "postgresql", "--output", str(tmp_path)]) == 1
    assert "--tables" in capsys.readouterr().err
    (tmp_path / "file").touch()
    words = ["--tables", "iceberg", "--output", str(tmp_path)]
    assert main(["demo", "--database", "postgresql", *words]) == 1
    assert "is not empty" in capsys.readouterr().err
