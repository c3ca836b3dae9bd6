"""The per-user folder for things that are costly to make and safe to lose."""

from __future__ import annotations

import os
from pathlib import Path

from headrace.connect.private_folders import private_folder


def cache_folder(name: str) -> Path:
    """An existing, private folder `name` below the user's cache folder.

    `$HEADRACE_CACHE_DIR`, else `$XDG_CACHE_HOME/headrace`, else `~/.cache/headrace`; in a cache
    that users share, a folder with the user's number; a fresh temporary one when none of them can
    be used.
    """
    configured = os.environ.get("HEADRACE_CACHE_DIR")
    if configured:
        root = Path(configured)
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "headrace"
    return private_folder(root / name, "headrace-cache-")
