"""Locks that let only one process at a time write a sink's files."""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from headrace.errors import HeadraceError

_LOG = logging.getLogger(__name__)


@contextmanager
def exclusive_lock(file: IO[Any], in_use: HeadraceError) -> Iterator[None]:
    """Lock an open file against other processes while the context is open. Raises `in_use` if one
    has the lock; a file system without locks excludes nobody."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise in_use from None
    except OSError as error:
        _LOG.debug("%s cannot be locked: %s", file.name, error)
    yield
