"""Compiles what a query of PySpark needs, in the process that is about to run it."""

from __future__ import annotations

import logging
import time

from headrace.spark.kernels.compiled import missing_kernels
from headrace.spark.kernels.needed import Kernels
from headrace.spark.kernels.process import command, read_progress, require_success, start

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
    with start(command(missing)) as process:
        for done, total in read_progress(process):
            if done == total or time.monotonic() - said >= _EVERY_S:
                said = time.monotonic()
                log.info("compiling kernels: %d of %d", done, total)
    require_success(process)
