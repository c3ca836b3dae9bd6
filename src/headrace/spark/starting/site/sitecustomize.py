"""Imported by each Python process that has this folder on its PYTHONPATH, before anything else.

Only the processes that Spark starts for modules of PySpark are changed (headrace.spark.starting);
then the `sitecustomize` that this one hides is imported in its place.
"""

import contextlib
import importlib.util
import os
import sys
from importlib.machinery import PathFinder

_HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib takes 10 ms


def _begin() -> None:
    command = getattr(sys, "orig_argv", [])  # an older Python than headrace supports may run this
    if command[1:2] != ["-m"]:
        return
    if not any(name.startswith("PYTHON_WORKER_FACTORY_") for name in os.environ):
        return
    with contextlib.suppress(ImportError):  # another environment, which has no headrace
        from headrace.spark.starting.process import begin

        begin(command[2])


def _import_hidden() -> None:
    places = [place for place in sys.path if os.path.abspath(place) != _HERE]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", places)
    if spec is None or spec.loader is None:
        return
    sys.modules["sitecustomize"] = hidden = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hidden)


_begin()
_import_hidden()
