"""Spare files: files of committed parts, which the next parts overwrite.

Their memory and blocks are already allocated; allocating those of a new file costs more than the
copy into it. Only the file of a committed part becomes a spare: its task closed it before it
reported.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

_PREFIX = "spare-"


def take_spare(path: Path) -> bool:
    """Rename the largest spare file of the folder, if it has one, to this path; returns whether it
    has. Only this task then has the file, which still has its former content."""
    folder = path.parent
    with os.scandir(folder) as entries:
        spares = [(_size(entry), entry.name) for entry in entries if _is_spare(entry)]
    for _, name in sorted(spares, reverse=True):
        with contextlib.suppress(FileNotFoundError):  # another task has it
            (folder / name).rename(path)
            return True
    return False


def keep_spares(folder: Path, names: Iterable[str]) -> None:
    """Make these files the spare files, and delete all other spare files."""
    drop_spares(folder)
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            (folder / name).rename(folder / f"{_PREFIX}{secrets.token_hex(4)}")


def drop_spares(folder: Path) -> None:
    """Delete all spare files."""
    with os.scandir(folder) as entries:
        spares = [entry.path for entry in entries if _is_spare(entry)]
    for path in spares:
        Path(path).unlink(missing_ok=True)


def _is_spare(entry: os.DirEntry[str]) -> bool:
    """Whether a folder entry is a spare file; links and folders of such a name are foreign."""
    return entry.name.startswith(_PREFIX) and entry.is_file(follow_symlinks=False)


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except FileNotFoundError:
        return 0
