"""Garbage collection of a process that starts."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0
_was_enabled = True


@contextmanager
def collection_paused() -> Iterator[None]:
    """Python's garbage collection waits while modules and kernels are loaded, and leaves alone what
    is there when the last thread leaves: hundreds of thousands of objects that stay, and next to no
    garbage. To go over them takes an eighth of a start, and some of it again whenever all objects
    are looked at."""
    global _inside, _was_enabled
    with _lock:
        if not _inside:
            _was_enabled = gc.isenabled()
            gc.disable()
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                gc.freeze()
                if _was_enabled:
                    gc.enable()
