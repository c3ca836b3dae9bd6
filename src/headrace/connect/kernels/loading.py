"""Loads kernels before a stream needs them."""

from __future__ import annotations

from typing import Any

import numba

from headrace.connect.kernels.functions import OPTIONS
from headrace.connect.kernels.numba_internals import address_of_code


def load(kernel: Any) -> None:
    """Load a kernel whose arguments are all int64; compile it (seconds, the first time on a
    machine) if that was not done yet. Compiling holds the interpreter's lock: a thread that must
    answer a server has its kernels loaded before."""
    kernel.compile((numba.int64,) * kernel.py_func.__code__.co_argcount)


def address_of_kernel(kernel: Any) -> int:
    """The address of a kernel whose arguments are all int64 and which gives an int64, for
    `caller_of`; valid while the process lives. Loads the kernel."""
    load(kernel)
    return address_of_code(kernel, OPTIONS)
