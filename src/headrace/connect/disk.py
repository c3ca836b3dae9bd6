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
