"""The per-user folders for files that are costly to make and may be deleted at any time."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import platformdirs

from headrace.connect.private_folders import is_trusted, lasting_folder, private_folder

log = logging.getLogger(__name__)

_CACHES, _KERNELS = "headrace-cache-", "headrace-kernels-"


def cache_folder(name: str) -> Path:
    """Return an existing, private folder `name` below the user's cache folder.

    The cache folder is `$HEADRACE_CACHE_DIR`, else the system's (`$XDG_CACHE_HOME/headrace` or
    `~/.cache/headrace` on Linux). In a cache that users share, the folder's name has the user's
    number. If none of them can be used, it is a new temporary folder. Raises OSError if no
    temporary folder can be made, either.
    """
    return private_folder(_root() / name, _CACHES)


def kernel_folder(digest: str) -> Path:
    """Return the folder of compiled kernels whose sources have that `digest`: an existing, private
    one in `$NUMBA_CACHE_DIR`, else in `kernels` of the user's cache folder, as in `cache_folder`.
    If it is a new temporary one, `$NUMBA_CACHE_DIR` is set to it, so that child processes use it,
    too. The kernels of a folder that cannot be written, as in an image with a read-only file
    system, are copied. Raises OSError as `cache_folder` does."""
    global _replaced
    configured = os.environ.get("NUMBA_CACHE_DIR")
    kernels = (Path(configured) if configured else _root() / "kernels").absolute()
    existing = (_replaced or kernels) / digest
    folder = lasting_folder(kernels / digest, _KERNELS if configured else _CACHES)
    if folder is None:
        fresh = Path(tempfile.mkdtemp(prefix=_KERNELS))
        log.warning(
            "kernels cannot be kept: neither %s nor a folder in %s is this user's own; they are "
            "compiled into %s, for this process and those that it starts",
            kernels,
            fresh.parent,
            fresh,
        )
        os.environ["NUMBA_CACHE_DIR"] = str(fresh)
        _replaced = kernels
        folder = fresh / digest
        folder.mkdir(mode=0o700)
    if folder != existing:
        _copy_kernels(existing, folder)
    return folder


_replaced: Path | None = None
"""The folder of all kernels, where a new temporary one took its place."""


def _copy_kernels(source: Path, target: Path) -> None:
    """Copy compiled kernels into an empty folder, as a whole or not at all. Files that somebody
    else than root and this user may have written are left out, and those that cannot be read."""
    copy = None
    try:
        if any(target.iterdir()) or not source.is_dir():
            return
        if not is_trusted(source):
            log.warning("kernels in %s are not used: other users may have written them", source)
            return
        copy = Path(tempfile.mkdtemp(prefix=f".{source.name}-", dir=target.parent))
        for file in source.glob("*/*"):
            with suppress(OSError):
                if is_trusted(file.parent) and is_trusted(file):
                    (copy / file.parent.name).mkdir(mode=0o700, exist_ok=True)
                    shutil.copyfile(file, copy / file.parent.name / file.name)
        copy.rename(target)
    except OSError as error:  # what is missing is compiled
        log.debug("kernels of %s were not copied: %s", source, error)
        if copy is not None:
            shutil.rmtree(copy, ignore_errors=True)


def _root() -> Path:
    if configured := os.environ.get("HEADRACE_CACHE_DIR"):
        return Path(configured)
    try:
        return platformdirs.user_cache_path("headrace")
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir()) / f"{_CACHES}{os.geteuid()}"
