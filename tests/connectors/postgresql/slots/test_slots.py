"""`headrace slots`, and runs that leave none."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from headrace.cli import main
from headrace.connectors.postgresql.trial import trial
from headrace.connectors.registry import parse_configuration
from tests.servers.postgresql import Database, await_free_slot

pytestmark = pytest.mark.postgres


@pytest.fixture
def file(database: Database, tmp_path: Path) -> str:
    written = tmp_path / "shop.properties"
    written.write_text("".join(f"{n}={text}\n" for n, text in database.properties().items()))
    return str(written)


def slots(database: Database) -> list[str]:
    query = "SELECT slot_name FROM pg_replication_slots WHERE database = %s ORDER BY 1"
    return [str(name) for (name,) in database.execute(query, (database.name,))]


def make_slot(database: Database, name: str) -> None:
    database.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (name,))


@contextmanager
def read(database: Database) -> Iterator[None]:
    """Reads the slot of `database` by another session."""
    dsn = f"{database.dsn} application_name=reader replication=database"
    command = f'START_REPLICATION SLOT "{database.name}" LOGICAL 0/0 '
    options = "(proto_version '1', publication_names 'p')"
    with closing(psycopg.connect(dsn, autocommit=True)) as connection:
        connection.pgconn.send_query(f"{command}{options}".encode())
        connection.pgconn.get_result()
        yield
    await_free_slot(database.server, database.name)


def test_the_slots_of_a_server_are_shown_with_what_they_keep(
    database: Database, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make_slot(database, database.name)
    with read(database):
        assert main(["slots", "--json", file]) == 0
        (slot,) = (s for s in json.loads(capsys.readouterr().out) if s["name"] == database.name)
    assert (slot["plugin"], slot["database"], slot["application"]) == (
        "pgoutput",
        database.name,
        "reader",
    )
    assert slot["pid"] > 0
    assert slot["metrics"]["wal_status"] == "reserved"
    assert slot["metrics"]["lag_bytes"] >= 0
    assert slot["metrics"]["keep_size"] == -1
    assert main(["slots", file]) == 0
    output = capsys.readouterr().out
    assert f"{database.name} *" in output
    assert "no limit" in output


def test_a_slot_is_dropped_by_name_and_one_that_is_read_stays(
    database: Database, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = f"{database.name}_other"
    make_slot(database, database.name)
    make_slot(database, other)
    with read(database):
        assert main(["slots", "drop", file]) == 1
        assert "[postgresql.slot_in_use]" in capsys.readouterr().err
    assert slots(database) == [database.name, other]
    assert main(["slots", "drop", file, "--slot", other]) == 0
    assert f"slot {other} dropped" in capsys.readouterr().out
    assert slots(database) == [database.name]
    assert main(["slots", "drop", file, "--slot", other]) == 1
    assert "[postgresql.slot_missing]" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["drop", "a", "b"], ["a", "b"]])
def test_wrong_words_are_reported(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["slots", *words]) == 1
    assert "headrace slots [drop] FILE" in capsys.readouterr().err


def test_a_run_that_nobody_keeps_the_position_of_leaves_no_slot(database: Database) -> None:
    config = parse_configuration(database.properties())
    with suppress(KeyboardInterrupt), trial(config):
        make_slot(database, database.name)
        raise KeyboardInterrupt
    assert slots(database) == []


def test_a_slot_that_existed_before_stays_and_is_reported(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    make_slot(database, database.name)
    with caplog.at_level(logging.WARNING), trial(parse_configuration(database.properties())):
        pass
    assert slots(database) == [database.name]
    assert "existed before, and stays" in caplog.text


def test_a_run_that_does_not_read_the_log_has_no_slot_to_drop(database: Database) -> None:
    make_slot(database, database.name)
    config = parse_configuration(database.properties(snapshot_mode="initial_only"))
    with trial(config):
        pass
    assert slots(database) == [database.name]
