"""State that the processes of killed readers share: imports, and kernels that are loaded."""

from __future__ import annotations

from importlib import import_module

import tests.connectors.killed_reader  # noqa: F401 - shared
from headrace.connectors.registry import definitions, has_driver
from headrace.spark.kernels.compiled import load_compiled

for _definition in filter(has_driver, definitions()):
    if _definition.name in ("oracle", "db2"):
        for _module in (*_definition.worker_modules, *_definition.kernels):
            import_module(_module)
load_compiled()
