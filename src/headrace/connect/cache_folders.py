"""The per-user folders for things that are costly to make and safe to lose."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from headrace.connect.private_folders import private_folder


def cache_folder(name: str) -> Path:
    """An existing, private folder `name` below the user's cache folder.

    `$HEADRACE_CACHE_DIR`, else the system's cache folder (`$XDG_CACHE_HOME/headrace` or
    `~/.cache/headrace` on Linux); in a cache that users share, a folder with the user's number; a
    fresh temporary one when none of them can be used.
    """
    configured = os.environ.get("HEADRACE_CACHE_DIR")
    root = Path(configured) if configured else platformdirs.user_cache_path("headrace")
    return private_folder(root / name, "headrace-cache-")


def kernel_folder(digest: str) -> Path:
    """The folder of compiled kernels whose sources have that `digest`: an existing, private one in
    `$NUMBA_CACHE_DIR`, else in `kernels` of the user's cache folder, as in `cache_folder`."""
    configured = os.environ.get("NUMBA_CACHE_DIR")
    if configured:
        return private_folder(Path(configured) / digest, "headrace-kernels-")
    return cache_folder(f"kernels/{digest}")
