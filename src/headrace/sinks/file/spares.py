"""Spare files: those of parts that are in the output, which the next parts are written into.

The memory and the blocks of such a file are there already; those of a new one cost more than the
copy into them. Only the file of a committed part becomes one: its task closed it before it
answered.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

_PREFIX = "spare-"


def take_spare(path: Path) -> bool:
    """Give the largest spare file of its folder, if there is one, this name: it is then this
    task's alone, and has what was written before."""
    folder = path.parent
    with os.scandir(folder) as entries:
        spares = [(_size(entry), entry.name) for entry in entries if _is_spare(entry)]
    for _, name in sorted(spares, reverse=True):
        with contextlib.suppress(FileNotFoundError):  # another task has it
            (folder / name).rename(path)
            return True
    return False


def keep_spares(folder: Path, names: Iterable[str]) -> None:
    """These files become the spare ones, and all others are deleted."""
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
    """Links and folders of such a name are somebody else's."""
    return entry.name.startswith(_PREFIX) and entry.is_file(follow_symlinks=False)


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except FileNotFoundError:
        return 0
