"""The process that compiles kernels for another one: its command, its start, what it reports."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator

from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

ANOTHER_COMPILES = "another process compiles"
"""The line that says that the process waits for another one."""


def command(kernels: Iterable[tuple[str, str]]) -> list[str]:
    """The arguments of Python for a process of its own that compiles these kernels. It prints how
    far it is, two numbers a line: kernels that were compiled, and all of them; and once that it
    waits for another process."""
    return ["-m", "headrace.spark.kernels", "--progress", *map(":".join, kernels)]


def start(arguments: Iterable[str]) -> subprocess.Popen[bytes]:
    """Start what `command` says. It finds modules where this process does (the working directory is
    not one of these places by itself), and has no part in a terminal's Ctrl-C."""
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.Popen(
        [sys.executable, "-P", *arguments],
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def read_progress(process: subprocess.Popen[bytes]) -> Iterator[tuple[int, int]]:
    """What a process that was started reports, until it ends: kernels that were compiled, and all
    of them. The log says that it waits for another one."""
    assert process.stdout is not None
    with process.stdout as lines:
        for line in lines:
            numbers = line.split()
            if len(numbers) == 2 and all(number.isdigit() for number in numbers):
                yield int(numbers[0]), int(numbers[1])  # others are what a module prints
            elif line.decode(errors="replace").strip() == ANOTHER_COMPILES:
                log.info("compiling kernels: %s them, and this one waits for it", ANOTHER_COMPILES)


def require_success(process: subprocess.Popen[bytes]) -> None:
    """Raises HeadraceError("kernels.not_compiled") if the process, which is over, failed."""
    if process.returncode:
        raise HeadraceError(
            "kernels.not_compiled",
            f"Compiling kernels ended with exit status {process.returncode}",
            "Its error output says why: often the disk is full, or memory is short (about 1 GB for "
            "each core).",
        )
