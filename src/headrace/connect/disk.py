"""Files and folders that must survive a power failure."""

from __future__ import annotations

import os
from pathlib import Path


def force_to_disk(path: Path) -> None:
    """Sync a file's content, or a folder's entries, to the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_text(path: Path, text: str) -> None:
    """Replace the content of a file atomically: whenever the process or the power ends, the file
    has its former content or this one. Raises OSError."""
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    force_to_disk(path.parent)
