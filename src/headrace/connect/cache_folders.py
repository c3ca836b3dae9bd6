"""The per-user folders for things that are costly to make and safe to lose."""

from __future__ import annotations

import logging
import os
import tempfile
from pathlib import Path

import platformdirs

from headrace.connect.private_folders import lasting_folder, private_folder

log = logging.getLogger(__name__)

_CACHES, _KERNELS = "headrace-cache-", "headrace-kernels-"


def cache_folder(name: str) -> Path:
    """An existing, private folder `name` below the user's cache folder.

    `$HEADRACE_CACHE_DIR`, else the system's cache folder (`$XDG_CACHE_HOME/headrace` or
    `~/.cache/headrace` on Linux); in a cache that users share, a folder with the user's number; a
    fresh temporary one when none of them can be used. Raises OSError where there is no temporary
    folder either.
    """
    return private_folder(_root() / name, _CACHES)


def kernel_folder(digest: str) -> Path:
    """The folder of compiled kernels whose sources have that `digest`: an existing, private one in
    `$NUMBA_CACHE_DIR`, else in `kernels` of the user's cache folder, as in `cache_folder`. If it is
    a fresh one, `$NUMBA_CACHE_DIR` names it from then on, so that the processes that this one
    starts use it, too. Raises OSError as `cache_folder` does."""
    configured = os.environ.get("NUMBA_CACHE_DIR")
    kernels = Path(configured) if configured else _root() / "kernels"
    folder = lasting_folder(kernels / digest, _KERNELS if configured else _CACHES)
    if folder is not None:
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
    return fresh / digest


def _root() -> Path:
    if configured := os.environ.get("HEADRACE_CACHE_DIR"):
        return Path(configured)
    try:
        return platformdirs.user_cache_path("headrace")
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir()) / f"{_CACHES}{os.geteuid()}"
