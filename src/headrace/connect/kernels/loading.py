"""Loads kernels before a stream needs them."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any

import numba

from headrace.connect.kernels.functions import OPTIONS
from headrace.connect.kernels.numba_internals import address_of_code

log = logging.getLogger(__name__)


def load(kernel: Any) -> None:
    """Load a kernel whose arguments are all int64; compile it (seconds, the first time on a
    machine) if that was not done yet. Compiling holds the interpreter's lock: a thread that must
    answer a server has its kernels loaded before. Damaged files of it are made again."""
    signature = (numba.int64,) * kernel.py_func.__code__.co_argcount
    try:
        kernel.compile(signature)
    except (EOFError, pickle.UnpicklingError):
        folder = Path(kernel.stats.cache_path)
        log.warning("compiled kernels in %s are damaged, and are compiled again", folder)
        for file in folder.glob(f"*.{kernel.py_func.__name__}-*.nb[ci]"):
            file.unlink(missing_ok=True)
        kernel.compile(signature)


def address_of_kernel(kernel: Any) -> int:
    """The address of a kernel whose arguments are all int64 and which gives an int64, for
    `caller_of`; valid while the process lives. Loads the kernel."""
    load(kernel)
    return address_of_code(kernel, OPTIONS)
