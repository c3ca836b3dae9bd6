"""Checksums as `sha256sum --check` reads them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

NAME = "SHA256SUMS"


def write_checksums(folder: Path) -> Path:
    """The file with the checksums of all other files of a folder."""
    lines = (
        f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
        if path.name != NAME
    )
    target = folder / NAME
    target.write_text("".join(lines))
    return target
