"""Copies of replicas by signals, to their end: against a database."""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.options import RESYNC
from headrace.sinks.replicas.state.resyncing import Resync
from tests.sinks.lake.readers import IN_TURN
from tests.sinks.replicas.replication import Replication

pytestmark = [pytest.mark.spark, pytest.mark.postgres]
CHANNEL = {"signal.data.collection": "public.signals", "incremental.snapshot.chunk.size": "10"}


def ask(replication: Replication, table: str) -> None:
    """Asks for a copy as `headrace resync` does."""
    state = replication.state / replication.lake.name / RESYNC
    name = str(uuid.uuid4())
    Resync(state, TableName(("public",), table), name).write()
    signal(replication, name, "execute-snapshot", f"public.{table}")


def signal(replication: Replication, name: str, kind: str, table: str) -> None:
    data = json.dumps({"data-collections": [table]})
    replication.database.execute(f"INSERT INTO signals VALUES ('{name}', '{kind}', '{data}')")


@pytest.mark.parametrize("replication", ["delta"], indirect=True)
def test_a_copy_of_nothing_ends_and_one_that_is_stopped_removes_nothing(
    replication: Replication,
) -> None:
    database = replication.database
    database.execute(
        "CREATE TABLE signals (id varchar(64) PRIMARY KEY, type varchar(32), data text)"
    )
    for table in ("emptied", "whole", "stopped"):
        database.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, v text)")
        database.execute(f"INSERT INTO {table} SELECT i, 'v' FROM generate_series(1, 100) i")
    replication.run(CHANNEL)
    # Changes that the log does not bring.
    database.execute("DELETE FROM emptied; DELETE FROM whole WHERE id < 50")
    replication.run(CHANNEL | {"skipped.operations": "d"}, incomplete="true")
    assert len(replication.rows("emptied", "id")) == len(replication.rows("whole", "id")) == 100

    for table in ("emptied", "whole", "stopped"):
        ask(replication, table)
    signal(replication, "stop", "stop-snapshot", "public.stopped")
    replication.run(CHANNEL)
    replication.assert_equal("emptied", "id", "v")
    replication.assert_equal("whole", "id", "v")
    replication.assert_equal("stopped", "id", "v")
    assert replication.stopped == ["public.stopped"]

    ask(replication, "stopped")
    database.execute("INSERT INTO emptied VALUES (1, 'later'); DELETE FROM stopped WHERE id = 7")
    replication.run(CHANNEL)
    assert replication.stopped == []
    for table in ("emptied", "whole", "stopped"):
        replication.assert_equal(table, "id", "v")


@pytest.mark.parametrize("replication", IN_TURN, indirect=True)
def test_tables_that_were_restored_from_a_backup_stop_until_they_are_copied_again(
    replication: Replication, tmp_path: Path
) -> None:
    database = replication.database
    database.execute(
        "CREATE TABLE signals (id varchar(64) PRIMARY KEY, type varchar(32), data text);"
        "CREATE TABLE older (id int PRIMARY KEY, v text); INSERT INTO older VALUES (1, 'a');"
        "CREATE TABLE same (id int PRIMARY KEY, v text); INSERT INTO same VALUES (1, 'a')"
    )
    replication.run(CHANNEL)
    folder, backup = replication.lake.folder, tmp_path / "backup"
    shutil.copytree(folder, backup)
    database.execute("INSERT INTO older VALUES (2, 'b')")
    replication.run(CHANNEL)
    replication.assert_equal("older", "id", "v")
    shutil.rmtree(folder)
    shutil.copytree(backup, folder)

    database.execute("INSERT INTO older VALUES (3, 'c'); INSERT INTO same VALUES (3, 'c')")
    replication.run(CHANNEL)
    assert replication.stopped == ["public.older"]
    replication.assert_equal("same", "id", "v")
    assert replication.rows("older", "id") == [(1,)]
    ask(replication, "older")
    replication.run(CHANNEL)
    assert replication.stopped == []
    replication.assert_equal("older", "id", "v")

    shutil.rmtree(folder)
    database.execute("INSERT INTO same VALUES (4, 'd')")
    with pytest.raises(HeadraceError, match="is not there"):
        replication.run(CHANNEL)
