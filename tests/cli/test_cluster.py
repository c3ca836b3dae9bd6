"""The command line on a cluster master: tasks run in other processes than the source."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headrace.testing.embedded import PostgresServer


@pytest.mark.postgres
@pytest.mark.spark
def test_snapshot_and_stream_run_on_a_cluster(tmp_path: Path) -> None:
    output, file = tmp_path / "out.jsonl", tmp_path / "connector.properties"
    with PostgresServer() as server:
        server.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        server.execute("INSERT INTO t SELECT i, 'x' FROM generate_series(1, 3000) i")
        properties = {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "topic.prefix": "s",
            "database.hostname": server.host,
            "database.port": server.port,
            "database.user": server.user,
            "database.password": "x",
            "database.dbname": "postgres",
            "headrace.snapshot.chunk.bytes": "40kB",
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
        }
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        command = [sys.executable, "-m", "headrace.cli", "events", str(file),
                   "--output", str(output), "--state", str(tmp_path / "state"),
                   "--master", "local-cluster[2,2,1024]"]  # fmt: skip
        run = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            _await(run, output, 3000)
            server.execute("UPDATE t SET v = 'y'")
            _await(run, output, 6000)
            run.send_signal(signal.SIGTERM)
            assert run.wait(600) == 0
        finally:
            run.kill()
            run.communicate()
    values = [json.loads(line)["value"] for line in output.read_text().splitlines()]
    assert [value["op"] for value in values] == ["r"] * 3000 + ["u"] * 3000
    assert sorted(value["after"]["id"] for value in values[3000:]) == [*range(1, 3001)]


def _await(run: subprocess.Popen[str], output: Path, lines: int) -> None:
    deadline = time.monotonic() + 600
    while not output.exists() or output.read_text().count("\n") < lines:
        assert run.poll() is None, run.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.3)
