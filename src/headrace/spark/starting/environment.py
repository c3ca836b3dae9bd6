"""The environment variable by which processes of Spark run headrace.spark.starting."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

FOLDER = Path(__file__).with_name("site")
"""The folder of our `sitecustomize`."""
_VARIABLE = "PYTHONPATH"


def prepare(environment: MutableMapping[str, str]) -> None:
    """Put FOLDER at the beginning of PYTHONPATH: the JVM passes it to the processes that it starts
    on its host, and not to other hosts."""
    had = environment.get(_VARIABLE)
    if not had:
        environment[_VARIABLE] = str(FOLDER)
    elif str(FOLDER) not in had.split(os.pathsep):
        environment[_VARIABLE] = f"{FOLDER}{os.pathsep}{had}"
