"""The end of a query whose output nobody reads any more, as in `headrace run … | head`."""

from __future__ import annotations

from headrace.errors import HeadraceError

CLOSED = "console.closed"


def output_closed() -> HeadraceError:
    """The error that ends the query; the command line takes it for an orderly end."""
    return HeadraceError(
        CLOSED,
        "Nobody reads the output any more",
        "Read it to its end, or write to another sink.",
    )
