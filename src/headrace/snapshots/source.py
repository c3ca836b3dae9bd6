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
    """A state of the database that queries can see until it is let go. A state derives from this
    class and leaves out what its database does not have."""

    @property
    @abstractmethod
    def taken_us(self) -> int:
        """When it was taken, in microseconds since 1970."""
        ...

    @property
    def transaction(self) -> int | None:
        """A transaction id of that moment, for `source`; None without one."""
        return None

    @property
    @abstractmethod
    def visible(self) -> str:
        """What it sees, in the words of its database: stored in offsets, and given to `hold`."""
        ...

    def alive(self) -> bool:
        """Whether it can still be seen."""
        return True

    def close(self) -> None:
        """Let it go; never raises."""
        return  # most databases hold nothing


H = TypeVar("H", bound=HeldSnapshot)


class SnapshotHolder(ABC, Generic[H]):
    """The part of SnapshotSource that concerns what is held. A source derives from this class
    before SnapshotSource."""

    _snapshot: H | None = None
    continued_at: int | None = None
    """See SnapshotSource."""

    @abstractmethod
    def _taken(self, covers: str | None, /) -> H:
        """Takes a snapshot; see `SnapshotSource.hold`."""

    @abstractmethod
    def position(self) -> int:
        """See SnapshotSource."""

    def hold(self, covers: str | None) -> H:
        """See SnapshotSource."""
        held = self._taken(covers)
        self.adopt(held)
        if covers:
            self.continued_at = self.position()
        return held

    @property
    def held(self) -> H | None:
        """The snapshot that is held; None if no snapshot is held, or if it was lost."""
        if self._snapshot is not None and not self._snapshot.alive():
            self._let_go()
        return self._snapshot

    def adopt(self, held: H) -> None:
        """Hold a snapshot that was taken already."""
        self._snapshot = held

    def let_go(self) -> None:
        """See SnapshotSource."""
        self._let_go()

    def close(self) -> None:
        """Let the snapshot go; never raises."""
        self._let_go()

    def _present(self) -> H:
        """The snapshot of which it is known that it is held."""
        assert self._snapshot is not None
        return self._snapshot

    def _let_go(self) -> None:
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None


class SnapshotSource(Protocol[P, H]):
    """The database under a snapshot: holds one state of it, lists its tables, finds bounds of
    chunks. All methods raise HeadraceError. A source derives from this class and leaves out what
    it does not need."""

    @property
    def page_bytes(self) -> int:
        """Bytes of a page, in which leaves are measured."""
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
    def adopt(self, held: H, /) -> None:
        """Hold a snapshot that was taken already."""
        ...

    @abstractmethod
    def hold(self, covers: str | None) -> H:
        """Take a snapshot that sees all that `covers` sees (None: whatever committed before now;
        empty: nothing). Waits for what keeps it from that."""
        ...

    def regain(self, visible: str) -> bool:  # noqa: ARG002
        """Hold the snapshot again that saw `visible` and was lost with its process, where the
        database can still show it; whether it is held now."""
        return False

    def let_go(self) -> None:
        """Let the snapshot go, so that a later one can be held; never raises."""
        return

    def is_outdated(self, tables: Sequence[SnapshotTable]) -> bool:  # noqa: ARG002
        """Whether the held snapshot can no longer show the rows of one of these tables. Raises
        AttemptOver where no other one can, either."""
        return False

    def recut(
        self,
        tables: Sequence[SnapshotTable],
        begun: Sequence[int],  # noqa: ARG002
    ) -> Sequence[SnapshotTable]:
        """The tables with the partitions that the held snapshot sees. Leaves keep their numbers,
        and others follow them; those that are gone have no rows. `begun`: how many leaves of each
        are not read from their beginning on any more."""
        return tables

    @abstractmethod
    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        """The tables with rows in the held snapshot, in the order in which they are read.
        `conditions`: only these tables, each with its filter."""
        ...

    def expect(self, tables: Sequence[SnapshotTable]) -> None:  # noqa: ARG002
        """These tables will be asked for, one after the other."""
        return

    def refresh(self, tables: Sequence[SnapshotTable] = ()) -> None:  # noqa: ARG002
        """Forget what the catalogue said of tables, and read at once what it says of these."""
        return

    def has_key(self, table: SnapshotTable) -> bool:  # noqa: ARG002
        """Whether events of the table have a key, so that a row may be read twice."""
        return True

    def rows(self, leaf: Leaf) -> int:
        """How many rows a leaf has: by the statistics, counted or estimated."""
        return leaf.rows

    @abstractmethod
    def next_bound(
        self, table: SnapshotTable, leaf: Leaf, lower: KeyBound | None, rows: int
    ) -> KeyBound | None:
        """The key `rows` rows after `lower` (None: after the first); None when there are fewer, or
        when the table is gone."""
        ...

    @abstractmethod
    def query(
        self, table: SnapshotTable, chunk: Chunk, announcements: ChunkAnnouncements | None
    ) -> ChunkQuery | None:
        """How a task reads a chunk; None: the table is gone."""
        ...

    @abstractmethod
    def reader(self) -> SnapshotReader:
        """How tasks connect to the snapshot that is held."""
        ...

    # -- the log ------------------------------------------------------------------------------

    @property
    def continued_at(self) -> int | None:
        """A place of the log that is after whatever the rows that were read so far show; None:
        they show what there was when the snapshot was taken."""
        return None

    @abstractmethod
    def position(self) -> int:
        """Where the log is now."""
        ...

    def moved(self, position: P, /) -> P:
        """The position between transactions where the log is now."""
        return position.at(self.position())

    def shown(self, position: P, /) -> int:
        """What `source` shows as the place of rows that are read at a position: that of the
        position, unless rows of a snapshot show another one."""
        return position.shown

    def last_commit(self, position: P, /) -> int | None:  # noqa: ARG002
        """What `source` shows of the last commit at a position; None: nothing."""
        return None

    def transaction_image(self, position: P, kind: int, /) -> bytes:  # noqa: ARG002
        """The image that rows at a position, of a kind (`RowKind`), have of their
        transaction; empty: none."""
        return b""

    # -- records before the rows ---------------------------------------------------------------

    @property
    def is_prefaced(self) -> bool:
        """Whether a snapshot begins with a range of other records, before its first chunk."""
        return False

    def preface(self, position: P, /) -> Sequence[PrefaceRecord]:  # noqa: ARG002
        """These records, of a snapshot that begins at a position."""
        return ()

    @abstractmethod
    def close(self) -> None:
        """Let the snapshot and the locks go; never raises."""
        ...
