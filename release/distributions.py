"""Sdists and wheels, built by `build` with the setuptools of this environment."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from release.sdists import normalise


@dataclass(frozen=True)
class Built:
    """The artefacts of one distribution."""

    sdist: Path
    wheel: Path

    @property
    def artefacts(self) -> tuple[Path, Path]:
        """What is published."""
        return self.sdist, self.wheel


def built_in(checkout: Path, folder: Path, epoch: int) -> Built:
    """The sdist of a checkout as of `epoch` (s since 1970), and the wheel of that sdist, in
    `folder`."""
    sdist = _built("sdist", checkout, folder)
    normalise(sdist, epoch)
    with tempfile.TemporaryDirectory() as temporary:
        with tarfile.open(sdist) as archive:
            archive.extractall(temporary, filter="data")
        (unpacked,) = Path(temporary).iterdir()
        return Built(sdist, _built("wheel", unpacked, folder))


def _built(kind: str, source: Path, folder: Path) -> Path:
    before = set(folder.iterdir())
    _run("build", f"--{kind}", "--no-isolation", "--outdir", str(folder), str(source))
    (new,) = (path for path in folder.iterdir() if path not in before)
    return new


def check(artefacts: Sequence[Path]) -> None:
    """Whether an index takes their metadata and can show their README."""
    _run("twine", "check", "--strict", *map(str, artefacts))


def _run(module: str, *arguments: str) -> None:
    """Raises RuntimeError with what the program says where it fails."""
    command = [sys.executable, "-m", module, *arguments]
    # Wheels have the modes of files that the build creates.
    run = subprocess.run(command, capture_output=True, text=True, check=False, umask=0o022)
    if run.returncode:
        raise RuntimeError(f"{module} failed:\n{run.stdout}{run.stderr}")
