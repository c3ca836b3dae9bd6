"""The captured tables that are registered, and descriptions of the rows of their change tables."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from headrace.connectors.db2.capture import Capture
from headrace.connectors.db2.catalog.catalog import Catalog
from headrace.connectors.db2.catalog.registrations import ACTIVE, Registration
from headrace.connectors.db2.lsn import place_of
from headrace.connectors.db2.rows.images import Db2Images, images_at
from headrace.connectors.db2.streaming.change_table import LEADING
from headrace.connectors.db2.types.declarations import LARGE
from headrace.connectors.db2.types.source_type import holds
from headrace.errors import HeadraceError
from headrace.relational.events import RelationFacts
from headrace.relational.table import Column, Table
from headrace.streaming.relations import RelationVersions

log = logging.getLogger(__name__)

_OWN_COLUMNS = ("IBMSNAP_COMMITSEQ", "IBMSNAP_INTENTSEQ", "IBMSNAP_OPERATION")
_NOTHING_YET = 1 << 128
"""A number above every place."""


@dataclass(frozen=True)
class Span:
    """A registration with the place where it begins (0: not known), and the place where the next
    registration of its table begins (None: it is the last): changes from there on belong to that
    one."""

    registration: Registration
    start: int
    stop: int | None = None


def start_of(registration: Registration) -> int:
    """Return the place where Capture began to fill a change table, or to which it pruned it; 0: not
    known."""
    lsn = registration.old_synchpoint
    return 0 if lsn is None else place_of(lsn)


def source_of(registration: Registration) -> str:
    """Return the name of the source table: schema.table."""
    return f"{registration.source_schema}.{registration.source_table}"


def source_path(registration: Registration) -> tuple[str, str]:
    """Return schema and name of the source table."""
    return registration.source_schema, registration.source_table


def change_path(registration: Registration) -> tuple[str, str]:
    """Return schema and name of the change table."""
    return registration.change_schema, registration.change_table


def spans(
    registrations: Iterable[Registration],
    *,
    with_stops: bool = True,
    first: int = 0,
    oldest_change: Callable[[Registration], int | None] = lambda _: None,
    columns: Callable[[Registration], int] = lambda _: 0,
) -> list[Span]:
    """Return registrations ordered by table, and those of one table by where they begin (Debezium
    survives a change of columns in this way: a second change table is registered, and the first one
    ends where it begins). Without stops, on z/OS, none ends. `oldest_change` returns the place of a
    registration's first change (None: it has none yet, and takes nothing over); it is called if a
    table has several registrations and one has no beginning.

    Pruning moves beginnings, also beyond each other. An active registration took over from inactive
    ones. Of several active ones that begin before `first`, the place from which on changes are
    read, each has all of these changes: the one with most of the table's columns took over.
    `columns` returns their number in that case."""

    def of_table(group: list[Registration]) -> list[Span]:
        starts = [start_of(registration) for registration in group]
        if len(group) > 1:
            starts = [
                start or _first(registration)
                for start, registration in zip(starts, group, strict=True)
            ]
        unordered = list(map(Span, group, starts))
        begun = [span for span in unordered if _is_active(span) and span.start < first]
        counts = {_path(span): columns(span.registration) for span in begun if len(begun) > 1}
        unordered.sort(
            key=lambda span: (
                _is_active(span),
                max(span.start, first - 1),
                counts.get(_path(span), 0),
                span.start,
                _path(span),
            )
        )
        return [
            replace(span, stop=following.start if with_stops else None)
            for span, following in pairwise(unordered)
        ] + unordered[-1:]

    def _first(registration: Registration) -> int:
        oldest = oldest_change(registration)
        return _NOTHING_YET if oldest is None else oldest

    ordered = sorted(registrations, key=source_path)
    groups = (list(group) for _, group in groupby(ordered, key=source_path))
    return [span for group in groups for span in of_table(group)]


def _is_active(span: Span) -> bool:
    return span.registration.state == ACTIVE


def _path(span: Span) -> tuple[str, str]:
    return change_path(span.registration)


@dataclass(frozen=True)
class Described:
    """The description of a change table's rows: the table as the rows have it, the relation version
    of their records, the columns to select, and the converter to images."""

    table: Table
    relation: int
    columns: tuple[Column, ...]
    images: Db2Images

    @property
    def widest_row(self) -> int:
        """The most bytes that a row of these columns can have, as they are declared."""
        return 1 + sum(column.type.length_and_scale()[0] or 0 for column in self.columns)


class RegisteredTables:
    """Descriptions of change tables, read again in each window, because a table may be altered
    together with its change table while both are read. One thread uses it."""

    def __init__(
        self,
        capture: Capture,
        versions: RelationVersions,
        last: Callable[[str, str], Table | None],
    ) -> None:
        """`last` returns the last recorded description of a dropped table; None: not known."""
        self._capture, self._versions, self._last = capture, versions, last
        self._warned: set[tuple[str, str]] = set()
        self._gone: set[tuple[str, str]] = set()

    def captured(self, registrations: Iterable[Registration]) -> list[Registration]:
        """Return the registrations whose tables are captured."""
        return [
            registration
            for registration in registrations
            if self._capture.takes(source_of(registration))
        ]

    def describe(self, catalog: Catalog, span: Span) -> Described | None:
        """Return the description of the rows of a span by the catalogue; None: the change table is
        gone."""
        registration = span.registration
        changed = {
            column.name: column
            for column in catalog.columns(registration.change_schema, registration.change_table)
            if column.name not in _OWN_COLUMNS
        }
        if not changed:
            return None
        self._gone.discard(change_path(registration))
        present = catalog.table(registration.source_schema, registration.source_table)
        table = self._shape(span, present, changed)
        unread = _unread(registration, table, changed)
        facts = self._capture.relation(_nullable(table, unread), present)
        _check_key(registration, facts, unread)
        selected = self._capture.selected(facts)
        for name in unread.keys() & selected:
            self._warn_of_column(registration, name, unread[name])
        read = tuple(
            changed[column.name]
            for column in table.columns
            if column.name in selected and column.name not in unread
        )
        places = {column.name: LEADING + place for place, column in enumerate(read)}
        images = images_at(
            ".".join(change_path(registration)),
            table.columns,
            [places.get(column.name) for column in table.columns],
        )
        return Described(table, self._versions.version_of(facts), read, images)

    def warn_of_vanished(self, gone: Iterable[Span]) -> None:
        """Log a warning for change tables that are gone, once each until they exist again."""
        for span in gone:
            registration = span.registration
            if change_path(registration) not in self._gone:
                self._gone.add(change_path(registration))
                log.warning(
                    "The change table %s.%s of %s no longer exists: its changes end here",
                    *change_path(registration),
                    source_of(registration),
                )

    def _shape(self, span: Span, present: Table | None, changed: dict[str, Column]) -> Table:
        """Return the table as the span's rows have it. If another registration follows, the columns
        are those of its change table; if the table is gone, its last recorded description is
        used."""
        registration = span.registration
        described = self._last_recorded(registration, changed) if present is None else present
        by_name = described.by_name
        names = by_name if span.stop is None else changed
        columns = tuple(_column(by_name.get(name), changed.get(name)) for name in names)
        key = described.key if all(name in names for name in described.key) else ()
        return Table(registration.source_schema, registration.source_table, columns, key)

    def _last_recorded(self, registration: Registration, changed: dict[str, Column]) -> Table:
        """Return a dropped table: its key, and those of its columns that its change table has or
        never had, in the order and by the definitions that were recorded last. A column outside the
        key that may be null in the change table may be null, and has no default: the constraint may
        have been dropped since then."""
        last = self._last(*source_path(registration))
        if last is None:
            self._warn_of_dropped(registration, "the schema history does not have it")
            last = Table(*source_path(registration))
        if not changed.keys() >= {*last.key}:
            self._warn_of_dropped(registration, "its change table lacks a column of its key")
        nullable = {name for name, column in changed.items() if not column.not_null} - {*last.key}
        remaining = (
            replace(column, not_null=False, default=None)
            if column.not_null and column.name in nullable
            else column
            for column in last.columns
            if column.name in changed or str(column.type) in LARGE
        )
        more = (
            replace(column, not_null=False, default=None)
            for name, column in changed.items()
            if name not in last.by_name
        )
        return replace(last, columns=(*remaining, *more))

    def _warn_of_dropped(self, registration: Registration, why: str) -> None:
        warning = registration.change_table, ""
        if warning not in self._warned:
            self._warned.add(warning)
            log.warning(
                "%s no longer exists, and %s: its last changes have no key, unless "
                "message.key.columns names one",
                source_of(registration),
                why,
            )

    def _warn_of_column(self, registration: Registration, column: str, why: str) -> None:
        warning = registration.change_table, column
        if warning not in self._warned:
            self._warned.add(warning)
            log.warning(
                "The column %s of %s %s: it is null in events",
                column,
                source_of(registration),
                why,
            )


def _unread(registration: Registration, table: Table, changed: dict[str, Column]) -> dict[str, str]:
    """Return the columns for which a change table has no values, and why."""
    where = f"the change table {registration.change_schema}.{registration.change_table}"
    unread = {}
    for column in table.columns:
        change_column = changed.get(column.name)
        if change_column is None:
            unread[column.name] = f"is missing in {where}"
        elif not LARGE.isdisjoint((str(change_column.type), str(column.type))):
            unread[column.name] = f"is a large object, which is not in {where}"
    return unread


def _nullable(table: Table, unread: Container[str]) -> Table:
    """Return the table with its columns without values nullable: no default replaces them."""
    columns = (
        replace(column, not_null=False, default=None) if column.name in unread else column
        for column in table.columns
    )
    return replace(table, columns=tuple(columns))


def _check_key(registration: Registration, facts: RelationFacts, unread: Mapping[str, str]) -> None:
    """Raise HeadraceError if a change table has no values of a key column."""
    name = next((name for name in facts.key if name in unread), None)
    if name is not None:
        reason = unread[name]
        raise HeadraceError(
            "db2.change_table_altered",
            f"The key column {name} of {source_of(registration)} has no values ({reason})",
            "Remove the registration and add it again (`headrace db2 remove-table`, `add-table`); "
            "or name columns that the change table has in message.key.columns.",
        )


def _column(now: Column | None, changed: Column | None) -> Column:
    """Return a column by its declarations in the table and in its change table: the values have the
    type of the latter, even if that has more digits after the point; values of large objects are
    not in it."""
    if now is None:
        assert changed is not None
        return replace(changed, not_null=False, default=None)
    if changed is None or str(now.type) in LARGE or now.type == changed.type:
        return now
    if holds(now.type, changed.type):
        return now
    default = now.default if str(now.type) == str(changed.type) else None
    return replace(now, type=changed.type, default=default)


def has_taken_over(gone: Iterable[Span], registered: Iterable[Registration]) -> bool:
    """Whether one of these spans, whose change tables are gone, is no longer registered, and its
    table has another registration."""
    paths: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for registration in registered:
        paths.setdefault(source_path(registration), set()).add(change_path(registration))
    left = (
        (change_path(span.registration), paths.get(source_path(span.registration))) for span in gone
    )
    return any(change_paths and path not in change_paths for path, change_paths in left)


def stops_before(span: Span, last: int) -> int:
    """Return the last place of a window that ends at `last` whose changes belong to this span."""
    return last if span.stop is None else min(last, span.stop - 1)


def in_order(registered: Sequence[Span]) -> list[Span]:
    """Return spans in an order that is the same at every reading."""
    return sorted(registered, key=_path)
