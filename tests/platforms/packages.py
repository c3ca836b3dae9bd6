"""Packages that a platform needs beside those of the tests, fetched once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from headrace.connect.cache_folders import cache_folder

_OF_CONNECT = ("grpcio", "grpcio-status", "googleapis-common-protos", "pandas<3", "pyyaml")
"""Packages of PySpark's extras `connect` and `pipelines`, except those that every test has. They
are in none of the environments of the tests: PySpark behaves otherwise where pandas is
installed."""
_OF_ARCHIVES = ("venv-pack",)


def fetched(name: str, packages: tuple[str, ...]) -> Path:
    """A folder with packages. The test is skipped where they cannot be had."""
    folder = cache_folder("servers") / f"{name}-{sys.version_info.major}.{sys.version_info.minor}"
    if folder.exists():
        return folder
    staging = folder.with_name(f"{folder.name}.{os.getpid()}")
    command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(staging), *packages]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        pytest.skip(f"pip cannot fetch {', '.join(packages)} here: {run.stderr.strip()[-200:]}")
    # What the environment has is the environment's.
    try:
        staging.rename(folder)
    except OSError:
        assert folder.exists()  # another process was first
    return folder


def connect_packages() -> Path:
    """The packages for clients and servers of Spark Connect, and for pipelines."""
    return fetched("connect", _OF_CONNECT)


def archive_packages() -> Path:
    """The packages that pack an environment."""
    return fetched("venv-pack", _OF_ARCHIVES)


def with_packages(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """An environment of processes that find the packages of `folder` after their own: the rest of
    the path is first, and what both have is not taken from here."""
    python_path = environment.get("PYTHONPATH", "")
    site = next(place for place in sys.path if place.endswith("site-packages"))
    return {
        **environment,
        "PYTHONPATH": os.pathsep.join(filter(None, [python_path, site, str(folder)])),
    }
