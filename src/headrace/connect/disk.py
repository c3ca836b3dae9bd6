"""Files and folders that must outlive a power failure."""

from __future__ import annotations

import os
from pathlib import Path


def force_to_disk(path: Path) -> None:
    """Wait until the disk holds a file's content, or a folder's entries. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_text(path: Path, text: str) -> None:
    """Make a text the content of a file at once: whenever the process or the power ends, the file
    has its former content or this one. Raises OSError."""
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    force_to_disk(path.parent)
