"""The captured tables that are registered, and what the rows of their change tables are."""

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
"""Behind every place."""


@dataclass(frozen=True)
class Span:
    """A registration with the place where it begins (0: not known), and the place where the next
    one of its table begins (None: it is the last): changes from there on are that one's."""

    registration: Registration
    start: int
    stop: int | None = None


def start_of(registration: Registration) -> int:
    """Where Capture began to fill a change table, or pruned it to; 0: it does not say."""
    lsn = registration.old_synchpoint
    return 0 if lsn is None else place_of(lsn)


def source_of(registration: Registration) -> str:
    """schema.table"""
    return f"{registration.source_schema}.{registration.source_table}"


def source_path(registration: Registration) -> tuple[str, str]:
    """Schema and table."""
    return registration.source_schema, registration.source_table


def change_path(registration: Registration) -> tuple[str, str]:
    """Schema and name of the change table."""
    return registration.change_schema, registration.change_table


def spans(
    registrations: Iterable[Registration],
    *,
    with_stops: bool = True,
    first: int = 0,
    oldest_change: Callable[[Registration], int | None] = lambda _: None,
    columns: Callable[[Registration], int] = lambda _: 0,
) -> list[Span]:
    """Registrations by table, and those of one table by where they begin (Debezium survives a
    change of columns in this way: a second change table is registered, and the first one ends where
    it begins). Without stops, on z/OS, each goes on. `oldest_change` is asked where a table has
    several registrations and one does not say where it begins: the place of its first change;
    None: it has none yet, and takes nothing over.

    Pruning moves beginnings, also beyond each other. One that is active took over from those that
    are not. Of several active ones that begin before `first`, the place from which on changes are
    read, each has all of these: the one with most of the table's columns took over. `columns` is
    asked for their number then."""

    def of_table(group: list[Registration]) -> list[Span]:
        starts = [start_of(one) for one in group]
        if len(group) > 1:
            starts = [start or _first(one) for start, one in zip(starts, group, strict=True)]
        own = list(map(Span, group, starts))
        begun = [span for span in own if _is_active(span) and span.start < first]
        counts = {_path(span): columns(span.registration) for span in begun if len(begun) > 1}
        own.sort(
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
            for span, following in pairwise(own)
        ] + own[-1:]

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
    """What the rows of a change table are: the table as they have it, the relation version of their
    records, the columns to select of it, and how their images are made."""

    table: Table
    relation: int
    columns: tuple[Column, ...]
    images: Db2Images

    @property
    def widest_row(self) -> int:
        """Bytes that a row of these columns can have, as they are declared."""
        return 1 + sum(column.type.length_and_scale()[0] or 0 for column in self.columns)


class RegisteredTables:
    """Describes change tables again in each window, because a table may be altered together with
    its change table while both are read. One thread uses it."""

    def __init__(
        self,
        capture: Capture,
        versions: RelationVersions,
        last: Callable[[str, str], Table | None],
    ) -> None:
        """`last` returns the last recorded description of a dropped table; None: not known."""
        self._capture, self._versions, self._last = capture, versions, last
        self._told: set[tuple[str, str]] = set()
        self._gone: set[tuple[str, str]] = set()

    def captured(self, registrations: Iterable[Registration]) -> list[Registration]:
        """The registrations whose tables are captured."""
        return [one for one in registrations if self._capture.takes(source_of(one))]

    def describe(self, catalog: Catalog, span: Span) -> Described | None:
        """What the catalogue says of the rows of a span; None: the change table is gone."""
        one = span.registration
        changed = {
            column.name: column
            for column in catalog.columns(one.change_schema, one.change_table)
            if column.name not in _OWN_COLUMNS
        }
        if not changed:
            return None
        self._gone.discard(change_path(one))
        present = catalog.table(one.source_schema, one.source_table)
        table = self._shape(span, present, changed)
        unread = _unread(one, table, changed)
        facts = self._capture.relation(_nullable(table, unread), present)
        _check_key(one, facts, unread)
        shown = self._capture.selected(facts)
        for name in unread.keys() & shown:
            self._tell(one, name, unread[name])
        read = tuple(
            changed[column.name]
            for column in table.columns
            if column.name in shown and column.name not in unread
        )
        places = {column.name: LEADING + place for place, column in enumerate(read)}
        images = images_at(
            ".".join(change_path(one)),
            table.columns,
            [places.get(column.name) for column in table.columns],
        )
        return Described(table, self._versions.version_of(facts), read, images)

    def warn_of_vanished(self, gone: Iterable[Span]) -> None:
        """Warns of change tables that are not there, of each once until it is there again."""
        for span in gone:
            one = span.registration
            if change_path(one) not in self._gone:
                self._gone.add(change_path(one))
                log.warning(
                    "The change table %s.%s of %s no longer exists: its changes end here",
                    *change_path(one),
                    source_of(one),
                )

    def _shape(self, span: Span, present: Table | None, changed: dict[str, Column]) -> Table:
        """The table as the span's rows have it. If another registration follows, the columns are
        those of its change table; if the table is gone, its last recorded description is used."""
        one = span.registration
        described = self._last_told(one, changed) if present is None else present
        by_name = described.by_name
        names = by_name if span.stop is None else changed
        columns = tuple(_column(by_name.get(name), changed.get(name)) for name in names)
        key = described.key if all(name in names for name in described.key) else ()
        return Table(one.source_schema, one.source_table, columns, key)

    def _last_told(self, one: Registration, changed: dict[str, Column]) -> Table:
        """A dropped table: its key, and those of its columns that its change table has or never
        had, in the order and by the definitions that were recorded last. A column outside the key
        that may be null in the change table may be null, and has no default: the constraint may
        have been dropped since then."""
        last = self._last(*source_path(one))
        if last is None:
            self._tell_of_gone(one, "the schema history does not have it")
            last = Table(*source_path(one))
        if not changed.keys() >= {*last.key}:
            self._tell_of_gone(one, "its change table lacks a column of its key")
        nullable = {name for name, column in changed.items() if not column.not_null} - {*last.key}
        kept = (
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
        return replace(last, columns=(*kept, *more))

    def _tell_of_gone(self, one: Registration, why: str) -> None:
        told = one.change_table, ""
        if told not in self._told:
            self._told.add(told)
            log.warning(
                "%s no longer exists, and %s: its last changes have no key, unless "
                "message.key.columns names one",
                source_of(one),
                why,
            )

    def _tell(self, registration: Registration, column: str, why: str) -> None:
        told = registration.change_table, column
        if told not in self._told:
            self._told.add(told)
            log.warning(
                "The column %s of %s %s: it is null in events",
                column,
                source_of(registration),
                why,
            )


def _unread(one: Registration, table: Table, changed: dict[str, Column]) -> dict[str, str]:
    """The columns of which a change table has no values, and why."""
    where = f"the change table {one.change_schema}.{one.change_table}"
    unread = {}
    for column in table.columns:
        there = changed.get(column.name)
        if there is None:
            unread[column.name] = f"is missing in {where}"
        elif not LARGE.isdisjoint((str(there.type), str(column.type))):
            unread[column.name] = f"is a large object, which is not in {where}"
    return unread


def _nullable(table: Table, unread: Container[str]) -> Table:
    """The table, whose columns without values may be null: no default replaces them."""
    columns = (
        replace(column, not_null=False, default=None) if column.name in unread else column
        for column in table.columns
    )
    return replace(table, columns=tuple(columns))


def _check_key(one: Registration, facts: RelationFacts, unread: Mapping[str, str]) -> None:
    """Raises HeadraceError where a change table has no values of a key column."""
    name = next((name for name in facts.key if name in unread), None)
    if name is not None:
        reason = unread[name]
        raise HeadraceError(
            "db2.change_table_altered",
            f"The key column {name} of {source_of(one)} has no values ({reason})",
            "Remove the registration and add it again (`headrace db2 remove-table`, `add-table`); "
            "or name columns that the change table has in message.key.columns.",
        )


def _column(now: Column | None, changed: Column | None) -> Column:
    """A column of the table and of its change table: the values have the type of the latter, also
    where that has more digits after the point, but those of large objects are not there."""
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
    """Whether one of these spans, whose change tables are gone, is not registered any more, and its
    table has another registration."""
    paths: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for one in registered:
        paths.setdefault(source_path(one), set()).add(change_path(one))
    left = (
        (change_path(span.registration), paths.get(source_path(span.registration))) for span in gone
    )
    return any(own and path not in own for path, own in left)


def stops_before(span: Span, last: int) -> int:
    """The last place of a window that ends at `last` whose changes are this span's."""
    return last if span.stop is None else min(last, span.stop - 1)


def in_order(registered: Sequence[Span]) -> list[Span]:
    """Spans in an order that is the same whenever they are read again."""
    return sorted(registered, key=_path)
