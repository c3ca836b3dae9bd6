"""Registration of compiled kernels: an empty file for each, in Numba's cache."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path

import numba
from llvmlite import binding

from headrace.connect.kernels.functions import entries
from headrace.connect.kernels.loading import load
from headrace.connect.kernels.other_packages import release_of
from headrace.connectors.registry import definitions, warns_of_errors
from headrace.spark.kernels.needed import SHARED, Kernels, listed


def folder() -> Path:
    """Return the folder of compiled kernels, which need not exist."""
    return Path(numba.config.CACHE_DIR)


def _stamp(module: str, name: str) -> Path:
    """Return the empty file of a kernel; a kernel of another package has a file for each
    release."""
    release = release_of(module)
    suffix = f"-{hashlib.sha256(release.encode()).hexdigest()[:8]}" if release else ""
    return folder() / _made_for() / f"{module}.{name}{suffix}"


@cache
def _made_for() -> str:
    """Return the name of a folder for this machine: machine code of another Python, Numba or
    processor is not usable. Virtual machines on one processor may have different features."""
    processor = numba.config.CPU_NAME or binding.get_host_cpu_name()
    features = numba.config.CPU_FEATURES
    if features is None:
        features = binding.get_host_cpu_features().flatten()
    digest = hashlib.sha256(features.encode()).hexdigest()[:8]
    return "-".join(("compiled", platform.python_version(), numba.__version__, processor, digest))


def missing_kernels(kernels: Kernels) -> list[tuple[str, str]]:
    """Return the kernels that this installation has not compiled yet. A process that is killed
    while it compiles leaves some."""
    return [kernel for kernel in listed(kernels) if not _stamp(*kernel).exists()]


def mark_compiled(module: str, name: str) -> None:
    """Note that this kernel is compiled."""
    stamp = _stamp(module, name)
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.touch()


@contextmanager
def _of_its_owner(module: str, name: str) -> Iterator[None]:
    """Log a failure of another package's kernel inside the block as a warning: its connector need
    not be the one in use."""
    owner = None
    if name not in SHARED.get(module, ()):
        owners = (each for each in definitions() if name in each.kernels.get(module, ()))
        owner = next(owners, None)
    part = f"The kernel {module}.{name}"
    with nullcontext() if owner is None else warns_of_errors(part, owner):
        yield


def load_kernel(module: str, name: str) -> None:
    """Load a kernel; compile it now if necessary."""
    with _of_its_owner(module, name):
        load(getattr(import_module(module), name))
        mark_compiled(module, name)


def load_compiled() -> None:
    """Load the kernels that are compiled and whose modules this process has: loaded kernels take
    memory, tens of megabytes for one that reads a log."""
    for kernel in tuple(entries):
        module, name = kernel.py_func.__module__, kernel.py_func.__name__
        if _stamp(module, name).exists():
            with _of_its_owner(module, name) if release_of(module) else nullcontext():
                load(kernel)
