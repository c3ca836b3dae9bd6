"""The atomic exchange of the names of two folders."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import tempfile
from pathlib import Path

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_NOT_POSSIBLE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV)


class NoExchange(Exception):
    """The system, or the file system, cannot exchange two folders."""


def exchange(folder: Path, other_folder: Path) -> None:
    """Exchange the names of two folders of one file system atomically, so that each name always
    stands for one of the two. Raises OSError and NoExchange."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        raise NoExchange("the system has no renameat2")
    paths = os.fsencode(folder), os.fsencode(other_folder)
    if rename(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], ctypes.c_uint(_RENAME_EXCHANGE)) == 0:
        return
    number = ctypes.get_errno()
    if number in _NOT_POSSIBLE:
        raise NoExchange(os.strerror(number))
    raise OSError(number, os.strerror(number), str(folder))


def can_exchange(folder: Path) -> bool:
    """Whether folders in this folder can exchange their names. Raises OSError."""
    probe = Path(tempfile.mkdtemp(dir=folder))
    try:
        first, second = probe / "one", probe / "other"
        first.mkdir()
        second.mkdir()
        exchange(first, second)
    except NoExchange:
        return False
    finally:
        shutil.rmtree(probe, ignore_errors=True)
    return True
