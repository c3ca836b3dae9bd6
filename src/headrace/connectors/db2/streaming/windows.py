"""Windows: the ranges of commits in which change tables are read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from headrace.connectors.db2 import sql
from headrace.connectors.db2.catalog.catalog import Catalog
from headrace.connectors.db2.catalog.registrations import Registration
from headrace.connectors.db2.clock import Clock, clock_of, server_time_us
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.lsn import format_lsn, lsn_of, place_of
from headrace.connectors.db2.streaming.registered_tables import Span, spans
from headrace.errors import HeadraceError

AHEAD = "db2.position_ahead"


class Window(NamedTuple):
    """The commits from `first` to `last`, both included, whose numbers have `lsn_bytes` bytes.
    `newest` is the last commit that Capture reported, `clock` Capture's clock when the window was
    made."""

    first: int
    last: int
    newest: int
    lsn_bytes: int
    clock: Clock

    def bounds(self, last: int | None = None) -> tuple[bytes, bytes]:
        """Return the numbers as parameters of a query, up to another last place if one is given."""
        end = self.last if last is None else last
        return lsn_of(self.first, self.lsn_bytes), lsn_of(end, self.lsn_bytes)


def newest_lsn(connection: Connection, config: Db2Config) -> bytes | None:
    """Return the last commit up to which Capture has written all changes; None: it has not
    begun."""
    ((lsn,),) = connection.rows(sql.newest_lsn(config))
    return None if lsn is None else bytes(lsn)


def check_not_ahead(first: int, newest: bytes | None, lsn_bytes: int) -> None:
    """Check that a stream whose next place is `first` is not ahead of Capture's `newest` commit.
    Raises HeadraceError("db2.position_ahead")."""
    if first > (0 if newest is None else place_of(newest) + 1):
        newest_text = "has none" if newest is None else f"is at {format_lsn(newest)}"
        raise HeadraceError(
            AHEAD,
            f"The stream's position, {format_lsn(lsn_of(first - 1, lsn_bytes))}, is ahead of "
            f"Capture's synchpoint, which {newest_text}",
            "The database is another one, or was restored, or SQL replication was set up again: "
            "start with snapshot.mode=when_needed, which reads the tables again, or with a new "
            "checkpoint.",
        )


def oldest_change(connection: Connection, registration: Registration) -> int | None:
    """Return the place of the first change that a change table has; None: it is empty."""
    ((lsn,),) = connection.rows(sql.oldest_change(registration))
    return None if lsn is None else place_of(bytes(lsn))


def captured_columns(connection: Connection, registration: Registration) -> int:
    """Return how many of its table's columns a change table has; if the table is gone, the number
    of all columns that it has."""
    catalog = Catalog(connection)
    changed, present = (
        {column.name for column in catalog.columns(schema, table)}
        for schema, table in (
            (registration.change_schema, registration.change_table),
            (registration.source_schema, registration.source_table),
        )
    )
    return len(changed & present or changed)


def spans_of(
    connection: Connection, config: Db2Config, captured: Iterable[Registration], first: int
) -> list[Span]:
    """Return the spans of registrations whose changes from the place `first` on are read; see
    `spans`."""
    return spans(
        captured,
        with_stops=config.applies_stops,
        first=first,
        oldest_change=partial(oldest_change, connection),
        columns=partial(captured_columns, connection),
    )


def next_window(
    connection: Connection, config: Db2Config, first: int, lsn_bytes: int
) -> Window | None:
    """Return the window that begins at the place `first`; None: there is nothing new. Raises like
    `check_not_ahead`."""
    ((number, distance),) = connection.rows(sql.newest_lsn_and_clock(config))
    lsn = None if number is None else bytes(number)
    check_not_ahead(first, lsn, lsn_bytes)
    if lsn is None or place_of(lsn) < first:
        return None
    clock = clock_of(config, distance)
    whole = Window(first, place_of(lsn), place_of(lsn), len(lsn), clock)
    seconds = config.streaming_query_timespan_seconds
    if not seconds:
        return whole
    return whole._replace(last=_end_of_span(connection, config, whole, seconds))


def _end_of_span(connection: Connection, config: Db2Config, window: Window, seconds: int) -> int:
    """Return the last commit within so many seconds of the window's first one; units of work
    without a row in IBMSNAP_UOW belong to the next one that has a row."""
    bounds = window.bounds()
    rows = connection.rows(sql.first_commit_time(config), bounds)
    if not rows or rows[0][0] is None:
        return window.last
    try:
        until = rows[0][0] + dt.timedelta(seconds=seconds)
    except OverflowError:  # beyond the largest datetime
        return window.last
    ((last,),) = connection.rows(sql.last_commit_until(config), (*bounds, until))
    return window.last if last is None else place_of(bytes(last))


def time_after(connection: Connection, config: Db2Config, window: Window) -> int:
    """Return the time (microseconds since 1970 UTC) of the first commit after a window that has a
    row in IBMSNAP_UOW, else the server's time."""
    rest = window._replace(first=window.last + 1, last=window.newest)
    rows = connection.rows(sql.first_commit_time(config), rest.bounds())
    marker = rows[0][0] if rows else None
    if marker is None:
        return server_time_us(connection)
    return int(window.clock.microseconds([marker])[0])
