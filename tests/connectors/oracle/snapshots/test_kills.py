"""A snapshot whose source process is killed: nothing is lost, nothing is doubled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.connectors.killed_reader import MOMENTS, Death, KilledReader
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle
ROWS_PER_KILL = 800


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.chaos)])
def test_kills_lose_and_double_no_row(
    oracle_database: OracleDatabase, tmp_path: Path, kills: int
) -> None:
    rows = [[n, "text"] for n in range(ROWS_PER_KILL * kills)]
    columns = ("ID NUMBER(9,0) NOT NULL", "T VARCHAR2(99)")
    oracle_database.create_table("KEYED", *columns, key=["ID"], rows=rows)
    oracle_database.create_table("KEYLESS", *columns, rows=rows[:100])
    properties = oracle_database.properties(
        headrace_snapshot_chunk_bytes="4096",
        headrace_snapshot_threads="1",
        include_schema_changes="false",
    )
    lives = [Death(MOMENTS[n % len(MOMENTS)], 1 + n % 2) for n in range(kills)]
    records = KilledReader(tmp_path, properties).snapshot(lives)
    keys = [
        json.loads(record["key"])["ID"] for record in records if record["topic"].endswith(".KEYED")
    ]
    assert sorted(keys) == list(range(len(rows)))
    assert len([record for record in records if record["topic"].endswith(".KEYLESS")]) == 100
