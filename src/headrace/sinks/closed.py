"""The end of a query whose output is no longer read, as in `headrace run … | head`."""

from __future__ import annotations

import io
import select
from typing import IO, Any

from headrace.errors import HeadraceError

CLOSED = "console.closed"


def output_closed() -> HeadraceError:
    """The error that ends the query; the command line treats it as a regular end."""
    return HeadraceError(
        CLOSED,
        "The reader of the output has closed it",
        "Read it to its end, or write to another sink.",
    )


def is_unread(stream: IO[Any] | None) -> bool:
    """Whether `stream` is a pipe, socket or terminal whose other end is closed, or is itself closed
    (None)."""
    if stream is None:
        return True
    try:
        output = stream.fileno()
    except io.UnsupportedOperation:
        return False
    poll = select.poll()
    poll.register(output, 0)  # errors and hang-ups are always reported
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))
