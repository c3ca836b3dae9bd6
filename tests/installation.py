"""An environment that holds what `pip install headrace` brings, built from the sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Set
from importlib.metadata import Distribution, distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.utils import NormalizedName, canonicalize_name

import headrace
from release.components import required

ROOT = Path(headrace.__file__).parents[2]
DEMO = ROOT / "demo"
_BUILT_FROM = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "src")
_VERSION = Path("src/headrace/version.py")
"""The file with the version of both distributions."""


def copied_sources(folder: Path, checkout: Path = ROOT) -> Path:
    """Copies the sources that are built into `folder`; `checkout` is its folder of a distribution,
    which is `DEMO` for headrace-demo."""
    sources = folder / "sources"
    sources.mkdir(parents=True)
    for name in _BUILT_FROM:
        if not (checkout / name).exists():
            continue
        if (checkout / name).is_dir():
            leave = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(checkout / name, sources / name, ignore=leave)
        else:
            shutil.copy(checkout / name, sources)
    if checkout != ROOT:  # it lies in a checkout of headrace
        (folder / _VERSION).parent.mkdir(parents=True)
        shutil.copy(ROOT / _VERSION, folder / _VERSION)
    return sources


def build_wheel(sources: Path, folder: Path) -> Path:
    """The wheel of `sources`, a folder or an sdist, built in `folder` by the setuptools that runs
    the tests."""
    without_index = ("--no-build-isolation", "--check-build-dependencies", "--no-deps")
    pip("wheel", *without_index, "--wheel-dir", folder, sources)
    (wheel,) = folder.glob("*.whl")
    return wheel


def build_sdist(sources: Path, folder: Path) -> Path:
    """The sdist of the folder `sources`, built in `folder` by the same setuptools."""
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    run = subprocess.run(
        [sys.executable, "-c", build], cwd=sources, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    (sdist,) = folder.glob("*.tar.gz")
    return sdist


def files_of(wheel: Path) -> set[str]:
    """The paths of the packages' files in `wheel`, without its metadata."""
    with ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def contents_of(wheel: Path) -> dict[str, bytes]:
    """The content of `wheel`, by path, its metadata included."""
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def files_of_sdist(sdist: Path) -> set[str]:
    """The paths of the files in `sdist`, below its only folder."""
    with tarfile.open(sdist) as archive:
        files = [member.name for member in archive.getmembers() if member.isfile()]
    assert len({name.partition("/")[0] for name in files}) == 1
    return {name.partition("/")[2] for name in files}


class Installation:
    """A fresh virtual environment in `folder` with `wheel`, and with nothing else but the
    distributions that it requires without any extra: those that run the tests, by links."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self._folder = folder
        environment = folder / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        self._programs = environment / "bin"
        self.python = self._programs / "python"
        pip("--python", self.python, "install", "--no-deps", "--no-compile", wheel)
        (self.packages,) = environment.glob("lib/python*/site-packages")
        self._link_required(frozenset())

    def add(self, extra: str, wheels: Path) -> None:
        """Install headrace with `extra`, whose distributions are there by links but for those that
        the folder `wheels` has."""
        wheel_names = {name.name.partition("-")[0] for name in wheels.glob("*.whl")}
        self._link_required(frozenset([extra]), {name.replace("_", "-") for name in wheel_names})
        folder = ("--no-compile", "--find-links", wheels)
        pip("--python", self.python, "install", *folder, f"headrace[{extra}]")

    def _link_required(self, extras: frozenset[str], but: Set[str] = frozenset()) -> None:
        (metadata,) = self.packages.glob("headrace-*.dist-info")
        resolved: dict[NormalizedName, Distribution | None] = dict.fromkeys(
            map(canonicalize_name, but)
        )
        for needed in _required(Distribution.at(metadata), resolved, extras):
            _link(needed, self.packages)

    def run(
        self, program: str, *arguments: str, has_caches: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Runs `program` of the environment. Its caches are its own, and empty at first, or those
        of the tests (`has_caches`)."""
        environment = {
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("PYTHON", "HEADRACE_", "NUMBA_"))
        }
        if has_caches:
            cache_variables = ("HEADRACE_CACHE_DIR", "NUMBA_CACHE_DIR")
            environment |= {
                name: os.environ[name] for name in cache_variables if name in os.environ
            }
        else:
            environment["XDG_CACHE_HOME"] = str(self._folder / "cache")
        return subprocess.run(
            [self._programs / program, *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=self._folder,
            env=environment,
        )


def pip(*arguments: str | Path) -> None:
    """Run pip with what this machine has; no index is asked."""
    run = pip_run(*arguments)
    assert run.returncode == 0, run.stdout + run.stderr


def pip_run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs pip with the packages of this machine, without an index."""
    command = [sys.executable, "-m", "pip", "--no-input", "-q", *map(str, arguments)]
    # Neither an index nor a folder of packages is looked into.
    environment = os.environ | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    environment.pop("PYTHONPATH", None)  # what it has would be taken for installed
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def linked_requirements(extras: frozenset[str]) -> Iterator[Distribution]:
    """The requirements of the headrace that runs the tests, with these extras."""
    yield from _required(distribution("headrace"), {}, extras)


def _required(
    installed: Distribution,
    resolved: dict[NormalizedName, Distribution | None],
    extras: frozenset[str] = frozenset(),
) -> Iterator[Distribution]:
    """The distributions that `installed` needs, and those that these need, each once."""
    for requirement in required(installed.requires or (), extras):
        name = canonicalize_name(requirement.name)
        if name == canonicalize_name(installed.name):  # an extra that has others
            yield from _required(installed, resolved, frozenset(requirement.extras))
        if name in resolved or name == canonicalize_name(installed.name):
            continue
        resolved[name] = needed = distribution(requirement.name)
        yield needed
        yield from _required(needed, resolved, frozenset(requirement.extras))


def _link(installed: Distribution, folder: Path) -> None:
    for name in {file.parts[0] for file in installed.files or ()} - {"..", "__pycache__"}:
        source = Path(str(installed.locate_file(name)))
        if not (folder / name).exists():
            (folder / name).symlink_to(source)
