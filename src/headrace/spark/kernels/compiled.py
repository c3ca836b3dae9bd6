"""Registration of compiled kernels: a file for each, in Numba's cache, which names its files."""

from __future__ import annotations

import hashlib
import logging
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path

import numba
from llvmlite import binding

from headrace.connect.kernels.functions import entries
from headrace.connect.kernels.loading import load
from headrace.connect.kernels.numba_internals import files_of
from headrace.connect.kernels.other_packages import release_of
from headrace.connectors import registry as connectors
from headrace.spark.kernels.needed import SHARED, Kernels, listed
from headrace.spark.sinks.registry import built_in as own_sinks
from headrace.spark.sinks.registry import sinks

log = logging.getLogger(__name__)


def folder() -> Path:
    """Return the folder of compiled kernels, which need not exist."""
    return Path(numba.config.CACHE_DIR)


def _stamp(module: str, name: str) -> Path:
    """Return the file that says that a kernel is compiled; a kernel of another package has one for
    each release."""
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
    """Return the kernels that this installation has not compiled yet, or whose files were deleted.
    A process that is killed while it compiles leaves some."""
    return [kernel for kernel in listed(kernels) if not _is_compiled(*kernel)]


def _is_compiled(module: str, name: str) -> bool:
    """Return whether the stamp of a kernel is whole, and its files exist."""
    try:
        count, *files = _stamp(module, name).read_text("utf-8").splitlines()
        return count == _count(files) and all((folder() / file).is_file() for file in files)
    except (OSError, ValueError):
        return False


def _count(files: Sequence[str]) -> str:
    """Return the first line of a stamp."""
    return f"files {len(files)}"


def mark_compiled(module: str, name: str, files: Sequence[Path] = ()) -> None:
    """Note that this kernel is compiled, into these files; those outside of `folder()` do not
    count."""
    own = [str(file.relative_to(folder())) for file in files if file.is_relative_to(folder())]
    stamp = _stamp(module, name)
    stamp.parent.mkdir(parents=True, exist_ok=True)
    written = stamp.with_name(f"{stamp.name}.{os.getpid()}")
    written.write_text("".join(f"{line}\n" for line in (_count(own), *own)), "utf-8")
    written.replace(stamp)


@contextmanager
def _of_its_owner(module: str, name: str) -> Iterator[None]:
    """Log a failure of another package's kernel inside the block as a warning: its connector or
    sink need not be the one in use."""
    try:
        yield
    except Exception as error:
        owner = _other_owner(module, name)
        if owner is None:
            raise
        log.warning(
            "The kernel %s.%s of the %s cannot be used: %s: %s",
            module,
            name,
            owner,
            type(error).__name__,
            error,
        )


def _other_owner(module: str, name: str) -> str | None:
    """Return which connector or sink of another package declares the kernel; None for kernels that
    are headrace's own."""

    def declares(kernels: Kernels) -> bool:
        return name in kernels.get(module, ())

    own = (
        SHARED,
        *(connector.kernels for connector in connectors.built_in()),
        *(sink.kernels for sink in own_sinks()),
    )
    if any(map(declares, own)):
        return None
    for connector in connectors.definitions():
        if declares(connector.kernels):
            return f"connector {connector.name}"
    for sink in sinks():
        if declares(sink.kernels):
            return f"sink {sink.name}"
    release = release_of(module)
    return f"package {release}" if release else None


def load_kernel(module: str, name: str) -> None:
    """Load a kernel; compile it now if necessary."""
    with _of_its_owner(module, name):
        kernel = getattr(import_module(module), name)
        load(kernel)
        mark_compiled(module, name, files_of(kernel))


def load_compiled() -> None:
    """Load the kernels that are compiled and whose modules this process has: loaded kernels take
    memory, tens of megabytes for one that reads a log."""
    for kernel in tuple(entries):
        module, name = kernel.py_func.__module__, kernel.py_func.__name__
        if _is_compiled(module, name):
            with _of_its_owner(module, name) if release_of(module) else nullcontext():
                load(kernel)
