"""An environment with headrace, packed for `spark.archives`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import block
from tests.installation import Installation, build_wheel, copied_sources
from tests.platforms.packages import archive_packages, with_packages

PAGE = "docs/guides/platforms.md"
_EXTRA = "postgresql"


def pack_environment(folder: Path) -> None:
    """Make what the page makes: a virtual environment, `environment`, with the wheel of headrace
    and what it requires, and the archive of it; required packages are links to those of the
    tests."""
    wheels = folder / "wheels"
    wheels.mkdir()
    build_wheel(copied_sources(folder), wheels)
    (wheel,) = wheels.glob("headrace-*.whl")
    installation = Installation(folder, wheel)
    installation.add(_EXTRA, wheels)
    (pack,) = [command for command in block(PAGE, "venv_pack").commands if "venv_pack" in command]
    path = os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"])
    run = subprocess.run(
        pack, shell=True, cwd=folder, env=with_packages(archive_packages(), {"PATH": path}),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr


def bare_environment(folder: Path) -> Path:
    """The Python of a virtual environment that has nothing."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin/python"
    run = subprocess.run([python, "-c", "import headrace"], cwd="/", env={}, check=False,
                         capture_output=True, text=True)  # fmt: skip
    assert "No module named 'headrace'" in run.stderr
    return python


def remove(folder: Path) -> None:
    """Removes a folder, which is large."""
    shutil.rmtree(folder, ignore_errors=True)
