"""The process that compiles kernels for another one: its command, its start, its reports."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator

from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

ANOTHER_COMPILES = "another process compiles"
"""The line that the process prints while it waits for another process, which compiles the same
kernels."""


def command(kernels: Iterable[tuple[str, str]]) -> list[str]:
    """Return Python's arguments for a process that compiles these kernels. Each line of
    its output has two numbers: how many kernels are compiled, and how many there are. It prints
    ANOTHER_COMPILES once if it has to wait."""
    return ["-m", "headrace.spark.kernels", "--progress", *map(":".join, kernels)]


def start(arguments: Iterable[str]) -> subprocess.Popen[bytes]:
    """Start the process of `command`. It finds modules where this process does (`-P`: it looks
    in the working directory only if sys.path names it), and does not get a terminal's Ctrl-C."""
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.Popen(
        [sys.executable, "-P", *arguments],
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def read_progress(process: subprocess.Popen[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the progress of a started process, until it ends: compiled kernels, and all of them. If
    it waits for another process, that is logged."""
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            numbers = line.split()
            if len(numbers) == 2 and all(number.isdigit() for number in numbers):
                yield int(numbers[0]), int(numbers[1])  # other lines are printed by modules
            elif line.decode(errors="replace").strip() == ANOTHER_COMPILES:
                log.info("compiling kernels: %s them, and this one waits for it", ANOTHER_COMPILES)


def require_success(process: subprocess.Popen[bytes]) -> None:
    """Raise HeadraceError("kernels.not_compiled") if the process, which has ended, failed."""
    if process.returncode:
        raise HeadraceError(
            "kernels.not_compiled",
            f"Compiling kernels ended with exit status {process.returncode}",
            "The process printed the cause on standard error: often the disk is full, or memory is "
            "short (about 1 GB for each core).",
        )
