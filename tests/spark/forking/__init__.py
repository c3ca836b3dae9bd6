"""Source processes that are forked: three quarters of the CPU time of a test's query are the
imports of its source process, which Spark starts again for each query.

A process per worker (`python -m tests.spark.forking PLACE`, the template) has imported everything.
What Spark starts (`site/sitecustomize.py`) asks it for a fork, gives it its standard streams, and
waits for the fork's end. Tests of kills and of starts have sessions of their own without a
template.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from headrace.spark.starting.environment import FOLDER

VARIABLE = "HEADRACE_TESTS_FORK_FROM"
"""The variable of the environment that names the template's socket."""
_ROOT = Path(__file__).parents[3]
_SITE = Path(__file__).with_name("site")


class Template:
    """The template of a session's source processes. Until it is ready, they start as usual."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="headrace-template-")
        self.place = f"{self._folder.name}/socket"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.spark.forking", self.place],
            stdin=subprocess.PIPE,
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": _path(_ROOT)},
        )

    @property
    def pid(self) -> int:
        """The number of its process, the parent of source processes."""
        return self._process.pid

    @property
    def environment(self) -> dict[str, str]:
        """What the session's JVM needs in its environment."""
        return {VARIABLE: self.place, "PYTHONPATH": _path(_SITE, FOLDER, _ROOT)}

    def close(self) -> None:
        """Ends the template, and not its forks: Spark ends those."""
        with self._process:
            self._process.terminate()
        self._folder.cleanup()


def _path(*folders: Path) -> str:
    return os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])
