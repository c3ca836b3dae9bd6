"""Unix sockets for Spark's Python processes and its JVM, in a folder of this user alone."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from headrace.connect.private_folders import make_private

LONGEST = 61
"""The longest path of a folder, in characters, that leaves room for the name of a socket."""
_PREFIX = "s-"


@cache
def socket_folder() -> Path:
    """Return a folder of this process, which is removed when it ends. Folders of killed processes
    are removed."""
    for parent in (Path(tempfile.gettempdir()), Path("/tmp")):  # noqa: S108
        root = parent / f"headrace-{os.geteuid()}"
        if len(str(root)) + len(f"/{_PREFIX}12345678") <= LONGEST and make_private(root):
            with _locked(root / "lock"):
                _sweep(root)
                return _folder_in(root)
    return _folder_in(None)


def _folder_in(root: Path | None) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
    # The folder itself is locked, because programs that clean /tmp remove unused files.
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    atexit.register(_remove, folder, lock)
    return folder


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def _sweep(root: Path) -> None:
    """Remove the folders whose processes hold no lock any more."""
    for folder in root.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            lock = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
