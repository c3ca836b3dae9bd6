"""Folders for code that is loaded, and for communication of processes: only their owner can write
to them."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path


def private_folder(folder: Path, prefix: str) -> Path:
    """Return the `lasting_folder`, or a new temporary folder whose name begins with `prefix`.
    Raises OSError if no temporary folder can be made."""
    return lasting_folder(folder, prefix) or Path(tempfile.mkdtemp(prefix=prefix))


def lasting_folder(folder: Path, prefix: str) -> Path | None:
    """Return a private folder that other processes of this user find, too: `folder`, or one beside
    it with the number of this user, or one of that name in a temporary folder of this user, whose
    name begins with `prefix`. None if none of them is private."""
    for place in (folder, folder.with_name(f"{folder.name}-{os.geteuid()}")):
        if make_private(place):
            return place
    with suppress(OSError):  # a temporary folder may be missing
        temporary = Path(tempfile.gettempdir()) / f"{prefix}{os.geteuid()}"
        if make_private(temporary) and make_private(temporary / folder.name):
            return temporary / folder.name
    return None


def make_private(folder: Path) -> bool:
    """Create `folder` and missing parents, closed to other users; return whether it belongs to this
    user and can be used. An existing folder is closed to other users, too."""
    try:
        for place in (*reversed(folder.parents), folder):
            if not place.exists():
                place.mkdir(mode=0o700, exist_ok=True)
        # lstat, because the owner of a link chooses its folder.
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return False
        if status.st_mode & 0o077:
            folder.chmod(0o700)
        return os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        return False


def is_trusted(folder: Path) -> bool:
    """Return whether nobody but root and this user can have written the files of `folder`. Raises
    OSError if it cannot be examined."""
    for path in (folder, *folder.iterdir()):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode) or status.st_uid not in (0, os.geteuid()):
            return False
        if status.st_mode & 0o022:
            return False
    return True
