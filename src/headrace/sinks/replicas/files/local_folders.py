"""Checks of local folders for tables."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from headrace.errors import HeadraceError


def prove_folder(folder: str) -> str:
    """Check that a file can be written to a folder, read and deleted; returns a message. A missing
    folder is created for it and removed afterwards. Raises
    HeadraceError("replicas.storage_failed")."""
    place, content = Path(folder), b"headrace check"
    missing = [parent for parent in (place, *place.parents) if not parent.exists()]
    try:
        with ExitStack() as undo:
            for parent in reversed(missing):
                parent.mkdir()
                undo.callback(parent.rmdir)
            with tempfile.NamedTemporaryFile(dir=place, prefix="headrace-check-") as file:
                file.write(content)
                file.flush()
                Path(file.name).read_bytes()
    except OSError as error:
        raise folder_failed(folder, error) from None
    return f"The folder {folder} takes files, which can be read and deleted"


def folder_failed(folder: str, error: OSError, *, retriable: bool = False) -> HeadraceError:
    """Return the error for a folder that cannot be created or written."""
    return HeadraceError(
        "replicas.storage_failed",
        f"The folder {folder} of the tables cannot be used: {error.strerror or error}",
        "Check the permissions and the free space, or name another folder.",
        retriable=retriable,
    )
