"""`headrace check` and `headrace run` use the same codes for what they find, refuse or warn of."""

from __future__ import annotations

import argparse
import json
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from headrace.cli import check
from headrace.cli.messages import Messages
from headrace.cli.pipeline import read_pipeline
from headrace.connectors.states import State
from headrace.errors import HeadraceError
from headrace.testing.embedded import PostgresServer
from tests.cli.first_steps.precondition_cases import (
    DB2,
    MONGODB,
    ORACLE,
    ORACLE_RESTARTS,
    POSTGRESQL,
    Case,
)
from tests.connectors.harness import ConnectorReader
from tests.servers.db2 import Db2Database
from tests.servers.mongodb import MongoDatabase
from tests.servers.oracle import SCHEMA, OracleDatabase
from tests.servers.postgresql import Database

_CODE = re.compile(r"\[([a-z_0-9]+(?:\.[a-z_0-9]+)+)(?:, retriable)?\]")


class Said(NamedTuple):
    """Codes: of errors and warnings of `check`, of the error of a start, and of its log."""

    errors: set[str]
    warnings: set[str]
    raised: set[str]
    logged: set[str]


class Preconditions:
    """A configuration, asked through both verbs."""

    def __init__(
        self,
        folder: Path,
        caplog: pytest.LogCaptureFixture,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        self._folder, self._caplog, self._capsys = folder, caplog, capsys

    def store(self, offset: Mapping[str, object]) -> None:
        """Stores the offset as Spark keeps the one of its first micro-batch."""
        for name, text in (
            ("offsets", f'v1\n{{"batchWatermarkMs":0}}\n{json.dumps(offset)}\n'),
            ("commits", 'v1\n{"nextBatchWatermarkMs":0}\n'),
        ):
            (self._folder / "checkpoint" / name).mkdir(parents=True, exist_ok=True)
            (self._folder / "checkpoint" / name / "0").write_text(text)

    def asked(self, properties: Mapping[str, str], *, acts: bool = False) -> Said:
        """The codes of both. A start that `acts` continues until it streams."""
        file = self._folder / "file.properties"
        escaped = {name: text.replace("\\", "\\\\") for name, text in properties.items()}
        file.write_text("".join(f"{name}={text}\n" for name, text in escaped.items()))
        verb = argparse.Namespace(
            file=[str(file)], json=True, fix_sql=False, state=str(self._folder)
        )
        self._capsys.readouterr()
        check.run(verb)
        findings = json.loads(self._capsys.readouterr().out)
        of_level = {
            level: {each["code"] for each in findings if each["level"] == level}
            for level in ("error", "warning")
        }
        self._caplog.clear()
        raised = set()
        with self._caplog.at_level(logging.WARNING, "headrace"):
            try:
                read_pipeline([str(file)], {}, Messages()).validate(self._folder / "checkpoint")
                if acts:
                    _start(properties)
            except HeadraceError as error:
                raised = {error.code}
        logged = {code for record in self._caplog.messages for code in _CODE.findall(record)}
        return Said(of_level["error"], of_level["warning"], raised, logged)


def _start(properties: Mapping[str, str]) -> None:
    """Does what a source process does until it reads the log. Raises HeadraceError."""
    reader = ConnectorReader({"errors.max.retries": "0", **properties})
    try:
        for _ in range(50):
            reader.step()
            if reader.open().state is State.STREAMING:  # type: ignore[attr-defined]
                reader.step()
                return
    finally:
        reader.stop()


@pytest.fixture
def preconditions(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> Preconditions:
    return Preconditions(tmp_path, caplog, capsys)


def compare(
    preconditions: Preconditions,
    sound: Mapping[str, str],
    case: Case,
    monkeypatch: pytest.MonkeyPatch,
    name: str = "",
) -> None:
    """Both have the code of the case."""
    for place, value in case.patched.items():
        monkeypatch.setattr(place, value)
    outcome = preconditions.asked(case.properties(sound, name), acts=case.meets)
    if case.level == "warning":
        assert case.code in outcome.warnings
        assert (case.code in outcome.logged, outcome.raised) == (True, set())
    elif case.meets:
        assert case.code in outcome.errors
        assert outcome.raised == {case.code} or case.code in outcome.logged
    else:
        assert case.code in outcome.errors
        assert outcome.raised == {case.code}


@pytest.fixture
def shop(database: Database) -> Iterator[Database]:
    """A database with a table that is published; a role and a slot of a case are dropped."""
    database.execute("CREATE TABLE t (id int PRIMARY KEY, note text)")
    database.execute(f"CREATE PUBLICATION {database.name} FOR TABLE t")
    yield database
    role = f"role_{database.name}"
    if database.execute("SELECT FROM pg_roles WHERE rolname = %s", (role,)):
        database.execute(f"DROP OWNED BY {role} CASCADE; DROP ROLE {role}")


def postgresql_properties(database: Database) -> dict[str, str]:
    return database.properties(
        table_include_list="public.*",
        publication_autocreate_mode="disabled",
        heartbeat_interval_ms="1000",
        heartbeat_action_query="INSERT INTO t VALUES (1, 'a'); DELETE FROM t",
    )


@pytest.mark.postgres
@pytest.mark.parametrize("case", POSTGRESQL, ids=str)
def test_postgresql(
    shop: Database, preconditions: Preconditions, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    case.broken(shop)
    compare(preconditions, postgresql_properties(shop), case, monkeypatch, shop.name)


@pytest.mark.postgres
def test_a_sound_postgresql_is_asked_and_not_changed(
    shop: Database, preconditions: Preconditions
) -> None:
    outcome = preconditions.asked(postgresql_properties(shop))
    assert (outcome.errors, outcome.raised) == (set(), set())
    # The query of heartbeats is prepared, and not run.
    assert shop.execute("SELECT count(*)::int FROM t") == [(0,)]


@pytest.mark.postgres
def test_settings_of_postgresql(
    preconditions: Preconditions, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"wal_level": "replica", "max_replication_slots": "1"}
    with PostgresServer(16, settings) as server:
        server.execute("CREATE TABLE t (id int PRIMARY KEY)")
        database = Database(server, "postgres")
        level = Case("postgresql.wal_level")
        compare(preconditions, database.properties(), level, monkeypatch)
    with PostgresServer(16, settings | {"wal_level": "logical"}) as server:
        server.execute("CREATE TABLE t (id int PRIMARY KEY)")
        server.execute("SELECT pg_create_physical_replication_slot('other')")
        database = Database(server, "postgres")
        limit = Case("postgresql.limit_reached", meets=True)
        compare(preconditions, database.properties(), limit, monkeypatch)


@pytest.mark.postgres
def test_what_the_checkpoint_of_postgresql_expects(
    shop: Database, preconditions: Preconditions, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = postgresql_properties(shop)
    reader = ConnectorReader(sound)
    reader.step_until(
        lambda: "snapshot" not in reader.offsets[-1] and "lsn_commit" in reader.offsets[-1]
    )
    reader.stop()
    preconditions.store(reader.offsets[-1])
    outcome = preconditions.asked(sound)
    assert (outcome.errors, outcome.raised) == (set(), set())
    shop.execute("CREATE TABLE late (id int PRIMARY KEY)")
    outcome = preconditions.asked(sound)
    assert (outcome.errors, outcome.raised) == (set(), set())
    assert "postgresql.not_published" in outcome.warnings
    preconditions.store({**reader.offsets[-1], "lsn_commit": 1 << 60})
    compare(preconditions, sound, Case("postgresql.position_ahead"), monkeypatch)
    preconditions.store(reader.offsets[-1])
    shop.execute("DROP TABLE late; INSERT INTO t VALUES (1)")
    shop.execute("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", (shop.name,))
    compare(preconditions, sound, Case("postgresql.slot_moved"), monkeypatch)
    shop.drop_slot(shop.name)
    compare(preconditions, sound, Case("postgresql.slot_missing"), monkeypatch)
    preconditions.store({**reader.offsets[-1], "system": "1"})
    compare(preconditions, sound, Case("postgresql.other_server"), monkeypatch)


@pytest.mark.mongodb
@pytest.mark.parametrize("case", MONGODB, ids=str)
def test_mongodb(
    mongo_database: MongoDatabase,
    preconditions: Preconditions,
    case: Case,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mongo_database.collections["t"].insert_one({"_id": 1})
    case.broken(mongo_database)
    sound = mongo_database.properties()
    compare(preconditions, sound, case, monkeypatch, mongo_database.name)


@pytest.mark.mongodb
def test_a_filter_stops_no_stream_that_continues(
    mongo_database: MongoDatabase, preconditions: Preconditions
) -> None:
    mongo_database.collections["t"].insert_one({"_id": 1})
    sound = mongo_database.properties()
    reader = ConnectorReader(sound)
    reader.step_until(lambda: "snapshot" not in reader.offsets[-1] and "sec" in reader.offsets[-1])
    reader.stop()
    preconditions.store(reader.offsets[-1])
    name = f"{mongo_database.name}.t"
    filters = "snapshot.collection.filter.overrides"
    refused = {filters: name, f"{filters}.{name}": "{total: {$foo: 1}}"}
    outcome = preconditions.asked({**sound, **refused})
    assert (outcome.errors, outcome.raised) == (set(), set())
    assert "mongodb.filter" in outcome.warnings


@pytest.fixture
def things(stand_in: OracleDatabase) -> OracleDatabase:
    stand_in.create_table("THINGS", "ID NUMBER(9,0) NOT NULL", "NOTE CLOB", key=["ID"])
    return stand_in


def oracle_properties(database: OracleDatabase) -> dict[str, str]:
    insert = f"INSERT INTO {SCHEMA}.THINGS (ID, NOTE) VALUES (7, 'a')"
    return database.properties(heartbeat_interval_ms="1000", heartbeat_action_query=insert)


@pytest.mark.oracle
@pytest.mark.parametrize("case", ORACLE, ids=str)
def test_oracle(
    things: OracleDatabase,
    preconditions: Preconditions,
    case: Case,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case.broken(things)
    compare(preconditions, oracle_properties(things), case, monkeypatch)


@pytest.mark.oracle
def test_a_sound_oracle_is_asked_and_not_changed(
    things: OracleDatabase, preconditions: Preconditions
) -> None:
    outcome = preconditions.asked(oracle_properties(things))
    assert (outcome.errors, outcome.raised) == (set(), set())
    assert things.server.rows(f"{SCHEMA}.THINGS") == []


@pytest.mark.oracle
@pytest.mark.parametrize("case", ORACLE_RESTARTS, ids=str)
def test_what_threatens_a_restart_on_oracle_is_an_error_of_check_alone(
    things: OracleDatabase, preconditions: Preconditions, case: Case
) -> None:
    case.broken(things)
    outcome = preconditions.asked(oracle_properties(things), acts=True)
    assert (outcome.errors, outcome.raised) == ({case.code}, set())


@pytest.fixture
def registered(db2_database: Db2Database) -> Db2Database:
    db2_database.create_table("T", "ID INTEGER NOT NULL PRIMARY KEY, N CLOB")
    return db2_database


@pytest.mark.db2
@pytest.mark.parametrize("case", DB2, ids=str)
def test_db2(
    registered: Db2Database,
    preconditions: Preconditions,
    case: Case,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case.broken(registered)
    compare(preconditions, registered.properties(), case, monkeypatch)
