"""Checks that change tables still hold the unread changes: compares where they begin.

CD_OLD_SYNCHPOINT is where a change table begins: null until Capture reads the registration, moved
when Capture deletes rows. Each check compares the control tables with those of earlier checks. Let
F be the first place that is not read. A change table has a gap if

- it begins at F or later, and its beginning has moved since it was first seen: rows were pruned. (A
  check after the rows were fetched does not count: a reader that restarts begins at what is
  delivered.)
- it begins at F or later, there was no earlier check, and its source table was captured before:
  rows were pruned, or the table was registered again.
- Capture had read registrations of its source table, and all of them disappeared or lost their
  beginnings: the table was registered again, also under the same name, wherever the change table
  begins.

It has no gap if Capture read its registration for the first time, if it was added beside another
change table of its source table, or if an active registration of the same source table has all
changes up to its beginning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from headrace.connectors.db2.catalog.registrations import ACTIVE, Registration
from headrace.connectors.db2.lsn import format_lsn, lsn_of, place_of
from headrace.connectors.db2.streaming.registered_tables import (
    Span,
    change_path,
    source_of,
    source_path,
    start_of,
)
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

PRUNED = "db2.changes_pruned"

Path = tuple[str, str]
"""Schema and name."""


class Beginnings:
    """The beginnings of change tables, as the control tables have them. All readers of a process
    share one object. `registered` are the registrations when the stream's position was created;
    None: another process created it."""

    def __init__(self, registered: Iterable[Registration] | None = None) -> None:
        self._starts: dict[Path, int | None] | None = None
        """The beginning of each change table when it was seen first (None: no registration of its
        table was ever active). Tables that were gone or inactive since then are not included."""
        self._active: dict[Path, set[Path]] = {}
        """The active change tables of the last check, by each table that ever had one."""
        self._followers: set[Path] = set()
        """The change tables that were added beside active ones of the same table."""
        self._since = 0
        """The place from which on change tables were checked."""
        if registered is not None:
            self._remember(registered)

    def check(
        self,
        spans: Sequence[Span],
        first: int,
        lsn_bytes: int,
        knows: Callable[[str, str], bool],
    ) -> None:
        """Check all registrations before changes from the place `first` on are read. `knows`
        returns whether a table was captured before; it is called if nothing was checked yet.

        Raises HeadraceError("db2.changes_pruned") if a change table has a gap.
        """
        if self._starts is None or first < self._since:
            self._starts, self._since = None, first
        for _, of_table in groupby(spans, key=lambda span: source_path(span.registration)):
            group = list(of_table)
            bridged = False
            for span in group:
                ends_before = span.stop is not None and span.stop <= first
                if not ends_before and not bridged:
                    self._check_span(span, group, first, lsn_bytes, knows)
                bridged |= 0 <= span.start < first and span.registration.state == ACTIVE
        self._remember(span.registration for span in spans)

    def _check_span(
        self,
        span: Span,
        group: Sequence[Span],
        first: int,
        lsn_bytes: int,
        knows: Callable[[str, str], bool],
    ) -> None:
        registration = span.registration
        start, source, path = (
            start_of(registration),
            source_path(registration),
            change_path(registration),
        )
        if not start:
            return
        if self._starts is None:
            has_gap = start >= first and knows(*source)
        elif path not in self._starts:
            has_gap = self._is_registered_again(registration, group)
        elif path in self._followers and start >= first:
            has_gap = _has_moved(self._starts[path], start) or self._is_registered_again(
                registration, group
            )
        else:
            has_gap = start >= first and _has_moved(self._starts[path], start)
        if has_gap:
            raise gap(registration, first, lsn_bytes)

    def _is_registered_again(self, registration: Registration, group: Sequence[Span]) -> bool:
        """Whether the table of a registration had active ones, and this one takes over from none of
        them."""
        others = {change_path(other.registration) for other in group} - {change_path(registration)}
        source = source_path(registration)
        return source in self._active and not others & self._active[source]

    def check_fetched(
        self, registered: Iterable[Registration], unread: Mapping[Path, int], lsn_bytes: int
    ) -> None:
        """Check change tables after rows were fetched, before they are delivered. `registered` are
        those that begin where the reading does or after it; `unread` has, for each change table
        that is being read, the place from which on rows were fetched since the last check, or are
        still to be fetched. Raises like `check`."""
        assert self._starts is not None, "`check` comes first"
        for registration in registered:
            path, start = change_path(registration), start_of(registration)
            if path not in unread:
                continue
            if _has_moved(self._starts.get(path), start) and start >= unread[path]:
                raise gap(registration, unread[path], lsn_bytes)
            if self._starts.get(path, start) is None:
                self._starts[path] = start

    def _remember(self, registered: Iterable[Registration]) -> None:
        starts: dict[Path, int | None] = {}
        active: dict[Path, set[Path]] = {source: set() for source in self._active}
        before = self._starts or {}
        for registration in registered:
            path, source = change_path(registration), source_path(registration)
            lsn = registration.old_synchpoint or registration.new_synchpoint
            if lsn is not None:
                starts[path] = place_of(lsn) if before.get(path) is None else before[path]
                if self._active.get(source, set()) - {path}:
                    self._followers |= {path} - before.keys()
                active.setdefault(source, set()).add(path)
            elif source not in self._active:
                starts[path] = None
            elif path in before:
                log.warning(
                    "%s was registered again, or Capture does not read its registration any more: "
                    "Capture does not say where the change table %s.%s begins",
                    source_of(registration),
                    *path,
                )
        self._starts, self._active = starts, active


def _has_moved(before: int | None, start: int) -> bool:
    return before is not None and start > before


def gap(registration: Registration, first: int, lsn_bytes: int) -> HeadraceError:
    """Return the error of a change table that no longer has the changes from the place `first`
    on."""
    return HeadraceError(
        PRUNED,
        f"The change table {registration.change_schema}.{registration.change_table} of "
        f"{source_of(registration)} begins at "
        f"{format_lsn(lsn_of(start_of(registration), lsn_bytes))} (CD_OLD_SYNCHPOINT); the changes "
        f"from {format_lsn(lsn_of(first, lsn_bytes))} on, which were not read yet, were "
        "pruned, or the table was registered again since then",
        "Set snapshot.mode=when_needed, which reads the tables again, or start with a new "
        "checkpoint; prune change tables only up to what is read. If the table was "
        "registered again, and nobody wrote to it in between, set "
        "headrace.change.tables.gap=accept for one start; a replica of a table that was written to "
        "is then copied again by headrace resync.",
    )
