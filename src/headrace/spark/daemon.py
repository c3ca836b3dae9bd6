"""The daemon that forks Python workers (`spark.python.daemon.module`), with kernels loaded.

Spark starts one daemon per worker module; only the workers that run tasks need the kernels.
"""

from __future__ import annotations

import sys
import traceback
from importlib import import_module

from headrace.spark.starting.collection import collection_paused


def preload() -> None:
    """Import what tasks need, before workers are forked, so that they share the pages."""
    import numpy  # noqa: F401, ICN001
    import pyarrow  # noqa: F401, ICN001

    import headrace.converters.configured
    import headrace.spark.data_source
    import headrace.spark.task  # noqa: F401
    from headrace.connectors.registry import definitions, has_driver, warns_of_errors
    from headrace.spark.kernels.compiled import load_compiled
    from headrace.spark.sinks.registry import import_worker_modules

    for definition in filter(has_driver, definitions()):
        for module in definition.worker_modules:
            with warns_of_errors(f"The module {module}", definition):
                import_module(module)
    import_worker_modules()
    load_compiled()


if len(sys.argv) > 1 and sys.argv[1] == "pyspark.worker":
    # To look for garbage in what was loaded would touch, and so copy, every page that the workers
    # share: it is left alone from here on.
    with collection_paused():
        preload()

from pyspark import daemon  # noqa: E402


class _Traceback:
    """A replacement of `traceback` for Spark's daemon: a stopped task has closed its socket, and
    the trace of its worker is of no use. Spark itself reports a task that fails.
    """

    format_exc = staticmethod(traceback.format_exc)

    @staticmethod
    def print_exc() -> None:
        if not isinstance(sys.exception(), BrokenPipeError | ConnectionResetError):
            traceback.print_exc()


vars(daemon)["traceback"] = _Traceback

if __name__ == "__main__":
    daemon.manager()
