"""Compiles the kernels of a query of PySpark, in the process that is about to run it."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from headrace.spark.kernels.compiled import missing_kernels
from headrace.spark.kernels.needed import Kernels
from headrace.spark.kernels.process import command, read_progress, require_success, start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_LOG_INTERVAL_S = 5
"""Seconds between two lines of the log."""


def compile_beforehand(kernels: Kernels) -> None:
    """Compile the kernels that this installation did not compile yet, so that no micro-batch has
    to. The log shows the progress.

    Raises HeadraceError("kernels.not_compiled").
    """
    missing = missing_kernels(kernels)
    if not missing:
        return
    logged_at = float("-inf")
    with start(command(missing)) as process:
        for compiled, total in read_progress(process):
            if compiled == total or time.monotonic() - logged_at >= _LOG_INTERVAL_S:
                logged_at = time.monotonic()
                log.info("compiling kernels: %d of %d", compiled, total)
    require_success(process)


def compile_if_local(session: SparkSession | None, kernels: Kernels) -> None:
    """Call `compile_beforehand` if the session's master is local. Executors of other masters
    compile when their first task starts."""
    master = "" if session is None else session.conf.get("spark.master", "") or ""
    if master == "local" or master.startswith("local["):
        compile_beforehand(kernels)
