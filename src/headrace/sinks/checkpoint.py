"""Which query a checkpoint folder belongs to."""

from __future__ import annotations

import json
from pathlib import Path


def query_of(checkpoint: str) -> str:
    """The id of the query that writes its checkpoint to this folder, a path or a `file:` URI;
    empty when that is not to be read here."""
    path = local_path(checkpoint)
    try:
        return str(json.loads((Path(path) / "metadata").read_text())["id"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def local_path(folder: str) -> str:
    """A path, or that of a `file:` URI; another URI stays as it is."""
    return folder.removeprefix("file://").removeprefix("file:")
