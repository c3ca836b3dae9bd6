"""The kernels that Python calls: compiled once per installation (about four minutes
of CPU time), loaded ever after."""

from __future__ import annotations

import fcntl
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TextIO

import numba
from llvmlite import binding

import headrace.connect.kernels.functions  # noqa: F401 - names the folder of compiled kernels
from headrace.connect.deadline import Deadline
from headrace.connect.kernels.loading import load
from headrace.connectors.registry import definitions, has_driver, left_out

KERNELS: Mapping[str, Sequence[str]] = {
    "headrace.connect.evaluation.comparing": ("_same_cells",),
    "headrace.connect.evaluation.gathering": (
        "_gather",
        "_gather_one",
        "_copy_bytes",
        "_copy_fixed",
    ),
    "headrace.connect.evaluation.json_objects": ("find_members", "add_members"),
    "headrace.connect.evaluation.units": ("_count_units", "_shorten"),
    "headrace.connect.evaluation.zoned_texts": ("_read", "_write"),
    "headrace.streaming.counts": ("count_rows", "endings_size", "write_endings"),
    "headrace.streaming.changes.key_hashes": ("_hash_rows",),
    "headrace.converters.kernel": ("emit", "emit_headers"),
    "headrace.converters.json.kernel": ("run_json",),
    "headrace.converters.patches": ("_insert",),
    "headrace.converters.plain.kernel": ("run_plain",),
    "headrace.converters.reading.envelope_kernel": ("open_envelopes", "schema_hash"),
    "headrace.converters.reading.images_kernel": ("read_images",),
    "headrace.converters.typed.variant_kernel": (
        "put_fixed",
        "put_lists",
        "put_objects",
        "put_texts",
    ),
    "headrace.documents.columns.indenting": ("_indent_column",),
    "headrace.documents.parsing.document_kernel": ("parse_texts",),
    "headrace.documents.scalars": ("put_decimal128",),
    "headrace.documents.split_kernel": ("split_values", "scatter_leaves"),
    "headrace.documents.target_schema.kernel": (
        "convert",
        "find_elements",
        "find_fields",
        "open_values",
    ),
    "headrace.kafka.message_kernel": ("produce_rows",),
    "headrace.relational.row_lookup": ("_mark_lacking",),
    "headrace.sinks.file.lines": ("_write_lines",),
    "headrace.sinks.file.merge": ("_gather",),
    "headrace.spool.extract": ("_gather", "_gather_transactions", "relocate_entries"),
    "headrace.streaming.changes.row_kernel": ("open_transaction",),
    "headrace.streaming.changes.transaction_kernel": ("add_end",),
    "headrace.transforms.debezium.java_hashes": ("_hash_texts",),
}
"""Those that connectors share, by module; a connector's own are in its definition. All arguments
are int64; what these kernels call is compiled into them."""


def all_kernels() -> dict[str, tuple[str, ...]]:
    """Those that connectors share, and those of the connectors whose driver is installed."""
    kernels = {module: tuple(names) for module, names in KERNELS.items()}
    for definition in filter(has_driver, definitions()):
        for module, names in definition.kernels.items():
            listed = kernels.get(module, ())
            kernels[module] = (*listed, *(name for name in names if name not in listed))
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


_LONGEST_S = 900
"""Longer than any machine compiles."""

COMPILE = (
    "from headrace.spark.kernels import load_kernels, print_progress; load_kernels(print_progress)"
)
"""What a process of its own runs that compiles the kernels for the others. It prints how far it is,
two numbers a line: kernels that are compiled, and all."""


def print_progress(done: int, total: int) -> None:
    """A line for who started this process; when nobody reads it any more, the process ends."""
    try:
        sys.stdout.write(f"{done} {total}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(1)


@contextmanager
def _compiler() -> Iterator[None]:
    """Lets one process compile at a time: those that start beside it wait, and load what it made.
    They compile for themselves where a file system has no locks, and where the other one takes
    longer than a compilation does."""
    folder = Path(numba.config.CACHE_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    deadline = Deadline(_LONGEST_S)
    with (folder / "compiling.lock").open("a") as lock:  # released when it is closed
        while not _locks(lock) and not deadline.is_over:
            time.sleep(0.1)
        yield


def _locks(lock: TextIO) -> bool:
    """Whether nobody else has the lock."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def load_kernels(report: Callable[[int, int], None] = lambda _done, _total: None) -> None:
    """Load the kernels of the modules that this process has, or compile all when that was not done
    yet. One of another package that cannot be is a warning: its connector need not be the one in
    use. `report` gets the number of kernels that are there, and of all."""
    with nullcontext() if kernels_are_compiled() else _compiler():
        _load_kernels(report)


def _load_kernels(report: Callable[[int, int], None]) -> None:
    is_compiled = kernels_are_compiled()
    owners = {
        (module, name): definition
        for definition in reversed(definitions())
        for module, names in definition.kernels.items()
        for name in names
    }
    listed = all_kernels()
    done, total = 0, sum(map(len, listed.values()))
    for module, names in listed.items():
        # Loaded kernels take memory: tens of megabytes for one that reads a log.
        if is_compiled and module not in sys.modules:
            continue
        for name in names:
            owner = None if name in KERNELS.get(module, ()) else owners.get((module, name))
            with nullcontext() if owner is None else left_out(f"The kernel {module}.{name}", owner):
                load(getattr(import_module(module), name))
            done += 1
            report(done, total)
    stamp = _stamp()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.touch()
