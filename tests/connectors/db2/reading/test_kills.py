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

from tests.servers.db2 import Db2Database

pytestmark = pytest.mark.db2
ROWS_PER_KILL = 2400


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
    assert sorted(keys) == list(range(count))
