"""Kernels of another package are compiled again for each of its releases."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.connect.kernels import other_packages
from headrace.connectors.definition import GROUP as CONNECTORS
from headrace.spark.sinks.definition import GROUP as SINKS
from headrace.transforms.registry import GROUP as TRANSFORMS

_KERNEL = """
from headrace.connect.kernels.functions import entry
from other.parts import factor

@entry
def scale(number):
    return number * factor()
"""
_PART = """
from headrace.connect.kernels.functions import part

@part
def factor():
    return {}
"""
_SCRIPT = """
from headrace.spark.kernels import compiled
kernels = {"other.kernel": ("scale",)}
missing = len(compiled.missing_kernels(kernels))
compiled.load_kernel("other.kernel", "scale")
from other.kernel import scale
print(missing, scale(10), len(compiled.missing_kernels(kernels)))
"""
_WITHOUT_PRIVATE_NAMES = (
    "import numba.core.caching as caching; del caching._SourceFileBackedLocatorMixin\n"
)


def install(folder: Path, version: str, factor: int) -> None:
    """A release of another package whose kernel multiplies by a factor."""
    package, information = folder / "other", folder / "other.dist-info"
    for each in (package, information):
        each.mkdir(exist_ok=True)
    (package / "__init__.py").touch()
    (package / "kernel.py").write_text(_KERNEL)
    (package / "parts.py").write_text(_PART.format(factor))
    (information / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: other-connector\nVersion: {version}\n"
    )
    (information / "entry_points.txt").write_text(
        "[headrace.connectors]\nother = other.definition:DEFINITION\n"
    )


@pytest.mark.parametrize("change", ["", _WITHOUT_PRIVATE_NAMES], ids=["shared", "by paths"])
def test_an_update_of_another_package_compiles_its_kernels_again(
    tmp_path: Path, change: str
) -> None:
    def run() -> str:
        environment = os.environ | {
            "NUMBA_CACHE_DIR": str(tmp_path / "kernels"),
            "PYTHONPATH": os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", ""))),
            "PYTHONDONTWRITEBYTECODE": "1",  # releases follow one another within a second here
        }
        completed = subprocess.run(
            [sys.executable, "-c", change + _SCRIPT],
            env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert completed.returncode == 0, completed.stderr
        return completed.stdout

    install(tmp_path, "1.0", factor=2)
    assert run() == "1 20 0\n"
    assert run() == "0 20 0\n"
    install(tmp_path, "1.1", factor=3)
    assert run() == "1 30 0\n"


def test_the_groups_of_entry_points_are_those_of_connectors_sinks_and_transforms() -> None:
    assert sorted(other_packages.GROUPS) == sorted((CONNECTORS, SINKS, TRANSFORMS))


def test_headrace_itself_is_no_other_package() -> None:
    assert other_packages.release_of("headrace.spool.extract") == ""
    assert "headrace" not in other_packages.releases()
