"""Bad input of the command line gets one message, a code and a remedy, and leaves nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.cli import main
from headrace.testing.embedded import PostgresServer
from tests.resident.resident import Resident
from tests.servers.postgresql import await_free_slot

SECRET = "hunter-zwei"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server with a password for the role `asked`, and roles that lack something."""
    with PostgresServer(
        settings={"max_slot_wal_keep_size": "1MB", "max_wal_size": "32MB"}
    ) as postgres:
        postgres.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        postgres.execute("INSERT INTO t SELECT i, 'x' FROM generate_series(1, 50) i")
        postgres.execute(f"CREATE ROLE asked LOGIN SUPERUSER REPLICATION PASSWORD '{SECRET}'")
        postgres.execute("CREATE ROLE reader LOGIN; GRANT SELECT ON t TO reader")
        postgres.execute("CREATE ROLE replicator LOGIN REPLICATION")
        rules = Path(postgres.execute("SHOW hba_file")[0][0])
        rules.write_text(f"host all asked all scram-sha-256\n{rules.read_text()}")
        postgres.execute("SELECT pg_reload_conf()")
        yield postgres


class Attempt:
    """`headrace events` with some properties: what it said, and what it left."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.output, self.state = folder / "out.jsonl", folder / "state"
        self.properties = {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "topic.prefix": "s",
            "database.hostname": server.host,
            "database.port": str(server.port),
            "database.user": server.user,
            "database.password": SECRET,
            "database.dbname": "postgres",
            "slot.name": f"bad_{abs(hash(folder)) % 1_000_000}",
            "table.include.list": "public.t",
            "errors.max.retries": "1",
            "retriable.restart.connector.wait.ms": "100",
        }

    def arguments(self, **changes: str) -> list[str]:
        properties = self.properties | {k.replace("__", "."): v for k, v in changes.items()}
        file = self.folder / "connector.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        return ["events", str(file), "--output", str(self.output), "--state", str(self.state)]

    def slots(self) -> int:
        rows = self.server.execute("SELECT count(*) FROM pg_replication_slots")
        return int(rows[0][0])


@pytest.fixture
def attempt(server: PostgresServer, tmp_path: Path) -> Attempt:
    return Attempt(server, tmp_path)


def said(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """The error and its remedy: there is nothing else, and no secret."""
    error, remedy, rest = capsys.readouterr().err.split("\n")
    assert error.startswith("error: ")
    assert remedy.startswith("remedy: ")
    assert rest == ""
    assert SECRET not in error + remedy
    return error, remedy


BEFORE_SPARK = {
    "a wrong password": (
        {"database__user": "asked", "database__password": "wrong-word"},
        "postgresql.authentication",
        "database.password",
    ),
    "an unreachable server": ({"database__port": "1"}, "postgresql.unreachable", "database.port"),
    "an unknown database": (
        {"database__dbname": "nowhere"}, "postgresql.unknown_database", "database.dbname"),
    "a table that is not there": (
        {"table__include__list": "public.none"}, "postgresql.no_tables", "schema.table"),
    "a role that may not replicate": (
        {"database__user": "reader"}, "postgresql.no_replication_privilege", "REPLICATION"),
    "a role that may not read": (
        {"database__user": "replicator"}, "postgresql.no_privilege", "GRANT SELECT"),
    "a publication that nobody made": (
        {"publication__autocreate__mode": "disabled", "publication__name": "none"},
        "postgresql.publication_missing",
        'CREATE PUBLICATION "none" FOR TABLE "public"."t"',
    ),
    "impossible values": (
        {"database__port": "x"}, "config.invalid", "database.port"),
    "an unknown property, when they are refused": (
        {"table__inclde__list": "x", "headrace__unknown__properties": "fail"},
        "config.invalid",
        "table.include.list",
    ),
}  # fmt: skip


def start(arguments: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "headrace.cli", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.postgres
def test_it_is_refused_before_spark_starts(server: PostgresServer, tmp_path: Path) -> None:
    attempts, running = {}, {}
    for number, (name, (changes, _, _)) in enumerate(BEFORE_SPARK.items()):
        (folder := tmp_path / str(number)).mkdir()
        attempts[name] = Attempt(server, folder)
        running[name] = start(attempts[name].arguments(**changes))
    for name, process in running.items():
        out, errors = process.communicate(timeout=300)
        _, code, hint = BEFORE_SPARK[name]
        error, remedy, rest = errors.split("\n")
        assert (process.returncode, out, rest) == (1, "", ""), name
        assert error.startswith("error: "), name
        assert f"[{code}]" in error, name
        assert remedy.startswith("remedy: "), name
        assert hint in errors, name
        assert SECRET not in errors, name
        assert "wrong-word" not in errors, name
        assert not attempts[name].output.exists(), name
        assert not (attempts[name].state / "checkpoint").exists(), name
    assert attempts[name].slots() == 0
    assert server.execute("SELECT count(*) FROM pg_publication") == [(0,)]


@pytest.mark.postgres
def test_every_impossible_value_is_named_at_once(
    attempt: Attempt, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(attempt.arguments(snapshot__mode="sometimes", database__port="x")) == 1
    printed = capsys.readouterr().err
    assert "snapshot.mode" in printed
    assert "database.port" in printed


@pytest.mark.postgres
def test_a_server_that_does_not_decode_its_log_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with PostgresServer(settings={"wal_level": "replica"}) as server:
        server.execute("CREATE TABLE t (id int PRIMARY KEY)")
        assert main(Attempt(server, tmp_path).arguments()) == 1
    error, remedy = said(capsys)
    assert "[postgresql.wal_level]" in error
    assert "wal_level = logical" in remedy


@pytest.mark.postgres
def test_a_slot_that_cannot_serve_is_refused(
    attempt: Attempt, capsys: pytest.CaptureFixture[str]
) -> None:
    server, name = attempt.server, attempt.properties["slot.name"]
    server.execute("SELECT pg_create_physical_replication_slot(%s)", (name,))
    assert main(attempt.arguments()) == 1
    assert "[postgresql.slot_unsuitable]" in said(capsys)[0]
    server.execute("SELECT pg_drop_replication_slot(%s)", (name,))
    server.create_database("elsewhere")
    make = "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')"
    server.execute(make, (name,), database="elsewhere")
    assert main(attempt.arguments()) == 1
    assert "the database elsewhere" in said(capsys)[0]
    server.drop_database("elsewhere")


@pytest.mark.postgres
def test_a_lost_slot_is_refused(attempt: Attempt, capsys: pytest.CaptureFixture[str]) -> None:
    server, name = attempt.server, attempt.properties["slot.name"]
    server.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (name,))
    status = "SELECT wal_status FROM pg_replication_slots WHERE slot_name = %s"
    for _ in range(20):
        server.execute("SELECT pg_logical_emit_message(false, 'x', repeat('x', 1000000))")
        server.execute("SELECT pg_switch_wal()")
        with server.connect() as connection:
            connection.execute("CHECKPOINT")
        if server.execute(status, (name,)) == [("lost",)]:
            break
    assert main(attempt.arguments()) == 1
    error, remedy = said(capsys)
    assert "[postgresql.slot_lost]" in error
    assert "max_slot_wal_keep_size" in remedy
    server.execute("SELECT pg_drop_replication_slot(%s)", (name,))


@pytest.mark.postgres
@pytest.mark.spark
def test_a_checkpoint_that_does_not_fit_is_refused(attempt: Attempt, resident: Resident) -> None:
    def run(*more: str, **changes: str) -> subprocess.CompletedProcess[str]:
        return resident.run(*attempt.arguments(**changes), *more)

    def refused(code: str, **changes: str) -> None:
        completed = run("--seconds", "600", **changes)
        error, remedy, rest = completed.stderr.split("\n")
        assert (completed.returncode, completed.stdout, rest) == (1, "", ""), completed.stderr
        assert error.startswith("error: ")
        assert error.endswith(f"[{code}]")
        assert remedy.startswith("remedy: ")

    mistyped = {"table__inclde__list": "x", "headrace__unknown__properties": "warn"}
    completed = run("--idle-exit", "1", slot__name="fits", **mistyped)
    assert completed.returncode == 0, completed.stderr
    assert "did you mean table.include.list" in completed.stderr
    lines = attempt.output.read_text()
    assert lines.count("\n") == 50

    older = attempt.folder / "older"
    shutil.copytree(attempt.state, older)
    refused("offset.other_server", slot__name="fits", topic__prefix="other")
    refused("postgresql.slot_missing", slot__name="gone")
    newest = max((attempt.state / "checkpoint/offsets").glob("[0-9]*"), key=lambda p: int(p.name))
    offset_log = newest.read_text()
    *head, offset = offset_log.split("\n")
    newest.write_text("\n".join([*head, json.dumps(json.loads(offset) | {"v": 99})]))
    refused("offset.newer", slot__name="fits")
    newest.write_text(offset_log)

    attempt.server.execute("INSERT INTO t VALUES (1000, 'new')")
    completed = run("--idle-exit", "1", slot__name="fits")
    assert completed.returncode == 0, completed.stderr
    lines = attempt.output.read_text()
    assert lines.count("\n") == 51
    current = attempt.state.rename(attempt.folder / "current")
    older.rename(attempt.state)
    refused("postgresql.slot_moved", slot__name="fits")
    shutil.rmtree(attempt.state)
    current.rename(attempt.state)

    attempt.server.execute("INSERT INTO t VALUES (1001, 'gone')")
    await_free_slot(attempt.server, "fits")
    attempt.server.execute("SELECT pg_replication_slot_advance('fits', pg_current_wal_lsn())")
    refused("postgresql.slot_moved", slot__name="fits")
    assert attempt.output.read_text() == lines


def test_a_configuration_of_a_former_version_gets_one_line_per_property(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "application.properties"
    file.write_text(
        "debezium.source.connector.class=mongodb\n"
        "debezium.source.mongodb.hosts=rs0/h:27017\n"
        "debezium.source.mongodb.name=shop\n"
    )
    assert main(["check", str(file)]) == 1
    printed = capsys.readouterr()
    first, first_remedy, second, second_remedy, rest = printed.err.split("\n")
    assert (printed.out, rest) == ("", "")
    assert first_remedy.startswith("remedy: ")
    assert second_remedy.startswith("remedy: ")
    for line, new in ((first, "topic.prefix=shop"), (second, "mongodb://h:27017/?replicaSet=rs0")):
        assert line.startswith("error: ")
        assert new in f"{line} {first_remedy} {second_remedy}"
