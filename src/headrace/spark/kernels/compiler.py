"""Compiles kernels: on every core, one process of an installation at a time."""

from __future__ import annotations

import ctypes
import fcntl
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from headrace.connect.deadline import Deadline
from headrace.spark.kernels.compiled import folder, load_kernel, missing_kernels
from headrace.spark.kernels.needed import Kernels

Report = Callable[[int, int], None]
"""A function that gets the number of compiled kernels, and of those that were missing at the
beginning."""
Wait = Callable[[], None]
"""A function that is called once if another process compiles, before this one waits for it."""

_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")
_MAX_AT_ONCE = 8
"""The most processes that compile; each takes up to 250 MB. More would only wait for the longest
kernel."""
_LONGEST_S = 900
"""Seconds that a process waits for another one that compiles."""
_FIRST = (
    "parse_batch",
    "parse_texts",
    "run_binary",
    "write_frames",
    "index_frames",
    "read_images",
    "run_json",
)
"""The kernels that take longest. They are compiled first, so that no core is idle at the end."""


def die_with_parent() -> None:
    """End this process with the thread that started it, if the system can do that. Otherwise it
    would first finish its kernel, which is not needed any more."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
    parent = multiprocessing.parent_process()
    if parent is not None and os.getppid() != parent.pid:
        os._exit(1)  # the parent ended before the request


@contextmanager
def _only_compiler(wait: Wait = lambda: None) -> Iterator[None]:
    """Let one process compile at a time: others wait, and load its kernels. They compile for
    themselves if the file system has no locks, or if the other one takes longer than
    `_LONGEST_S`."""
    folder().mkdir(parents=True, exist_ok=True)
    deadline = Deadline(_LONGEST_S)
    with (folder() / "compiling.lock").open("a") as lock:  # released when it is closed
        if not _locks(lock):
            wait()
            while not _locks(lock) and not deadline.is_over:
                time.sleep(0.1)
        yield


def _locks(lock: TextIO) -> bool:
    """Return whether the lock could be taken."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def compile_kernels(
    kernels: Kernels,
    report: Report = lambda _done, _total: None,
    wait: Wait = lambda: None,
) -> int:
    """Compile the kernels that are not compiled; return how many this process compiled. Those that
    another process compiled meanwhile are reported, too."""
    total = len(missing_kernels(kernels))
    if not total:
        return 0
    report(0, total)
    with _only_compiler(wait):
        missing = missing_kernels(kernels)
        by_others = total - len(missing)
        if by_others:
            report(by_others, total)
        for compiled, _ in enumerate(_compiled(missing), by_others + 1):
            report(compiled, total)
    return len(missing)


def _compiled(missing: list[tuple[str, str]]) -> Iterator[None]:
    """Yield once for each kernel when it is compiled. Raises BrokenProcessPool if a process that
    compiles one is killed, for example because memory is short."""
    places = {name: place for place, name in enumerate(_FIRST)}
    in_order = sorted(missing, key=lambda kernel: places.get(kernel[1], len(places)))
    workers = min(_cores(), len(in_order))
    if workers < 2:
        yield from map(_load, in_order)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=die_with_parent)
    try:
        for compiled in as_completed([pool.submit(_load, kernel) for kernel in in_order]):
            yield compiled.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _cores() -> int:
    """Return how many kernels are compiled in parallel: by cores and by the quota of a container,
    at most `_MAX_AT_ONCE`."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    return max(1, min(cores, _quota(), _MAX_AT_ONCE))


def _quota() -> int:
    """Return the cores that the control group of a container allows, rounded up; `_MAX_AT_ONCE`
    without a limit. (Linux, cgroup v2: `cpu.max` has microseconds of a period, or `max`.)"""
    try:
        allowed, period = _CPU_MAX.read_text("ascii").split()
        return math.ceil(int(allowed) / int(period))
    except (OSError, ValueError, ZeroDivisionError):
        return _MAX_AT_ONCE


def _load(kernel: tuple[str, str]) -> None:
    load_kernel(*kernel)
