"""Turns of processes that start, on one machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from headrace.connect.deadline import Deadline
from headrace.connect.private_folders import make_private
from headrace.spark.starting.collection import collection_paused

LONGEST_S = 60.0
"""Seconds that a process waits for others: a slow one does not block them for longer."""
_LOOK_S = 0.05

_has_come = False
_PARENT = "_HEADRACE_PARENT"
"""A variable of this process: its id, and that of the process that started it."""


def remember_parent() -> None:
    """Note the parent of this process at its start: later it may have another one."""
    os.environ[_PARENT] = f"{os.getpid()} {os.getppid()}"


def first_parent() -> int:
    """Return the process that started this one, if that was noted; else the present parent."""
    noted = os.environ.get(_PARENT, "").split()
    return int(noted[1]) if noted[:1] == [str(os.getpid())] else os.getppid()


@contextlib.contextmanager
def turn(longest: float = LONGEST_S) -> Iterator[None]:
    """Wait until fewer processes of this user than the machine has cores are inside a turn, but at
    most `longest` seconds; without a folder for locks, not at all. The turn of a process ends with
    the process. Ends this process if its parent ends meanwhile.
    """
    parent, deadline = first_parent(), Deadline(longest)
    with contextlib.ExitStack() as lock_of_turn:
        while not _is_taken(lock_of_turn) and not deadline.is_over:
            deadline.pause(_LOOK_S)
            if os.getppid() != parent:
                os._exit(1)
        yield


@contextlib.contextmanager
def first_turn() -> Iterator[None]:
    """A turn when this process comes here first, with `collection_paused`, and nothing from then
    on."""
    global _has_come
    if _has_come:
        yield
        return
    _has_come = True
    with turn(), collection_paused():
        yield


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def turns_folder() -> Path:
    """Return the folder that has a file for each turn; its lock is the turn."""
    return Path(tempfile.gettempdir()) / f"headrace-{os.geteuid()}" / "turns"


def _is_taken(resources: contextlib.ExitStack) -> bool:
    """Return whether a turn was free, or turns are not possible; `resources` releases it."""
    folder = turns_folder()
    if not make_private(folder):
        return True
    for number in range(cores()):
        try:
            lock = (folder / str(number)).open("ab")
        except OSError:
            return True
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            if not isinstance(error, BlockingIOError):
                return True  # a file system without locks
            continue
        resources.enter_context(lock)
        return True
    return False
