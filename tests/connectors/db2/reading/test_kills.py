"""A snapshot whose source process is killed: nothing is lost, nothing is doubled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.connectors.killed_reader import MOMENTS, Death, KilledReader
from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2
ROWS_PER_KILL = 800


@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.chaos)])
def test_kills_lose_and_double_no_row(
    db2_database: Db2Database, tmp_path: Path, kills: int
) -> None:
    count = ROWS_PER_KILL * kills
    db2_database.create_table("KEYED", "ID INTEGER NOT NULL PRIMARY KEY, T VARCHAR(99)")
    for start in range(0, count, 800):
        rows = ", ".join(f"({n}, 'text')" for n in range(start, start + 800))
        db2_database.execute(f"INSERT INTO INV.KEYED VALUES {rows}")
    db2_database.capture.await_captured()
    properties = db2_database.properties(
        headrace_snapshot_chunk_bytes="4096", headrace_snapshot_threads="1"
    )
    lives = [Death(MOMENTS[n % len(MOMENTS)], 1 + n % 2) for n in range(kills)]
    records = KilledReader(tmp_path, properties).snapshot(lives)
    keys = [
        json.loads(record["key"])["ID"] for record in records if record["topic"].endswith(".KEYED")
    ]
    assert sorted(keys) == list(range(count))
