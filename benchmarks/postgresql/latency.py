"""Commit-to-sink latency at a trickle: a writer inserts, a follower reads the sink's file."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from pathlib import Path

import numpy as np

from headrace.testing.embedded import PostgresServer

_PER_SECOND = 20
_KEY = re.compile(rb'"after":\{"id":(\d+)')


def measure(
    command: list[str], server: PostgresServer, table: str, output: Path, seconds: float
) -> dict[str, float]:
    """Milliseconds from the commit's return to the line in the file: p50, p95, p99."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert process.stdin is not None
    assert process.stdout is not None
    follower = _Follower(output)
    try:
        process.stdin.write("\n")  # Debezium's runner waits for it
        process.stdin.flush()
        with server.connect("bench") as connection:
            streaming = b"SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"
            while connection.execute(streaming).fetchone() is None:
                time.sleep(0.05)
            follower.start()
            # The first events of a process are not a trickle yet: warm caches, first batches.
            sent = _write(connection, table, 1, _PER_SECOND * 5)
            time.sleep(1)
            sent = _write(connection, table, 1000, int(_PER_SECOND * seconds))
        deadline = time.monotonic() + 30
        while not sent.keys() <= follower.seen.keys() and time.monotonic() < deadline:
            time.sleep(0.1)
        missing = sent.keys() - follower.seen.keys()
        if missing:
            raise RuntimeError(f"{len(missing)} events did not arrive")
        took = np.array([follower.seen[key] - at for key, at in sent.items()]) * 1000
        p50, p95, p99 = np.percentile(took, [50, 95, 99])
        return {"p50_ms": float(p50), "p95_ms": float(p95), "p99_ms": float(p99)}
    finally:
        follower.ended.set()
        process.kill()
        process.wait()


def _write(connection: object, table: str, first: int, rows: int) -> dict[int, float]:
    sent = {}
    begun = time.monotonic()
    insert = f"INSERT INTO {table} (id, customer, name) VALUES (%s, 1, 'a name')"
    for number in range(rows):
        wait = begun + number / _PER_SECOND - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        connection.execute(insert.encode(), (first + number,))  # type: ignore[attr-defined]
        sent[first + number] = time.monotonic()
    return sent


class _Follower(threading.Thread):
    """Notes when each key's line appeared, to a millisecond or two."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self._path = path
        self.seen: dict[int, float] = {}
        self.ended = threading.Event()

    def run(self) -> None:
        while not self._path.exists() and not self.ended.wait(0.01):
            pass
        rest = b""
        with self._path.open("rb") as file:
            while not self.ended.wait(0.001):
                more = file.read()
                if more:
                    now = time.monotonic()
                    *lines, rest = (rest + more).split(b"\n")
                    for line in lines:
                        if found := _KEY.search(line):
                            self.seen.setdefault(int(found[1]), now)
