"""The metrics of a query, seen from the driver."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.sources import Source

SCRIPT = Path(__file__).with_name("run_metrics.py")


@pytest.mark.spark
def test_a_driver_reads_the_metrics_of_its_query(source: Source, tmp_path: Path) -> None:
    source.insert(1, 50, "existing")
    properties = json.dumps(source.properties())
    command = [sys.executable, str(SCRIPT), properties, str(tmp_path / "checkpoint"), "7"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    found = None
    try:
        written = False
        for line in run.stdout:
            if line.startswith("snapshot") and not written:
                written = True
                source.insert(51, 57, "live")
            elif line.startswith("metrics"):
                found = json.loads(line.removeprefix("metrics"))
    finally:
        run.kill()
        run.wait(120)
    assert found is not None
    assert found["snapshot"]["SnapshotCompleted"]
    assert found["streaming"]["TotalNumberOfCreateEventsSeen"] == 7
    assert found["streaming"]["CapturedTables"] == [source.topic.removeprefix("s.")]
    assert found["streaming"]["Connected"]
    assert source.metrics <= found["streaming"].keys()
