"""Errors of files in the sink's state folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import HeadraceError


def state_failed(folder: Path, error: OSError) -> HeadraceError:
    """Return the retriable error for a file in `folder` that cannot be read or written."""
    file = f": {error.filename}" if error.filename and error.filename != str(folder) else ""
    return HeadraceError(
        "replicas.state_not_writable",
        f"The folder {folder} of the sink's state cannot be used ({error.strerror or error}{file})",
        "Check the free space and the permissions, or name another folder.",
        retriable=True,
    )


@contextmanager
def using_state(folder: Path) -> Iterator[None]:
    """Translate errors of files in the sink's state folder. Raises
    HeadraceError("replicas.state_not_writable")."""
    try:
        yield
    except OSError as error:
        # Errors of connections, and Arrow's errors about contents, are no errors of files.
        if isinstance(error, ConnectionError | TimeoutError) or error.errno is None:
            raise
        raise state_failed(folder, error) from error
