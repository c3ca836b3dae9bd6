"""An oplog that was lost while the command did not run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing.mongodb import MongoServer
from tests.cli.commands import properties, rows_of
from tests.resident.resident import Resident
from tests.servers.mongodb import MongoDatabase, lose_history
from tests.servers.sources import MongoSource

pytestmark = [pytest.mark.mongodb, pytest.mark.spark]


@pytest.fixture
def source(mongodb_small_oplog: MongoServer) -> Iterator[MongoSource]:
    database = MongoDatabase.create(mongodb_small_oplog)
    yield MongoSource(database)
    database.drop()


def test_a_lost_oplog_is_an_error_or_a_new_snapshot(
    source: MongoSource, mongodb_small_oplog: MongoServer, resident: Resident, tmp_path: Path
) -> None:
    file, output, state = tmp_path / "c.properties", tmp_path / "out.jsonl", tmp_path / "s"
    arguments = ["events", str(file), "--output", str(output), "--state", str(state)]

    def run() -> tuple[int, str]:
        completed = resident.run(*arguments, "--idle-exit", "1")
        return completed.returncode, completed.stderr

    source.insert(1, 20, "first")
    file.write_text(properties(source))
    status, error_output = run()
    assert status == 0, error_output
    assert len(rows_of(output)) == 20

    source.insert(21, 30, "lost")
    lose_history(mongodb_small_oplog)
    status, error_output = run()
    assert status == 1
    error, remedy, rest = error_output.split("\n")
    assert error.startswith("error: ")
    assert error.endswith("[mongodb.history_lost]")
    assert "when_needed" in remedy
    assert rest == ""
    assert len(rows_of(output)) == 20

    file.write_text(properties(source, snapshot_mode="when_needed"))
    status, error_output = run()
    assert status == 0, error_output
    again = rows_of(output)[20:]
    assert sorted(int(row["key"]["id"]) for row in again) == list(range(1, 31))
    assert {row["value"]["op"] for row in again} == {"r"}
