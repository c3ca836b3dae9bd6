"""The process that made a report, and whether it still runs."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_ZOMBIE = "Z"
_FRESH_S = 30.0
"""Seconds within which a process writes its report again."""


def this_process() -> dict[str, Any]:
    """Return the identity of this process: its id, its start time (in ticks of its host's clock;
    None: unknown), and the host of these ids."""
    pid = os.getpid()
    return {"pid": pid, "began": _began(pid), "host": _host(), "hostname": socket.gethostname()}


def is_running(process: Mapping[str, Any], written: float, now: float) -> bool:
    """Return whether the process of a report runs. For another host, or another container, that is
    unknown: it counts as running if its report was `written` shortly before `now` (both s since
    1970)."""
    if process.get("host") != _host():
        return now - written < _FRESH_S
    pid = int(process["pid"])
    began = _began(pid)
    if began is None and process.get("began") is None:
        return _exists(pid)
    return began == process.get("began")


@cache
def _host() -> str:
    """Return the identity of the host: ids of processes are unique in a boot of a host, and in a
    container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _began(pid: int) -> int | None:
    """Return the start time of a process; None also for a process that has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *words = stat.rpartition(")")[2].split()
    return None if state == _ZOMBIE else int(words[18])


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
