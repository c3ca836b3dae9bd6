"""Windows: how far the change tables are read at once, and whether they still hold everything."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from typing import NamedTuple

from headrace.connectors.db2 import sql
from headrace.connectors.db2.catalog.registrations import Registration
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection
from headrace.connectors.db2.lsn import format_lsn, lsn_of, place_of
from headrace.connectors.db2.streaming.registered_tables import (
    Span,
    source_of,
    source_path,
    start_of,
)
from headrace.errors import HeadraceError

PRUNED = "db2.changes_pruned"


class Window(NamedTuple):
    """The commits from `first` to `last`, both in it, whose numbers have so many bytes. `newest` is
    the last one that Capture told of."""

    first: int
    last: int
    newest: int
    lsn_bytes: int

    def bounds(self, last: int | None = None) -> tuple[bytes, bytes]:
        """The numbers as parameters of a query, to another last place where one is given."""
        end = self.last if last is None else last
        return lsn_of(self.first, self.lsn_bytes), lsn_of(end, self.lsn_bytes)


def newest_lsn(connection: Connection, config: Db2Config) -> bytes | None:
    """The last commit up to which Capture has written all changes; None: it has not begun."""
    ((lsn,),) = connection.rows(sql.newest_lsn(config))
    return None if lsn is None else bytes(lsn)


def oldest_change(connection: Connection, registration: Registration) -> int | None:
    """The place of the first change that a change table has; None: it is empty."""
    ((lsn,),) = connection.rows(sql.oldest_change(registration))
    return None if lsn is None else place_of(bytes(lsn))


def next_window(connection: Connection, config: Db2Config, first: int) -> Window | None:
    """The window that begins at the place `first`; None: there is nothing yet."""
    lsn = newest_lsn(connection, config)
    if lsn is None or place_of(lsn) < first:
        return None
    whole = Window(first, place_of(lsn), place_of(lsn), len(lsn))
    seconds = config.streaming_query_timespan_seconds
    if not seconds:
        return whole
    return whole._replace(last=_end_of_span(connection, config, whole, seconds))


def _end_of_span(connection: Connection, config: Db2Config, window: Window, seconds: int) -> int:
    """The last commit within so many seconds of the window's first one; units of work without row
    in IBMSNAP_UOW belong to the next one that has any."""
    bounds = window.bounds()
    rows = connection.rows(sql.first_commit_time(config), bounds)
    if not rows or rows[0][0] is None:
        return window.last
    until = rows[0][0] + dt.timedelta(seconds=seconds)
    ((last,),) = connection.rows(sql.last_commit_until(config), (*bounds, until))
    return window.last if last is None else place_of(bytes(last))


def check_not_pruned(
    spans: Iterable[Span], first: int, lsn_bytes: int, knows: Callable[[str, str], bool]
) -> None:
    """Raises HeadraceError("db2.changes_pruned") where a change table, of a table that was captured
    before, lacks changes from the place `first` on: its CD_OLD_SYNCHPOINT is behind that."""
    seen: set[str] = set()
    for span in spans:
        source = source_of(span.registration)
        if source in seen:
            continue  # a later registration of the same table
        seen.add(source)
        if start_of(span.registration) >= first and knows(*source_path(span.registration)):
            one = span.registration
            raise HeadraceError(
                PRUNED,
                f"The change table {one.change_schema}.{one.change_table} of {source} begins at "
                f"{format_lsn(lsn_of(start_of(one), lsn_bytes))} (CD_OLD_SYNCHPOINT); the changes "
                f"from {format_lsn(lsn_of(first, lsn_bytes))} on, which were not read yet, were "
                "pruned, or the table was registered anew since then",
                "Set snapshot.mode=when_needed, which reads the tables anew, or start with a new "
                "checkpoint; prune change tables only up to what is read. Where the table was "
                "registered anew, and nobody wrote to it in between, set "
                "headrace.change.tables.gap=accept for one start.",
            )
