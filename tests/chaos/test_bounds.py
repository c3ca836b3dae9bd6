"""Memory of a whole query, at default settings, with log that is hard on it: `make chaos`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.processes import PeakMemory

from headrace.testing.embedded import PostgresServer
from tests.chaos.databases.postgresql import ChaosPostgres
from tests.chaos.run import Run, wait_for

pytestmark = [pytest.mark.postgres, pytest.mark.spark, pytest.mark.chaos]


class SlowSink:
    """`run_slow_sink` with a slot of its own, and what it printed."""

    def __init__(self, server: PostgresServer, folder: Path, seconds: float) -> None:
        properties = {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "topic.prefix": "bounds",
            "database.hostname": server.host,
            "database.port": str(server.port),
            "database.user": server.user,
            "database.password": "x",
            "database.dbname": "postgres",
            "snapshot.mode": "no_data",
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
        }
        self._server = server
        self._printed = folder / "printed"
        self._log = folder / "log"
        with self._printed.open("wb") as printed, self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.run_slow_sink", json.dumps(properties),
                 str(folder / "checkpoint"), str(seconds)],
                stdin=subprocess.PIPE, stdout=printed, stderr=log,
            )  # fmt: skip

    def streams(self) -> bool:
        query = "SELECT 1 FROM pg_replication_slots WHERE active"
        return bool(self._server.execute(query))

    def batches(self) -> list[tuple[int, int]]:
        """Records and largest value of each micro-batch that had any."""
        assert self.process.poll() is None, self.tail()
        lines = [line.split() for line in self._printed.read_text().splitlines()]
        batches = [(int(line[1]), int(line[2])) for line in lines if line[0] == "batch"]
        return [batch for batch in batches if batch[0]]

    def tail(self) -> str:
        return self._printed.read_text()[-3000:] + self._log.read_text(errors="replace")[-3000:]

    def close(self) -> None:
        try:
            self.process.communicate(b"\n", 120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        yield running


def test_a_delete_of_five_million_rows_fits_in_two_gigabytes_while_the_sink_is_slow(
    server: PostgresServer, tmp_path: Path
) -> None:
    server.execute("CREATE TABLE narrow (id int PRIMARY KEY)")
    server.execute("INSERT INTO narrow SELECT generate_series(1, 5000000)")
    sink = SlowSink(server, tmp_path, 3)
    try:
        wait_for(sink.tail, sink.streams)
        memory = PeakMemory(sink.process.pid)
        memory.start()
        server.execute("DELETE FROM narrow")

        def records() -> int:
            return sum(count for count, _ in sink.batches())

        wait_for(sink.tail, lambda: records() >= 10_000_000, 900)
        assert records() == 10_000_000
        peak = memory.stop()
        print(f"peak {peak >> 20} MB in {len(sink.batches())} micro-batches")
        assert peak < 2_000_000_000
    finally:
        sink.close()


def test_two_neighbouring_rows_of_a_hundred_megabytes_pass_through_spark(
    server: PostgresServer, tmp_path: Path
) -> None:
    server.execute("CREATE TABLE documents (id int PRIMARY KEY, content bytea)")
    sink = SlowSink(server, tmp_path, 0)
    try:
        wait_for(sink.tail, sink.streams)
        server.execute(
            "INSERT INTO documents"
            " SELECT i, convert_to(repeat('x', 104857600), 'UTF8') FROM generate_series(1, 2) i"
        )
        wait_for(sink.tail, lambda: sum(count for count, _ in sink.batches()) >= 2, 600)
        base64 = 4 * -(-104857600 // 3)
        assert [size // base64 for _, size in sink.batches()] == [1] * len(sink.batches())
    finally:
        sink.close()


def test_two_neighbouring_rows_of_a_hundred_megabytes_reach_a_file(
    server: PostgresServer, tmp_path: Path
) -> None:
    server.execute("CREATE TABLE documents (id int PRIMARY KEY, content bytea)")
    more = {"table_include_list": "public.documents", "snapshot_mode": "no_data"}
    run = Run(ChaosPostgres(server), tmp_path, **more)
    try:
        run.ensure()
        wait_for(run.tail, run.has_position)
        server.execute(
            "INSERT INTO documents"
            " SELECT i, convert_to(repeat('x', 104857600), 'UTF8') FROM generate_series(1, 2) i"
        )
        wait_for(run.tail, lambda: run.lines() >= 2, 600)
        run.end()
        with run.output.open() as lines:
            events = [json.loads(line)["value"]["after"] for line in lines]
        assert [event["id"] for event in events] == [1, 2]
        assert {len(event["content"]) for event in events} == {4 * -(-104857600 // 3)}
    finally:
        run.close()
