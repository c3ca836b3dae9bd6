"""CPU and memory of a contender: its process with all descendants."""

from __future__ import annotations

import threading
from pathlib import Path

import psutil

_EVERY_S = 0.5


def tree(pid: int) -> list[psutil.Process]:
    """The process and its descendants."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def cpu_seconds(pid: int) -> float:
    """User and system time of the tree so far, that of children which ended included."""
    total = 0.0
    for process in tree(pid):
        try:
            total += sum(process.cpu_times()[:4])
        except psutil.Error:
            continue
    return total


def memory_bytes(pid: int) -> int:
    """Proportional set size of the tree, with shared memory files whether mapped or not."""
    private, shared = 0, {}
    for process in tree(pid):
        folder = Path("/proc") / str(process.pid)
        try:
            rollup = dict(
                line.split(":", 1)
                for line in (folder / "smaps_rollup").read_text().split("\n")[1:-1]
            )
            private += _kilobytes(rollup["Pss"]) - _kilobytes(rollup.get("Pss_Shmem", "0 kB"))
            for entry in (folder / "fd").iterdir():
                if "memfd:" in str(entry.readlink()):
                    state = entry.stat()
                    shared[state.st_ino] = state.st_blocks * 512
        except (OSError, KeyError):
            continue
    return private + sum(shared.values())


def _kilobytes(text: str) -> int:
    return int(text.split()[0]) * 1024


class PeakMemory(threading.Thread):
    """Samples memory_bytes twice a second until `stop`."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._ended = threading.Event()
        self.peak = 0

    def run(self) -> None:
        while not self._ended.wait(_EVERY_S):
            self.peak = max(self.peak, memory_bytes(self._pid))

    def stop(self) -> int:
        """The peak in bytes."""
        self._ended.set()
        self.join()
        return self.peak
