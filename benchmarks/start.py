"""How long a contender takes from its launch to the first event in its file, and at what CPU."""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.processes import cpu_seconds, tree

_LIMIT_S = 300


@dataclass(frozen=True)
class Start:
    """From the launch of the process to its first event; CPU of the whole tree of processes."""

    seconds: float
    cpu_seconds: float


def measure(command: list[str], output: Path) -> Start:
    """Launches a contender that appends to `output`, and ends it after the first event."""
    begun = time.monotonic()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=Path.cwd()
    )
    assert process.stdin is not None
    limit = threading.Timer(_LIMIT_S, process.kill)
    limit.start()
    try:
        process.stdin.write(b"\n")
        process.stdin.flush()
        while not output.exists() or output.stat().st_size == 0:
            if process.poll() is not None:
                raise RuntimeError("the contender ended before its first event")
            time.sleep(0.01)
        return Start(time.monotonic() - begun, cpu_seconds(process.pid))
    finally:
        limit.cancel()
        left = tree(process.pid)
        for child in left:
            try:
                child.kill()
            except psutil.NoSuchProcess:
                continue
        process.wait()
