"""Folders from which code is loaded, and through which processes talk: nobody else writes there."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path


def private_folder(folder: Path, prefix: str) -> Path:
    """What `lasting_folder` gives, else a fresh temporary folder whose name begins with `prefix`.
    Raises OSError where no temporary folder can be made."""
    return lasting_folder(folder, prefix) or Path(tempfile.mkdtemp(prefix=prefix))


def lasting_folder(folder: Path, prefix: str) -> Path | None:
    """A private folder that other processes of this user find, too: `folder`, or one beside it with
    the number of this user, or one of that name in a temporary folder of this user, whose name
    begins with `prefix`. None if none of them is private."""
    for place in (folder, folder.with_name(f"{folder.name}-{os.geteuid()}")):
        if make_private(place):
            return place
    with suppress(OSError):  # there may be no temporary folder
        temporary = Path(tempfile.gettempdir()) / f"{prefix}{os.geteuid()}"
        if make_private(temporary) and make_private(temporary / folder.name):
            return temporary / folder.name
    return None


def make_private(folder: Path) -> bool:
    """Whether `folder` is there, is this user's own, and can be used. It is made with the folders
    that lead to it, and closed to everybody else, as are those that are made."""
    try:
        for place in (*reversed(folder.parents), folder):
            if not place.exists():
                place.mkdir(mode=0o700, exist_ok=True)
        # Who may replace the link chooses the folder.
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return False
        if status.st_mode & 0o077:
            folder.chmod(0o700)
        return os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        return False
