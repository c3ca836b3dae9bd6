"""The contract of a database for incremental snapshots."""

from __future__ import annotations

import contextlib
import itertools
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from headrace.signals.progress import Key, Pending, key_text
from headrace.snapshots.incremental.rows import ChunkRows
from headrace.snapshots.incremental.visibility import AT_ONCE, DeliveredChanges, Visibility
from headrace.snapshots.tables import TableId


class Target(Protocol):
    """A table that can be read in chunks. A connector's target derives from this class if its log
    has no truncates."""

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that order the table's rows, and bound its chunks."""
        ...

    @property
    def order(self) -> str | None:
        """The identity of the table and of the order of its rows, in the notation of the database:
        bounds of chunks are valid only for the same one. None: it does not change."""
        return None

    @property
    def parts(self) -> frozenset[TableId]:
        """The ids by which the log truncates the table and its partitions."""
        return frozenset()


T = TypeVar("T", bound=Target)


@dataclass(frozen=True)
class KeyRange(Generic[T]):
    """The keys in (lower, upper], at most `limit` rows, `max_bytes` of images unless one row has
    more; None: open."""

    target: T
    lower: Key | None
    upper: Key | None
    limit: int | None = None
    max_bytes: int | None = None

    def cut_at(self, bounds: Sequence[Key], size: int) -> list[KeyRange[T]]:
        """Return the ranges up to each of the bounds, which lie in this range; the last one ends at
        the end of this range, and has a limit of `size` rows."""
        lowers = [self.lower, *bounds]
        inner = [
            KeyRange(self.target, lower, upper, None, self.max_bytes)
            for lower, upper in itertools.pairwise(lowers)
        ]
        return [*inner, KeyRange(self.target, lowers[-1], self.upper, size, self.max_bytes)]


class Skipped(Exception):
    """Raised for a table that is not read; `status` is Debezium's status for it."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


class ChunkTransaction(Protocol[T]):
    """A state of the database, on which ranges of keys are read. A connector derives from this
    class and overrides what its database has."""

    @property
    @abstractmethod
    def visibility(self) -> Visibility:
        """The visibility of changes to this state."""
        ...

    @property
    @abstractmethod
    def taken_us(self) -> int:
        """The time of this state, in microseconds since 1970."""
        ...

    def planning(self, target: T, /) -> AbstractContextManager[None]:  # noqa: ARG002
        """Turn errors inside the block that concern the table into Skipped."""
        return contextlib.nullcontext()

    @abstractmethod
    def largest_key(self, target: T, /) -> Key | None:
        """Return the largest key; None for an empty table."""
        ...

    def row_bytes(self, target: T, /) -> float | None:  # noqa: ARG002
        """Return the bytes of a row by the statistics; None without statistics."""
        return None

    @abstractmethod
    def split(self, whole: KeyRange[T], size: int, count: int, /) -> list[KeyRange[T]]:
        """Return the first ranges of `whole`, `count` at most, each of `size` rows; the last one
        has that limit and ends at the end of `whole`."""
        ...

    @abstractmethod
    def read(self, ranges: Sequence[KeyRange[T]], /) -> list[ChunkRows | Skipped]:
        """Return the rows of each range in the order of its key; ranges may be read in parallel."""
        ...


class ChunkSource(Protocol[T]):
    """The database's side of incremental snapshots. Methods raise HeadraceError, which is retriable
    when a connection was lost. A source derives from this class and overrides what it needs."""

    qualifier: str = ""
    """The optional prefix of a table's name in signals: its database and a dot."""

    @property
    def delivered(self) -> DeliveredChanges:
        """The changes that the log delivered, and whether snapshots see them."""
        return AT_ONCE

    @abstractmethod
    def tables(self) -> list[str]:
        """Return the names of the captured tables, in the order in which they are read."""
        ...

    def silent(self, names: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """Return the captured tables of `names` whose changes never arrive, each with the reason
        and the remedy."""
        return {}

    def estimates(self, names: Sequence[str]) -> dict[str, int]:
        """Return the rows of tables by the statistics; -1 without statistics."""
        return dict.fromkeys(names, -1)

    @abstractmethod
    def position(self) -> int:
        """Return the present position of the log."""
        ...

    def shown_key(self, key: Key | None) -> str:
        """Return a key as notifications show it; empty without a key."""
        return key_text(key)

    def transaction_image(self, place: int, kind: int, /) -> bytes:  # noqa: ARG002
        """Return the image of the transaction that rows at a place of the log, of a kind
        (`RowKind`), show; empty: none."""
        return b""

    @abstractmethod
    def target(self, pending: Pending) -> T:
        """Return the target that describes how to read a table. Raises Skipped."""
        ...

    @abstractmethod
    def transaction(self, *, shared: bool) -> AbstractContextManager[ChunkTransaction[T]]:
        """Return the current state of the database. `shared`: several ranges will be read in
        parallel."""
        ...

    def rest(self) -> None:
        """Release resources that only reading needs, because no chunk is read for now."""
        return

    def close(self) -> None:
        """Close the connections; never raises."""
