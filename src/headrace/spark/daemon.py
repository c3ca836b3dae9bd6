"""The daemon that forks Python workers (`spark.python.daemon.module`), with kernels loaded.

Spark starts one daemon per worker module; only the workers that run tasks need the kernels.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module


def preload() -> None:
    """Import what tasks need, before workers are forked, so that they share the pages."""
    import numpy  # noqa: F401, ICN001
    import pyarrow  # noqa: F401, ICN001

    import headrace.sinks.file.lines
    import headrace.sinks.file.sink
    import headrace.spark.parts_source
    import headrace.spark.source
    import headrace.spark.task  # noqa: F401
    from headrace.connectors.registry import definitions, has_driver
    from headrace.spark.kernels import load_kernels

    for definition in filter(has_driver, definitions()):
        for module in definition.worker_modules:
            import_module(module)
    load_kernels()
    # Collecting would touch, and so copy, every page that the workers share.
    gc.collect()
    gc.freeze()


if len(sys.argv) > 1 and sys.argv[1] == "pyspark.worker":
    preload()

from pyspark.daemon import manager  # noqa: E402

if __name__ == "__main__":
    manager()
