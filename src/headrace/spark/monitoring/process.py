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
"""A process writes its report more often than that."""


def this_process() -> dict[str, Any]:
    """The identity of this process: its id, when it began (in ticks of its host's clock; None: the
    system does not say), and the host whose ids these are."""
    pid = os.getpid()
    return {"pid": pid, "began": _began(pid), "host": _host(), "hostname": socket.gethostname()}


def is_running(process: Mapping[str, Any], written: float, now: float) -> bool:
    """Whether the process of a report runs. Of another host, or another container, nobody can tell:
    there it runs if its report was `written` a short time before `now` (both s since 1970)."""
    if process.get("host") != _host():
        return now - written < _FRESH_S
    pid = int(process["pid"])
    began = _began(pid)
    if began is None and process.get("began") is None:
        return _exists(pid)
    return began == process.get("began")


@cache
def _host() -> str:
    """Ids of processes are those of a boot of a host, and of a container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _began(pid: int) -> int | None:
    """When a process began; None also for a process that has ended."""
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
