"""Sdists and wheels, built by `build` with the setuptools of this environment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Built:
    """The artefacts of one distribution."""

    sdist: Path
    wheel: Path

    @property
    def artefacts(self) -> tuple[Path, Path]:
        """What is published."""
        return self.sdist, self.wheel


def built_in(checkout: Path, folder: Path) -> Built:
    """The sdist of a checkout, and the wheel of that sdist, in `folder`."""
    before = set(folder.iterdir())
    _run("build", "--no-isolation", "--outdir", str(folder), str(checkout))
    new = sorted(path for path in folder.iterdir() if path not in before)
    wheel, sdist = sorted(new, key=lambda path: path.suffix != ".whl")
    return Built(sdist, wheel)


def check(artefacts: Sequence[Path]) -> None:
    """Whether an index takes their metadata and can show their README."""
    _run("twine", "check", "--strict", *map(str, artefacts))


def _run(module: str, *arguments: str) -> None:
    """Raises RuntimeError with what the program says where it fails."""
    command = [sys.executable, "-m", module, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"{module} failed:\n{run.stdout}{run.stderr}")
