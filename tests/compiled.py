"""Parts of kernels, compiled so that a test can call them by themselves."""

from __future__ import annotations

from typing import Any

from headrace.connect.kernels.functions import entry


def callable_part(part: Any) -> Any:
    """The `part` of kernels as a function that Python calls, with int64 arguments."""
    return entry(part.py_func)
