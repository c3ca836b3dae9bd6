"""Files through which a source process reports to other processes of its user, on its host. Their
names end with its process id, and they are removed when it ends."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from headrace.connect.private_folders import make_private


def own_file(name: str, kind: str) -> Path | None:
    """Return the file `name` of this process, whose kind is its suffix; None if there is no folder
    for it. Files of killed processes are removed."""
    folder = _folder()
    if not make_private(folder):
        return None
    _remove_dead(folder)
    return folder / f"{name}-{os.getpid()}.{kind}"


def live_files(name: str, kind: str) -> Iterator[Path]:
    """Yield the files of this name and kind whose processes run."""
    return (path for path in _folder().glob(f"{name}-*.{kind}") if _is_alive(path))


def parent_of(pid: int) -> int | None:
    """Return the parent of a process; None if it cannot be found."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[1])


def ancestors() -> Iterator[int]:
    """Yield the ancestors of this process, the nearest first."""
    pid: int | None = os.getppid()
    while pid:
        yield pid
        pid = parent_of(pid)


def _folder() -> Path:
    return Path(tempfile.gettempdir()) / f"headrace-{os.geteuid()}" / "status"


def _remove_dead(folder: Path) -> None:
    """Remove the files of killed processes. Never raises: what cannot be removed stays, and others
    may remove files, and the folder, at the same time."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if not _is_alive(path):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)


def _is_alive(path: Path) -> bool:
    try:
        os.kill(int(path.stem.rpartition("-")[2]), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        pass
    return True
