"""Compiles what a query of PySpark needs, in the process that is about to run it."""

from __future__ import annotations

import logging
import subprocess
import sys
import time

from headrace.errors import HeadraceError
from headrace.spark.kernels.compiled import missing_kernels
from headrace.spark.kernels.compiler import command
from headrace.spark.kernels.needed import Kernels

log = logging.getLogger(__name__)

_EVERY_S = 5
"""Between two lines of the log."""


def compile_beforehand(kernels: Kernels) -> None:
    """Compile those of the kernels that this installation did not compile yet, so that no
    micro-batch has to. The log says how far it is.

    Raises HeadraceError("kernels.not_compiled").
    """
    missing = missing_kernels(kernels)
    if not missing:
        return
    said = float("-inf")
    arguments = [sys.executable, *command(missing)]
    with subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            numbers = line.split()
            if len(numbers) != 2 or not all(number.isdigit() for number in numbers):
                continue  # what an imported module prints
            done, total = map(int, numbers)
            if done == total or time.monotonic() - said >= _EVERY_S:
                said = time.monotonic()
                log.info("compiling kernels: %d of %d", done, total)
    if process.returncode:
        raise HeadraceError(
            "kernels.not_compiled",
            f"Compiling kernels ended with exit status {process.returncode}",
            "The log has its error output: often the disk is full, or memory is short (about 1 GB "
            "for each core).",
        )
