"""A signal that the running connector could not apply is an error, and nothing is written."""

from __future__ import annotations

import pytest

from headrace.connectors.registry import parse_configuration, send_signal
from headrace.errors import HeadraceError
from tests.servers.postgresql import Database

pytestmark = pytest.mark.postgres

SIGNALS = (
    "CREATE TABLE signals (id varchar(42) PRIMARY KEY, type varchar(32) NOT NULL, "
    "data varchar(2048))"
)


@pytest.fixture
def tables(database: Database) -> Database:
    database.execute(
        f"CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE late (id int PRIMARY KEY); "
        f"CREATE TABLE other (id int PRIMARY KEY); {SIGNALS}; "
        f"CREATE PUBLICATION {database.name} FOR TABLE t, other, signals"
    )
    return database


def send(database: Database, table: str, **more: str) -> str:
    overrides = {
        "table_include_list": "public.t,public.late",
        "signal_data_collection": "public.signals",
        **more,
    }
    properties = database.properties(**overrides)
    data = {"data-collections": [table]}
    return send_signal(parse_configuration(properties), "execute-snapshot", data, name="one")


def sent(database: Database) -> int:
    return int(database.execute("SELECT count(*) FROM signals")[0][0])


def test_a_signal_for_a_captured_table_is_written(tables: Database) -> None:
    assert send(tables, "public.t") == "one"
    assert sent(tables) == 1


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ("public.nothere", "signals.no_collection"),
        ("public.other", "signals.not_captured"),
        ("public.late", "signals.not_published"),
    ],
)
def test_a_table_that_is_not_read_and_followed_is_refused(
    tables: Database, table: str, code: str
) -> None:
    with pytest.raises(HeadraceError) as raised:
        send(tables, table)
    assert raised.value.code == code
    assert sent(tables) == 0


def test_a_signal_table_that_is_not_published_is_refused_with_its_command(
    tables: Database,
) -> None:
    tables.execute(f"ALTER PUBLICATION {tables.name} DROP TABLE signals")
    with pytest.raises(HeadraceError) as raised:
        send(tables, "public.t")
    assert raised.value.code == "postgresql.not_published"
    assert sent(tables) == 0
    tables.execute(raised.value.remedy.removeprefix("As their owner: "))
    assert send(tables, "public.t") == "one"


def test_a_signal_table_that_is_missing_is_refused(tables: Database) -> None:
    with pytest.raises(HeadraceError) as raised:
        send(tables, "public.t", signal_data_collection="public.nowhere")
    assert raised.value.code == "postgresql.signal_table"
    assert sent(tables) == 0
