"""The per-user folders for files that are costly to make and may be deleted at any time."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
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
    configured = os.environ.get("NUMBA_CACHE_DIR")
    kernels = Path(configured) if configured else _root() / "kernels"
    folder = lasting_folder(kernels / digest, _KERNELS if configured else _CACHES)
    if folder is not None:
        if folder != kernels / digest:
            _copy_kernels(kernels / digest, folder)
        return folder
    fresh = Path(tempfile.mkdtemp(prefix=_KERNELS))
    log.warning(
        "kernels cannot be kept: neither %s nor a folder in %s is this user's own; they are "
        "compiled into %s, for this process and those that it starts",
        kernels,
        fresh.parent,
        fresh,
    )
    os.environ["NUMBA_CACHE_DIR"] = str(fresh)
    (fresh / digest).mkdir(mode=0o700)
    _copy_kernels(kernels / digest, fresh / digest)
    return fresh / digest


def _copy_kernels(source: Path, target: Path) -> None:
    """Copy compiled kernels into a folder that has none, unless somebody else than root and this
    user may have written them. The files that say which kernels are compiled come last."""
    try:
        if any(target.iterdir()) or not is_trusted(source):
            return
        folders = [each for each in source.iterdir() if each.is_dir() and is_trusted(each)]
        for folder in sorted(folders, key=lambda folder: folder.name.startswith("compiled-")):
            copy = target / folder.name
            copy.mkdir(mode=0o700)
            for file in folder.iterdir():
                written = copy / f"{file.name}.copy"
                shutil.copyfile(file, written)
                written.replace(copy / file.name)
    except OSError as error:  # what is missing is compiled
        log.debug("kernels of %s were not copied: %s", source, error)


def _root() -> Path:
    if configured := os.environ.get("HEADRACE_CACHE_DIR"):
        return Path(configured)
    try:
        return platformdirs.user_cache_path("headrace")
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir()) / f"{_CACHES}{os.geteuid()}"
