"""Queries of one session that are started at once on a machine that has no core to spare."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headrace.testing.embedded import PostgresServer

_SCRIPT = Path(__file__).with_name("start_queries.py")


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Processes that never rest."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.postgres
@pytest.mark.spark
@pytest.mark.chaos  # the loops take from other tests what these need
@pytest.mark.parametrize("count", [4, 10])
def test_queries_that_are_started_at_once_beside_busy_loops_all_stream(
    tmp_path: Path, count: int
) -> None:
    names = [f"q{number}" for number in range(count)]
    with PostgresServer() as server:
        server.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
        server.execute("INSERT INTO t SELECT i, 'early' FROM generate_series(1, 100) i")
        properties = {
            "connector.class": "postgresql",
            "database.hostname": server.host,
            "database.port": str(server.port),
            "database.user": server.user,
            "database.dbname": "postgres",
            "table.include.list": "public.t",
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
        }
        command = [sys.executable, str(_SCRIPT), json.dumps(properties), str(tmp_path), *names]
        began = time.monotonic()
        with (
            busy_loops(2),
            (tmp_path / "errors").open("w") as errors,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as run,
        ):
            try:
                assert run.stdout is not None
                assert run.stdout.readline() == "started\n", (tmp_path / "errors").read_text()
                _await_slots(server, run, names)
                server.execute("INSERT INTO t VALUES (0, 'late')")
                lines = run.stdout.read().split()
                assert run.wait(120) == 0, (tmp_path / "errors").read_text()
            finally:
                run.kill()
    assert sorted(lines) == sorted([*names, "all"])
    print(f"{count} queries: {time.monotonic() - began:.1f} s, load {os.getloadavg()[0]:.1f}")


def _await_slots(server: PostgresServer, run: subprocess.Popen[str], names: list[str]) -> None:
    """All of them stream: what is inserted from now on is no part of a snapshot."""
    while {name for (name,) in _active(server)} != set(names):
        if run.poll() is not None:
            return  # it says why
        time.sleep(0.2)


def _active(server: PostgresServer) -> list[tuple[str]]:
    return server.execute("SELECT slot_name::text FROM pg_replication_slots WHERE active")  # type: ignore[return-value]
