"""Loads kernels before a stream needs them."""

from __future__ import annotations

from typing import Any

import numba

from headrace.connect.kernels.functions import OPTIONS
from headrace.connect.kernels.numba_internals import address_of_code


def load(kernel: Any) -> None:
    """Load a kernel whose arguments are all int64; compile it if necessary (seconds, the first time
    on a machine). Compiling holds the interpreter's lock, so kernels are loaded before a thread
    must answer a server."""
    kernel.compile((numba.int64,) * kernel.py_func.__code__.co_argcount)


def address_of_kernel(kernel: Any) -> int:
    """Return the address of a kernel whose arguments and result are int64, for `caller_of`; valid
    while the process lives. Loads the kernel."""
    load(kernel)
    return address_of_code(kernel, OPTIONS)
