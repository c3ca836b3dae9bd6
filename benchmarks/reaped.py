"""A command with all the processes that come of it: `python -m benchmarks.reaped COMMAND…`, of
which the last line says in JSON what they took.

Processes whose parents have ended become this process's children, so that none is left out of the
CPU time of its children.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import tree

_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_EVERY_S = 0.5


@dataclass(frozen=True)
class Took:
    """CPU of all processes, wall time, and the peaks of memory (resident set size, bytes) of the
    command's process and of the JVM. `is_done`: the command ended in good order."""

    cpu_seconds: float
    seconds: float
    command_bytes: int
    jvm_bytes: int
    is_done: bool


def run(command: list[str], *, limit_s: float = 1800) -> Took:
    """Run a command by itself, and say what it took. Raises RuntimeError where it failed."""
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.reaped", str(limit_s), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    took = Took(**json.loads(process.stdout.splitlines()[-1]))
    if not took.is_done:
        raise RuntimeError(f"{' '.join(command)} failed:\n{process.stdout[-4000:]}")
    return took


def output(command: list[str], *, limit_s: float = 1800) -> str:
    """What a command prints, in its last line. Raises RuntimeError where it failed."""
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit_s)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{process.stderr[-4000:]}")
    return process.stdout.splitlines()[-1]


class _Peaks(threading.Thread):
    """The peaks of the processes, of which Linux keeps those of memory itself."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self.ended = threading.Event()
        self.command = self.jvm = 0

    def run(self) -> None:
        while not self.ended.wait(_EVERY_S):
            for process in tree(self._pid):
                try:
                    status = (Path("/proc") / str(process.pid) / "status").read_text()
                except OSError:
                    continue
                fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
                peak = int(fields.get("VmHWM", "0 kB").split()[0]) * 1024
                if process.pid == self._pid:
                    self.command = max(self.command, peak)
                elif fields["Name"].strip() == "java":
                    self.jvm = max(self.jvm, peak)


def main() -> None:
    """Run the command, wait for all that is left of it, and print what they took."""
    limit_s, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    begun = time.monotonic()
    process = subprocess.Popen(command)
    peaks = _Peaks(process.pid)
    peaks.start()
    limit = threading.Timer(float(limit_s), process.kill)
    limit.start()
    status = process.wait()
    seconds = time.monotonic() - begun
    limit.cancel()
    peaks.ended.set()
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = Took(used.ru_utime + used.ru_stime, seconds, peaks.command, peaks.jvm, status == 0)
    sys.stdout.flush()
    print(json.dumps(vars(took)), flush=True)


if __name__ == "__main__":
    main()
