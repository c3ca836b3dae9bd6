"""The kernels that Python calls: compiled once per installation (a minute), loaded ever after."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

import numba
from llvmlite import binding

import headrace.connect.kernels.memory  # noqa: F401 - names the folder of compiled kernels
from headrace.connectors.registry import definitions, has_driver

KERNELS: Mapping[str, Sequence[str]] = {
    "headrace.streaming.counts": ("count_rows", "endings_size", "write_endings"),
    "headrace.streaming.changes.key_hashes": ("_hash_rows",),
    "headrace.converters.kernel": ("emit", "emit_one"),
    "headrace.converters.patches": ("_insert",),
    "headrace.relational.row_lookup": ("_mark_lacking",),
    "headrace.sinks.file.lines": ("_write_lines",),
    "headrace.sinks.file.merge": ("_gather",),
    "headrace.spool.extract": ("_gather", "_gather_transactions"),
    "headrace.streaming.changes.row_kernel": ("open_transaction",),
}
"""Those that connectors share, by module; a connector's own are in its definition. All arguments
are int64; what these kernels call is compiled into them."""


def all_kernels() -> dict[str, Sequence[str]]:
    """Those that connectors share, and those of the connectors whose driver is installed."""
    kernels = dict(KERNELS)
    for definition in filter(has_driver, definitions()):
        kernels |= definition.kernels
    return kernels


def _stamp() -> Path:
    """Is there when all kernels are: a process that is killed leaves some of them."""
    connectors = sorted(definition.name for definition in filter(has_driver, definitions()))
    made_for = (
        platform.python_version(),
        numba.__version__,
        binding.get_host_cpu_name(),
        *connectors,
    )
    return Path(numba.config.CACHE_DIR) / "-".join(("compiled", *made_for))


def kernels_are_compiled() -> bool:
    """Whether this installation compiled all kernels before."""
    return _stamp().exists()


def load_kernels() -> None:
    """Load every kernel, and compile those that are not compiled yet."""
    for module, names in all_kernels().items():
        for name in names:
            kernel = getattr(import_module(module), name)
            kernel.compile((numba.int64,) * kernel.py_func.__code__.co_argcount)
    stamp = _stamp()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.touch()
