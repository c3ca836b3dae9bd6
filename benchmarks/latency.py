"""Latency from acknowledgement to sink at a trickle: a writer inserts, a follower reads the sink's
file."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.contenders import wait_until
from benchmarks.server import BenchServer, Writer

_PER_SECOND = 20


def measure(
    command: list[str], server: BenchServer, collection: str, output: Path, seconds: float
) -> dict[str, float]:
    """Milliseconds from the server's acknowledgement to the line in the file: p50, p95, p99."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert process.stdin is not None
    assert process.stdout is not None
    follower = _Follower(output, server.key)
    try:
        process.stdin.write("\n")  # Debezium's runner waits for it
        process.stdin.flush()
        wait_until(server.streaming)
        follower.start()
        with server.writer(collection) as writer:
            # The first events of a process are not a trickle yet: warm caches, first batches.
            _write(writer, 1, _PER_SECOND * 5)
            time.sleep(1)
            sent = _write(writer, 1000, int(_PER_SECOND * seconds))
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


def _write(writer: Writer, first: int, rows: int) -> dict[int, float]:
    sent = {}
    begun = time.monotonic()
    for number in range(rows):
        wait = begun + number / _PER_SECOND - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        writer.insert(first + number)
        sent[first + number] = time.monotonic()
    return sent


class _Follower(threading.Thread):
    """Notes when each key's line appeared, to a millisecond or two."""

    def __init__(self, path: Path, key: re.Pattern[bytes]) -> None:
        super().__init__(daemon=True)
        self._path, self._key = path, key
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
                        if match := self._key.search(line):
                            self.seen.setdefault(int(match[1]), now)
