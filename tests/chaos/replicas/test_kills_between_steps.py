"""kill -9 between two steps of a micro-batch: between writing and committing, between the commits
of two tables, and after them, before Spark knows it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from headrace.testing.embedded import PostgresServer
from tests.servers.postgresql import Database
from tests.sinks.lake.readers import IN_TURN, LAKES, IcebergLake, ReadLake

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

TABLES = ("first", "second")
_WITHIN_S = 600


class Killed:
    """`headrace run` into replicas of two tables, which ends when there is nothing new, or is
    killed."""

    def __init__(self, database: Database, folder: Path, lake: ReadLake) -> None:
        self.database, self.lake = database, lake
        self._folder, self._stage = folder, 0
        for table in TABLES:
            database.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, note text, stage int)")
            database.execute(
                f"INSERT INTO {table} SELECT i, 'old', 0 FROM generate_series(1, 100) i"
            )
        properties = {
            **database.properties(table_include_list=",".join(f"public.{t}" for t in TABLES)),
            **lake.properties(),
            "headrace.sink.threads": "1",
            "headrace.trigger": "100 milliseconds",
        }
        self._file = folder / "run.properties"
        self._properties = properties
        self.set()

    def set(self, **options: str) -> None:
        """Options of the sink from the next run on."""
        self._properties |= {f"headrace.sink.{name}": text for name, text in options.items()}
        lines = (f"{name}={text}\n" for name, text in self._properties.items())
        self._file.write_text("".join(lines))

    def change(self) -> None:
        """One transaction with changes of both tables: keys that come, go and move."""
        self._stage += 1
        stage = self._stage
        self.database.execute(
            ";".join(
                f"UPDATE {table} SET note = 'new', stage = {stage} WHERE id % 3 = {stage % 3};"
                f"DELETE FROM {table} WHERE id % 10 = {stage};"
                f"UPDATE {table} SET id = id + {stage * 1000} WHERE id % 7 = {stage};"
                f"INSERT INTO {table} SELECT {stage * 1000 + 500} + i, 'more', {stage}"
                " FROM generate_series(1, 20) i"
                for table in TABLES
            )
        )

    def run(self, *killed: object) -> int:
        """The exit status; `killed` are the place and the count of `killed.py`."""
        module = ["tests.chaos.replicas.killed", *map(str, killed)] if killed else ["headrace.cli"]
        words = ["run", str(self._file), "--checkpoint", str(self._folder / "state")]
        with (self._folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *module, *words, "--idle-exit", "1"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
            try:
                return process.wait(_WITHIN_S)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def said(self) -> str:
        """The end of what the runs said."""
        return (self._folder / "log").read_text()[-3000:]

    def assert_equal(self, *tables: str) -> None:
        """Compare replicas with their source, row by row."""
        for table in tables or TABLES:
            source_rows = self.database.execute(f"SELECT id, note, stage FROM {table} ORDER BY id")
            rows = self.lake.rows("public", table)
            replica_rows = sorted((row["id"], row["note"], row["stage"]) for row in rows)
            assert replica_rows == source_rows, f"{table}: {self.said()}"

    def versions(self) -> dict[str, str]:
        """The snapshot or version of each table."""
        return {table: self.lake.version("public", table) for table in TABLES}

    def cut(self) -> dict[str, str]:
        """The versions of the last consistent cut."""
        versions = headrace.consistent_versions(self._folder / "state").versions
        return {name.removeprefix("public."): str(version) for name, version in versions.items()}


@pytest.fixture
def source(postgres: PostgresServer) -> Iterator[Database]:
    """A fresh database."""
    created = Database.create(postgres)
    yield created
    created.drop()


@pytest.mark.parametrize("name", IN_TURN)
def test_a_kill_between_two_steps_of_a_micro_batch_loses_and_doubles_nothing(
    source: Database, tmp_path: Path, name: str
) -> None:
    lake = LAKES[name](tmp_path / "lake")
    run = Killed(source, tmp_path, lake)
    # The first copy: its files are written, and one of the tables has it.
    assert run.run("written", 2) == -signal.SIGKILL, run.said()
    run.assert_equal("first")
    assert lake.rows("public", "second") == []
    copied = run.versions()

    run.change()
    # It comes again, and the table that had it is not written again; then the change.
    is_iceberg = isinstance(lake, IcebergLake)
    assert run.run("expired" if is_iceberg else "committed", 2) == -signal.SIGKILL, run.said()
    run.assert_equal()
    changed = run.versions()
    commits = {table: lake.commits("public", table) for table in TABLES}
    assert commits == dict.fromkeys(TABLES, 1 if is_iceberg else 2), copied

    run.change()
    # That change comes again, and neither table is written again; then the next one.
    assert run.run("table", 1) == -signal.SIGKILL, run.said()
    run.assert_equal("first")
    moved = run.versions()
    assert moved["first"] != changed["first"]
    assert moved["second"] == changed["second"]
    assert lake.commits("public", "first") == commits["first"] + 1
    assert run.run() == 0, run.said()
    run.assert_equal()
    assert run.versions()["first"] == moved["first"]
    assert {
        table: lake.commits("public", table) - commits[table] for table in TABLES
    } == dict.fromkeys(TABLES, 1)

    # The cut between the commits of two tables is the one before both.
    before = run.versions()
    assert run.cut() == before
    source.execute(";".join(f"UPDATE {table} SET note = 'last'" for table in TABLES))
    assert run.run("table", 1) == -signal.SIGKILL, run.said()
    assert run.versions()["first"] != before["first"]
    assert run.cut() == before


@pytest.mark.chaos
@pytest.mark.parametrize(
    ("soft", "hard"),
    [
        pytest.param(["filled"], ["unmarked"], id="before"),
        pytest.param(["filled", "changed"], ["unmarked", "changed"], id="each"),
    ],
)
@pytest.mark.parametrize("name", LAKES)
def test_a_kill_while_deletes_become_soft_or_hard_loses_no_row_and_keeps_none(
    source: Database, tmp_path: Path, name: str, soft: list[str], hard: list[str]
) -> None:
    """Kills before what changes the columns is committed, or before and after it."""
    lake = LAKES[name](tmp_path / "lake")
    run = Killed(source, tmp_path, lake)
    assert run.run() == 0, run.said()
    run.set(deletes="soft")
    for place in soft:
        run.change()
        assert run.run(place, 1) == -signal.SIGKILL, run.said()
    assert run.run() == 0, run.said()
    for table in TABLES:
        ids = {number for (number,) in source.execute(f"SELECT id FROM {table}")}
        marks = {row["id"]: row["__deleted"] for row in lake.rows("public", table)}
        assert ids == {number for number, is_deleted in marks.items() if is_deleted is False}
        assert {*marks.values()} == {True, False}

    run.set(deletes="hard")
    for last, place in enumerate(hard, 8):
        source.execute(";".join(f"DELETE FROM {table} WHERE id % 10 = {last}" for table in TABLES))
        assert run.run(place, 1) == -signal.SIGKILL, run.said()
    assert run.run() == 0, run.said()
    run.assert_equal()
    assert "__deleted" not in lake.table("public", "first").column_names
