"""The per-user folder for things that are costly to make and safe to lose."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_folder(name: str) -> Path:
    """An existing, private folder `name` below the user's cache folder.

    `$HEADRACE_CACHE_DIR`, else `$XDG_CACHE_HOME/headrace`, else `~/.cache/headrace`; a fresh
    temporary folder when none of them can be written.
    """
    configured = os.environ.get("HEADRACE_CACHE_DIR")
    if configured:
        root = Path(configured)
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "headrace"
    folder = root / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="headrace-cache-"))
    if not os.access(folder, os.W_OK | os.X_OK):
        return Path(tempfile.mkdtemp(prefix="headrace-cache-"))
    return folder
