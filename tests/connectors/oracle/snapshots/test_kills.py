"""A snapshot whose source process is killed: nothing is lost, nothing is doubled."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle
ROWS_PER_KILL = 2_800


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
    (tmp_path / "properties.json").write_text(json.dumps(properties))
    command = [sys.executable, "-m", "tests.connectors.killed_reader", str(tmp_path)]
    killed = 0
    while not (tmp_path / "over").exists():
        before = len(list(tmp_path.glob("*.json")))
        process = subprocess.Popen(command, cwd=Path(__file__).parents[4])
        while process.poll() is None:
            if killed < kills and len(list(tmp_path.glob("*.json"))) > before:
                process.kill()
                break
            time.sleep(0.01)
        killed += process.wait() == -signal.SIGKILL
    assert killed == kills
    told = [text for file in tmp_path.glob("[0-9]*.json") for text in json.loads(file.read_text())]
    keys = [int(match[1]) for text in told if (match := re.search(r"'\{\"ID\":(\d+)\}'", text))]
    assert sorted(keys) == list(range(len(rows)))
    assert len([text for text in told if '"table":"KEYLESS"' in text]) == 100
