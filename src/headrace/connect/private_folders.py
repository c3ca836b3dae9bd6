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
    name begins with `prefix`. None if none of them is private, or another user owns one of its
    parents, and could put another folder in its place."""
    for place in (folder, folder.with_name(f"{folder.name}-{os.geteuid()}")):
        if make_private(place) and _has_own_parents(place):
            return place
    with suppress(OSError):  # a temporary folder may be missing
        temporary = Path(tempfile.gettempdir()) / f"{prefix}{os.geteuid()}"
        place = temporary / folder.name
        if make_private(temporary) and make_private(place) and _has_own_parents(place):
            return place
    return None


def _owners() -> set[int]:
    """Return the users whose files this one trusts: himself, and root, who may have another number
    in a container."""
    return {0, Path("/").stat().st_uid, os.geteuid()}


def _has_own_parents(folder: Path) -> bool:
    """Return whether only this user and root own the parents of `folder`, and links in its path."""
    try:
        parents = {*folder.absolute().parents, *folder.resolve().parents}
        return all(parent.lstat().st_uid in _owners() for parent in parents)
    except OSError:
        return False


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


def is_trusted(path: Path) -> bool:
    """Return whether nobody but root and this user can have written a file or folder. Raises
    OSError if it cannot be examined."""
    status = path.lstat()
    is_written_by_others = status.st_mode & 0o022 or status.st_uid not in _owners()
    return not (is_written_by_others or stat.S_ISLNK(status.st_mode)) and _has_own_parents(path)
