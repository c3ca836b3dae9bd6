"""What an offset says of signals: the incremental snapshot's progress, and what ranges carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

Key = tuple[str | None, ...]
"""Values of a table's chunking columns, as its database writes them."""


def key_text(key: Key | None) -> str:
    """A key for people; empty when there is none."""
    return ",".join("null" if value is None else value for value in key or ())


@dataclass(frozen=True)
class Pending:
    """A table that is to be read. `name` is `schema.table`; `condition` is as the signal had it."""

    name: str
    signal: str
    condition: str | None = None
    surrogate: str | None = None

    def to_json(self) -> list[Any]:
        """As short as it gets: the list stands in every offset."""
        return [self.name, self.signal, self.condition, self.surrogate]

    @staticmethod
    def from_json(data: list[Any]) -> Pending:
        """The reverse of `to_json`."""
        return Pending(*data)


@dataclass(frozen=True)
class Insert:
    """Records that a range holds between those of the log: the rows of a chunk, or a notification.

    `at` is their place: position, kind, ordinal and first part of `sequence`. `shown` (a position
    of the log), `last_commit` and `time_us` are what the rows' `source` shows. A chunk is named by
    its bounds (lower exclusive, None: open; upper inclusive), so that it can be read again.
    """

    at: tuple[int, int, int, int]
    shown: int
    last_commit: int | None
    time_us: int
    table: Pending | None = None
    lower: Key | None = None
    upper: Key | None = None
    notification: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Without what is not there."""
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
        if self.notification is not None:
            out["notification"] = self.notification
        return out

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Insert:
        """The reverse of `to_json`."""
        position, kind, ordinal, part = data["at"]
        table = data.get("table")
        return Insert(
            at=(position, kind, ordinal, part),
            shown=data["lsn"],
            last_commit=data["last_commit"],
            time_us=data["time_us"],
            table=None if table is None else Pending.from_json(table),
            lower=_key(data.get("lower")),
            upper=_key(data.get("upper")),
            notification=data.get("notification"),
        )


class TopicPlace(NamedTuple):
    """Where a partition of the signal topic is read next."""

    topic: str
    partition: int
    next: int


@dataclass(frozen=True)
class SignalProgress:
    """The part of an offset that signals add.

    `tables` are those still to be read, the first one from `after` (exclusive; None: from its
    beginning) to `maximum`; `scanned` counts its rows so far. `stops` are requests that wait for
    the open window, `blocking` tables whose snapshot waits for the end of the range, `xid` the
    transaction that asked for it. `inserts` are what the range that ends here holds. `file` counts
    what was taken of the signal file (see signals.files), `kafka` is how far the signal topic was
    read, `ordinal` numbers what is inserted where nothing came from the log.
    """

    tables: tuple[Pending, ...] = ()
    after: Key | None = None
    maximum: Key | None = None
    scanned: int = 0
    paused: bool = False
    stops: tuple[tuple[str, ...], ...] = ()
    blocking: tuple[Pending, ...] = ()
    xid: int | None = None
    ordinal: int = 0
    file: int = 0
    kafka: tuple[TopicPlace, ...] = ()
    inserts: tuple[Insert, ...] = ()

    @property
    def running(self) -> bool:
        """Whether tables are left to read."""
        return bool(self.tables)

    def next_table(self) -> SignalProgress:
        """Without the first table."""
        return replace(self, tables=self.tables[1:], after=None, maximum=None, scanned=0)

    def to_json(self) -> dict[str, Any]:
        """A canonical JSON object without what is not there."""
        out: dict[str, Any] = {}
        if self.tables:
            out |= {
                "tables": [table.to_json() for table in self.tables],
                "after": None if self.after is None else list(self.after),
                "maximum": None if self.maximum is None else list(self.maximum),
                "scanned": self.scanned,
            }
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
        return out

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SignalProgress:
        """The reverse of `to_json`."""
        return SignalProgress(
            tables=tuple(Pending.from_json(table) for table in data.get("tables", ())),
            after=_key(data.get("after")),
            maximum=_key(data.get("maximum")),
            scanned=data.get("scanned", 0),
            paused=bool(data.get("paused")),
            stops=tuple(tuple(names) for names in data.get("stops", ())),
            blocking=tuple(Pending.from_json(table) for table in data.get("blocking", ())),
            xid=data.get("xid"),
            ordinal=data.get("ordinal", 0),
            file=data.get("file", 0),
            kafka=tuple(TopicPlace(*place) for place in data.get("kafka", ())),
            inserts=tuple(Insert.from_json(insert) for insert in data.get("inserts", ())),
        )


def _key(data: list[str | None] | None) -> Key | None:
    return None if data is None else tuple(data)
