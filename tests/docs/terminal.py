"""A terminal in which the commands of a page are run as its reader types them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark

from tests.docs.pages import Block
from tests.resident.resident import Resident

ENDS = "headrace.trigger=availableNow\n"
"""The property that ends a run with the last change that existed when it began: readers type
Ctrl-C."""
_SECONDS = 300


class Terminal:
    """Commands run in `folder`. Names and ports of the pages mean those of the servers that
    run: `substitutes`, which are all that is changed, besides ENDS in a connector's file. What an
    `export` sets, stays. `resident` is the `headrace` of commands; None: each starts its own."""

    def __init__(
        self, folder: Path, substitutes: Mapping[str, str], resident: Resident | None = None
    ) -> None:
        self.folder = folder
        self._substitutes, self._resident = substitutes, resident
        programs = [Path(sys.executable).parent, Path(pyspark.__file__).parent / "bin"]
        if resident is not None:
            programs.insert(0, resident.programs)
        path = ":".join([*map(str, programs), os.environ["PATH"]])
        self._environment = {**os.environ, "PATH": path, "COLUMNS": "200"}

    def with_substitutes(self, more: Mapping[str, str]) -> Terminal:
        """The terminal for pages that call servers by other names, too."""
        return Terminal(self.folder, {**self._substitutes, **more}, self._resident)

    def text(self, block: Block) -> str:
        """The block with the servers' own names."""
        text = block.text
        for name, substitute in self._substitutes.items():
            text = text.replace(name, substitute)
        return text

    def write(self, name: str, block: Block, more: str = "") -> None:
        """A connector's properties as a file; `more` lines follow them."""
        (self.folder / name).write_text(self.text(block) + more + ENDS)

    def run(self, block: Block, *, status: int = 0) -> str:
        """The output of the block's commands: standard output and standard error."""
        return self.type(self.text(block), status=status)

    def type(self, commands: str, *, status: int = 0) -> str:
        """The output of commands, which end with `status`."""
        for name, value in re.findall(r"^export (\w+)=(.*)$", commands, re.M):
            self._environment[name] = value
        completed = subprocess.run(
            ["/bin/bash", "-e", "-o", "pipefail", "-c", commands],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert completed.returncode == status, completed.stdout
        return completed.stdout
