"""Copies of replicas by signals, to their end: against a database."""

from __future__ import annotations

import json
import uuid

import pytest

from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.options import RESYNC
from headrace.sinks.replicas.state.resyncing import Resync
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
