"""The contract of a database for snapshots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from headrace.offsets.offset import P
from headrace.snapshots.chunks import Chunk, KeyBound
from headrace.snapshots.notifications import ChunkAnnouncements
from headrace.snapshots.slices import ChunkQuery, PrefaceRecord, SnapshotReader
from headrace.snapshots.tables import Leaf, SnapshotTable


class HeldSnapshot(Protocol):
    """A state of the database that queries can see until it is let go. A connector derives from
    this class and overrides what its database has."""

    @property
    @abstractmethod
    def taken_us(self) -> int:
        """The time of this state, in microseconds since 1970."""
        ...

    @property
    def transaction(self) -> int | None:
        """A transaction id of that time, for `source`; None without one."""
        return None

    @property
    @abstractmethod
    def visible(self) -> str:
        """The visibility of this state, in the notation of its database: stored in offsets, and
        passed to `hold`."""
        ...

    def alive(self) -> bool:
        """Whether queries can still see this state."""
        return True

    def close(self) -> None:
        """Let the state go; never raises."""
        return  # most databases have nothing to release


H = TypeVar("H", bound=HeldSnapshot)


class SnapshotHolder(ABC, Generic[H]):
    """The part of SnapshotSource that holds snapshots. A source derives from this class before
    SnapshotSource."""

    _snapshot: H | None = None
    continued_at: int | None = None
    """See SnapshotSource."""

    @abstractmethod
    def _taken(self, covers: str | None, /) -> H:
        """Take a snapshot; see `SnapshotSource.hold`."""

    @abstractmethod
    def position(self) -> int:
        """See SnapshotSource."""

    def hold(self, covers: str | None) -> H:
        """See SnapshotSource."""
        snapshot = self._taken(covers)
        self.adopt(snapshot)
        if covers:
            self.continued_at = self.position()
        return snapshot

    @property
    def held(self) -> H | None:
        """The snapshot that is held; None if no snapshot is held, or if it was lost."""
        if self._snapshot is not None and not self._snapshot.alive():
            self._let_go()
        return self._snapshot

    def adopt(self, held_snapshot: H) -> None:
        """Hold a snapshot that was taken already."""
        self._snapshot = held_snapshot

    def let_go(self) -> None:
        """See SnapshotSource."""
        self._let_go()

    def close(self) -> None:
        """Let the snapshot go; never raises."""
        self._let_go()

    def _present(self) -> H:
        """Return the held snapshot, which must exist."""
        assert self._snapshot is not None
        return self._snapshot

    def _let_go(self) -> None:
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None


class SnapshotSource(Protocol[P, H]):
    """The database's side of a snapshot: holds one state of it, lists its tables, finds bounds of
    chunks. Methods may raise HeadraceError, unless they say that they never raise. A source derives
    from this class and overrides what it needs."""

    @property
    def page_bytes(self) -> int:
        """Bytes of a page, the unit of leaves."""
        return 8192

    @property
    @abstractmethod
    def held(self) -> H | None:
        """The snapshot that is held; None before `hold`, and when it was lost."""
        ...

    def lock(self) -> None:
        """Lock the tables that will be read, as the configuration says; once."""
        return

    @abstractmethod
    def adopt(self, held_snapshot: H, /) -> None:
        """Hold a snapshot that was taken already."""
        ...

    @abstractmethod
    def hold(self, covers: str | None) -> H:
        """Take a snapshot that sees all that `covers` sees (None: every change committed before
        now; empty: nothing). Waits until that is possible."""
        ...

    def regain(self, visible: str) -> bool:  # noqa: ARG002
        """Hold again the snapshot that saw `visible` and was lost with its process, if the database
        can still show it; return whether it is held now."""
        return False

    def let_go(self) -> None:
        """Let the snapshot go, so that a later one can be held; never raises."""
        return

    def is_outdated(self, tables: Sequence[SnapshotTable]) -> bool:  # noqa: ARG002
        """Whether the held snapshot can no longer show the rows of one of these tables. Raises
        AttemptOver if a later snapshot could not show them either."""
        return False

    def recut(
        self,
        tables: Sequence[SnapshotTable],
        begun: Sequence[int],  # noqa: ARG002
    ) -> Sequence[SnapshotTable]:
        """Return the tables with the partitions that the held snapshot sees. Leaves keep their
        numbers, new ones follow them, and dropped ones have no rows. `begun`: how many leaves of
        each table will not be read from their beginning any more."""
        return tables

    @abstractmethod
    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        """Return the tables with rows in the held snapshot, in the order in which they are read.
        `conditions`: only these tables, each with its filter."""
        ...

    def expect(self, tables: Sequence[SnapshotTable]) -> None:  # noqa: ARG002
        """Prepare for queries of these tables, one after the other."""
        return

    def refresh(self, tables: Sequence[SnapshotTable] = ()) -> None:  # noqa: ARG002
        """Forget the catalogue's descriptions of tables, and read those of these tables at once."""
        return

    def has_key(self, table: SnapshotTable) -> bool:  # noqa: ARG002
        """Whether events of the table have a key, so that a row may be read twice."""
        return True

    def rows(self, leaf: Leaf) -> int:
        """Return how many rows a leaf has: by the statistics, counted or estimated."""
        return leaf.rows

    @abstractmethod
    def next_bound(
        self, table: SnapshotTable, leaf: Leaf, lower: KeyBound | None, rows: int
    ) -> KeyBound | None:
        """Return the key `rows` rows after `lower` (None: after the first); None if there are fewer
        rows, or the table is gone."""
        ...

    @abstractmethod
    def query(
        self, table: SnapshotTable, chunk: Chunk, announcements: ChunkAnnouncements | None
    ) -> ChunkQuery | None:
        """Return how a task reads a chunk; None: the table is gone."""
        ...

    @abstractmethod
    def reader(self) -> SnapshotReader:
        """Return the reader by which tasks connect to the held snapshot."""
        ...

    # -- the log ------------------------------------------------------------------------------

    @property
    def continued_at(self) -> int | None:
        """A place of the log after every change that the rows read so far show; None: they show the
        state of the time when the snapshot was taken."""
        return None

    @abstractmethod
    def position(self) -> int:
        """Return the present position of the log."""
        ...

    def moved(self, position: P, /) -> P:
        """Return the position between transactions at the present end of the log."""
        return position.at(self.position())

    def shown(self, position: P, /) -> int:
        """Return the place that `source` shows for rows that are read at a position: the
        position's, unless rows of a snapshot show another one."""
        return position.shown

    def last_commit(self, position: P, /) -> int | None:  # noqa: ARG002
        """Return the last commit that `source` shows for a position; None: none."""
        return None

    def transaction_image(self, position: P, kind: int, /) -> bytes:  # noqa: ARG002
        """Return the image of the transaction for rows of this `kind` (`RowKind`) at a position;
        empty: they show no transaction."""
        return b""

    # -- records before the rows ---------------------------------------------------------------

    @property
    def is_prefaced(self) -> bool:
        """Whether a snapshot begins with a range of other records, before its first chunk."""
        return False

    def preface(self, position: P, /) -> Sequence[PrefaceRecord]:  # noqa: ARG002
        """Return these records, of a snapshot that begins at a position."""
        return ()

    @abstractmethod
    def close(self) -> None:
        """Let the snapshot and the locks go; never raises."""
        ...
