"""The contract of a database for incremental snapshots."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from headrace.signals.progress import Key, Pending, key_text
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.snapshots.incremental.visibility import AT_ONCE, Delivered, Visibility
from headrace.snapshots.tables import TableId


class Target(Protocol):
    """A table that can be read in chunks. A target derives from this class where the log knows no
    truncates."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that order its rows, and bound its chunks."""
        ...

    @property
    def order(self) -> str | None:
        """Which table this is, and what the order of its rows follows, in the words of the
        database: bounds of chunks mean nothing in another one. None: it does not change."""
        return None

    @property
    def parts(self) -> frozenset[TableId]:
        """The ids by which the log truncates the table and its partitions."""
        return frozenset()


T = TypeVar("T", bound=Target)


@dataclass(frozen=True)
class KeyRange(Generic[T]):
    """(lower, upper], `limit` rows at most, `max_bytes` of images unless one row has more; None is
    open."""

    target: T
    lower: Key | None
    upper: Key | None
    limit: int | None = None
    max_bytes: int | None = None

    def cut_at(self, bounds: Sequence[Key], size: int) -> list[KeyRange[T]]:
        """The ranges up to each of the bounds, which lie in this range; the last one ends where
        this one does, and has a limit of `size` rows."""
        lowers = [self.lower, *bounds]
        inner = [
            KeyRange(self.target, lower, upper, None, self.max_bytes)
            for lower, upper in itertools.pairwise(lowers)
        ]
        return [*inner, KeyRange(self.target, lowers[-1], self.upper, size, self.max_bytes)]


class Skipped(Exception):
    """A table that is not read; `status` is Debezium's word for it."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


class ChunkTransaction(Protocol[T]):
    """One state of the database, on which ranges of keys are read. A database derives from this
    class and leaves out what it does not know."""

    @property
    def visibility(self) -> Visibility:
        """What it sees."""
        ...

    @property
    def taken_us(self) -> int:
        """When it was taken, in microseconds since 1970."""
        ...

    def planning(self, target: T, /) -> AbstractContextManager[None]:  # noqa: ARG002
        """Around the questions about a table: what fails because of the table becomes Skipped."""
        return contextlib.nullcontext()

    def largest_key(self, target: T, /) -> Key | None:
        """The largest key; None for an empty table."""
        ...

    def row_bytes(self, target: T, /) -> float | None:  # noqa: ARG002
        """Bytes of a row by the statistics; None: nobody counted them yet."""
        return None

    def split(self, whole: KeyRange[T], size: int, count: int, /) -> list[KeyRange[T]]:
        """The first ranges of `whole`, `count` at most, each of `size` rows; the last one has that
        limit and ends where `whole` does."""
        ...

    def read(self, ranges: Sequence[KeyRange[T]], /) -> list[ChunkRows | Skipped]:
        """The rows of each range in the order of its key; several of them at the same time."""
        ...


class ChunkSource(Protocol[T]):
    """The database under incremental snapshots. Methods raise HeadraceError, which may be retried
    when a connection was lost. A source derives from this class and leaves out what it does not
    need."""

    qualifier: str = ""
    """The optional prefix of a table's name in signals: its database and a dot."""

    @property
    def delivered(self) -> Delivered:
        """What the log delivered, and whether it can be seen."""
        return AT_ONCE

    def tables(self) -> list[str]:
        """Names of the captured tables, in the order in which they are read."""
        ...

    def silent(self, names: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """The captured tables of `names` whose changes never arrive, each with the reason and the
        remedy."""
        return {}

    def estimates(self, names: Sequence[str]) -> dict[str, int]:
        """Rows of tables by the statistics; -1 without statistics."""
        return dict.fromkeys(names, -1)

    def position(self) -> int:
        """Where the log is now."""
        ...

    def shown_key(self, key: Key | None) -> str:
        """A key as notifications show it; empty without a key."""
        return key_text(key)

    def transaction_image(self, place: int, kind: int, /) -> bytes:  # noqa: ARG002
        """The image that rows at a place of the log, of a kind (`RowKind`), have of
        their transaction; empty: none."""
        return b""

    def target(self, pending: Pending) -> T:
        """How to read a table. Raises Skipped."""
        ...

    def transaction(self, *, shared: bool) -> AbstractContextManager[ChunkTransaction[T]]:
        """The current state of the database. `shared`: several ranges will be read at once."""
        ...

    def rest(self) -> None:
        """Nothing is to be read for now."""
        return

    def close(self) -> None:
        """Close the connections; never raises."""
