"""Errors of an event log that several of its modules raise."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from headrace.errors import HeadraceError


def not_writable(error: OSError) -> HeadraceError:
    """The retriable error of a log or a state folder that cannot be written."""
    return HeadraceError(
        "event_log.not_writable",
        f"The event-log sink cannot write {error.filename or 'its log'} "
        f"({error.strerror or error})",
        "Check the free space and the permissions of the log and its state folder.",
        retriable=True,
    )


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Translate an OSError of writing. Raises HeadraceError("event_log.not_writable")."""
    try:
        yield
    except OSError as error:
        raise not_writable(error) from error
