"""The state of signals in an offset: the incremental snapshot's progress, and a range's inserts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from headrace.signals.stored import (
    LARGEST_PLACE,
    checked_number,
    checked_text,
    items,
    listed,
    mapping,
    number,
    optional_number,
    optional_text,
)

_LARGEST_SHOWN = (1 << 64) - 1

Key = tuple[str | None, ...]
"""Values of a table's chunking columns, in the database's notation."""


def key_text(key: Key | None) -> str:
    """Return a key for people; empty without a key."""
    return ",".join("null" if value is None else value for value in key or ())


@dataclass(frozen=True)
class Pending:
    """A table still to be read. `name` is `schema.table`; `condition` is the text from the
    signal."""

    name: str
    signal: str
    condition: str | None = None
    surrogate: str | None = None

    def to_json(self) -> list[Any]:
        """Return a short form, without names of members: the list is in every offset."""
        return [self.name, self.signal, self.condition, self.surrogate]

    @staticmethod
    def from_json(data: list[Any]) -> Pending:
        """Read the list of `to_json`. Raises ValueError."""
        name, signal, condition, surrogate = data
        return Pending(
            checked_text(name, "table"),
            checked_text(signal, "signal"),
            optional_text(condition, "condition"),
            optional_text(surrogate, "surrogate"),
        )


@dataclass(frozen=True)
class Insert:
    """Records that a range contains between those of the log: the rows of a chunk, or a
    notification.

    `at` is their place: position, kind, ordinal and first part of `sequence`. `shown` (a place of
    the log in 64 bits), `last_commit` and `time_us` are for the rows' `source`. The bounds of a
    chunk (lower exclusive, None: open; upper inclusive) identify it, so that it can be read again;
    `parts` is the number of parts that are reserved for its rows then (None: written by an earlier
    release). `order`: see SignalProgress.
    """

    at: tuple[int, int, int, int]
    shown: int
    last_commit: int | None
    time_us: int
    table: Pending | None = None
    lower: Key | None = None
    upper: Key | None = None
    notification: dict[str, Any] | None = None
    parts: int | None = None
    order: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object without members that are None."""
        out: dict[str, Any] = {
            "at": list(self.at),
            "lsn": self.shown,
            "last_commit": self.last_commit,
            "time_us": self.time_us,
        }
        if self.table is not None:
            out |= {
                "table": self.table.to_json(),
                "lower": None if self.lower is None else list(self.lower),
                "upper": None if self.upper is None else list(self.upper),
            }
        if self.parts is not None:
            out["parts"] = self.parts
        if self.order is not None:
            out["order"] = self.order
        if self.notification is not None:
            out["notification"] = self.notification
        return out

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Insert:
        """Read the JSON object of `to_json`. Raises KeyError and ValueError."""
        position, kind, ordinal, part = listed(data["at"], "at", _place)
        table, notification = data.get("table"), data.get("notification")
        return Insert(
            at=(position, kind, ordinal, part),
            shown=number(data, "lsn", most=_LARGEST_SHOWN),
            last_commit=optional_number(data, "last_commit", most=LARGEST_PLACE),
            time_us=number(data, "time_us"),
            table=None if table is None else Pending.from_json(table),
            lower=_key(data.get("lower")),
            upper=_key(data.get("upper")),
            notification=None if notification is None else mapping(notification, "notification"),
            parts=optional_number(data, "parts"),
            order=optional_text(data.get("order"), "order"),
        )


class Ended(NamedTuple):
    """A table of a signal whose reading has ended: `status` is Debezium's status, ABORTED, or
    IGNORED. An empty `table`: all tables of the signal."""

    table: str
    signal: str
    status: str


class TopicPlace(NamedTuple):
    """The offset at which a partition of the signal topic is read next."""

    topic: str
    partition: int
    next: int


@dataclass(frozen=True)
class SignalProgress:
    """The part of an offset that signals add.

    `tables` are those still to be read, the first one from `after` (exclusive; None: from its
    beginning) to `maximum`; `order` names, in the notation of the database, the table and the order
    of these keys (None: unknown, or written by an earlier release); `scanned` counts its rows so
    far. `stops` are requests that wait for the open window, `blocking` tables whose snapshot waits
    for the end of the range, `xid` the transaction that asked for it. `inserts` are those of the
    range that ends here, `ended` the tables that ended in it. `file` counts the signal files taken
    (see signals.files), `kafka` is how far the signal topic was read, `ordinal` numbers the inserts
    between transactions.
    """

    tables: tuple[Pending, ...] = ()
    after: Key | None = None
    maximum: Key | None = None
    order: str | None = None
    scanned: int = 0
    paused: bool = False
    stops: tuple[tuple[str, ...], ...] = ()
    blocking: tuple[Pending, ...] = ()
    xid: int | None = None
    ordinal: int = 0
    file: int = 0
    kafka: tuple[TopicPlace, ...] = ()
    inserts: tuple[Insert, ...] = ()
    ended: tuple[Ended, ...] = ()

    @property
    def running(self) -> bool:
        """Whether tables are left to read."""
        return bool(self.tables)

    def next_table(self, status: str) -> SignalProgress:
        """Return the progress without the first table, which ended with this status."""
        first = self.tables[0]
        ended = (*self.ended, Ended(first.name, first.signal, status))
        return replace(self.before_first_chunk(), tables=self.tables[1:], ended=ended)

    def without(self, tables: Sequence[Pending], status: str) -> SignalProgress:
        """Return the progress without `tables`, which ended with this status."""
        rest = tuple(table for table in self.tables if table not in tables)
        ended = tuple(Ended(table.name, table.signal, status) for table in tables)
        begun = self if rest[:1] == self.tables[:1] else self.before_first_chunk()
        return replace(begun, tables=rest, ended=self.ended + ended)

    def after_range(self) -> SignalProgress:
        """Return the progress without the state of the range that ends here."""
        return replace(self, inserts=(), ended=())

    def before_first_chunk(self) -> SignalProgress:
        """Return the progress before the first chunk of the first table."""
        return replace(self, after=None, maximum=None, order=None, scanned=0)

    def to_json(self) -> dict[str, Any]:
        """Return a canonical JSON object without empty members."""
        out: dict[str, Any] = {}
        if self.tables:
            out |= {
                "tables": [table.to_json() for table in self.tables],
                "after": None if self.after is None else list(self.after),
                "maximum": None if self.maximum is None else list(self.maximum),
                "scanned": self.scanned,
            }
        if self.order is not None:
            out["order"] = self.order
        if self.paused:
            out["paused"] = True
        if self.stops:
            out["stops"] = [list(names) for names in self.stops]
        if self.blocking:
            out["blocking"] = [table.to_json() for table in self.blocking]
        if self.xid is not None:
            out["xid"] = self.xid
        if self.ordinal:
            out["ordinal"] = self.ordinal
        if self.file:
            out["file"] = self.file
        if self.kafka:
            out["kafka"] = [list(place) for place in self.kafka]
        if self.inserts:
            out["inserts"] = [insert.to_json() for insert in self.inserts]
        if self.ended:
            out["ended"] = [list(ended) for ended in self.ended]
        return out

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SignalProgress:
        """Read the JSON object of `to_json`. Raises KeyError and ValueError."""
        return SignalProgress(
            tables=items(data, "tables", Pending.from_json),
            after=_key(data.get("after")),
            maximum=_key(data.get("maximum")),
            order=optional_text(data.get("order"), "order"),
            scanned=number(data, "scanned", 0),
            paused=bool(data.get("paused")),
            stops=items(data, "stops", _names),
            blocking=items(data, "blocking", Pending.from_json),
            xid=optional_number(data, "xid"),
            ordinal=number(data, "ordinal", 0),
            file=number(data, "file", 0),
            kafka=items(data, "kafka", _topic_place),
            inserts=items(data, "inserts", Insert.from_json),
            ended=items(data, "ended", _ended),
        )


def _key(data: object) -> Key | None:
    if data is None:
        return None
    return listed(data, "key", lambda value: optional_text(value, "key"))


def _place(value: object) -> int:
    return checked_number(value, "at", most=LARGEST_PLACE)


def _names(value: object) -> tuple[str, ...]:
    return listed(value, "stops", lambda name: checked_text(name, "stops"))


def _ended(value: object) -> Ended:
    table, signal, status = listed(value, "ended", lambda text: checked_text(text, "ended"))
    return Ended(table, signal, status)


def _topic_place(value: object) -> TopicPlace:
    topic, partition, following = listed(value, "kafka", lambda member: member)
    return TopicPlace(
        checked_text(topic, "topic"),
        checked_number(partition, "partition"),
        checked_number(following, "offset"),
    )


def go_on(before: SignalProgress | None, now: SignalProgress | None) -> bool:
    """Whether a signal was applied since `before`, or tables that a signal named are being read."""
    former, progress = before or SignalProgress(), now or SignalProgress()
    if progress.inserts or progress != former.after_range():
        return True
    return progress.running and not progress.paused
