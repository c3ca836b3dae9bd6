"""Whether change tables still hold what was not read yet: where they begin, look after look.

Capture writes into CD_OLD_SYNCHPOINT where a change table begins (null until it heeds the
registration), and moves it when it deletes rows. Each look at the control tables is compared with
the one before. A change table that begins behind the first place that is not read has a gap,

- where its beginning moved since the look before: rows were pruned;
- where nothing was looked at before, or none of its table's registrations is there any more,
  although its table was read: rows were pruned, or the table was registered anew;

but not where a registration only began to be heeded, where it is new beside one that was there, and
where an active registration of the same table has everything up to there.
"""

from __future__ import annotations

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

PRUNED = "db2.changes_pruned"

Path = tuple[str, str]
"""Schema and name."""


class Beginnings:
    """What the control tables said when they were looked at last; one of each process, which all of
    its readers share. `registered` are the registrations when the stream's position was made; None:
    that was another process."""

    def __init__(self, registered: Iterable[Registration] | None = None) -> None:
        self._starts: dict[Path, int | None] | None = None
        """Of each change table (None: Capture did not heed its registration yet)."""
        self._sources: dict[Path, set[Path]] = {}
        """The change tables of each table that were heeded."""
        if registered is not None:
            self._remember(registered)

    def check(
        self,
        spans: Sequence[Span],
        first: int,
        lsn_bytes: int,
        knows: Callable[[str, str], bool],
    ) -> None:
        """A look at all registrations before changes from the place `first` on are read. `knows`
        tells whether a table was captured before, where nothing was looked at yet.

        Raises HeadraceError("db2.changes_pruned") where a change table has a gap.
        """
        for _, own in groupby(spans, key=lambda span: source_path(span.registration)):
            group = list(own)
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
        one = span.registration
        start = start_of(one)
        if not start or start < first:
            return
        source = source_path(one)
        if self._starts is None:
            has_gap = knows(*source)
        elif change_path(one) in self._starts:
            before = self._starts[change_path(one)]
            has_gap = before is not None and start > before
        else:
            heeded = self._sources.get(source, set())
            has_gap = bool(heeded) and not any(
                change_path(other.registration) in heeded for other in group
            )
        if has_gap:
            raise gap(one, first, lsn_bytes)

    def check_fetched(
        self, registered: Iterable[Registration], unread: Mapping[Path, int], lsn_bytes: int
    ) -> None:
        """A look behind rows that were fetched, before they are delivered. `registered` are those
        that begin where the reading does or behind it, `unread` has, for each change table that is
        being read, the place from which on rows were fetched since the last look, or are still to
        be. Raises as `check`."""
        assert self._starts is not None, "`check` comes first"
        for one in registered:
            path = change_path(one)
            if path not in unread:
                continue
            before, start = self._starts.get(path), start_of(one)
            if before is not None and start > before and start >= unread[path]:
                raise gap(one, unread[path], lsn_bytes)
            self._starts[path] = start

    def _remember(self, registered: Iterable[Registration]) -> None:
        self._starts, self._sources = {}, {}
        for one in registered:
            start = one.old_synchpoint or one.new_synchpoint
            self._starts[change_path(one)] = None if start is None else place_of(start)
            if start is not None:
                self._sources.setdefault(source_path(one), set()).add(change_path(one))


def gap(one: Registration, first: int, lsn_bytes: int) -> HeadraceError:
    """The changes of a table from the place `first` on are not there any more."""
    return HeadraceError(
        PRUNED,
        f"The change table {one.change_schema}.{one.change_table} of {source_of(one)} begins at "
        f"{format_lsn(lsn_of(start_of(one), lsn_bytes))} (CD_OLD_SYNCHPOINT); the changes "
        f"from {format_lsn(lsn_of(first, lsn_bytes))} on, which were not read yet, were "
        "pruned, or the table was registered anew since then",
        "Set snapshot.mode=when_needed, which reads the tables anew, or start with a new "
        "checkpoint; prune change tables only up to what is read. Where the table was "
        "registered anew, and nobody wrote to it in between, set "
        "headrace.change.tables.gap=accept for one start.",
    )
