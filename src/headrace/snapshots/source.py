"""What a snapshot asks of its database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from headrace.offsets.offset import P
from headrace.snapshots.chunks import Chunk, KeyBound
from headrace.snapshots.notifications import ChunkAnnouncements
from headrace.snapshots.slices import ChunkQuery, SnapshotReader
from headrace.snapshots.tables import Leaf, SnapshotTable


class HeldSnapshot(Protocol):
    """A state of the database that queries can see until it is let go."""

    @property
    def taken_us(self) -> int:
        """When it was taken, in microseconds since 1970."""
        ...

    @property
    def transaction(self) -> int | None:
        """A transaction id of that moment, for `source`; None: there is none."""
        ...

    @property
    def visible(self) -> str:
        """What it sees, in the words of its database: stored in offsets, and given to `hold`."""
        ...


H = TypeVar("H", bound=HeldSnapshot)


class SnapshotSource(Protocol[P, H]):
    """The database under a snapshot: holds one state of it, lists its tables, finds bounds of
    chunks. All methods raise HeadraceError. A source derives from this class and leaves out what
    it does not need."""

    @property
    def page_bytes(self) -> int:
        """Bytes of a page, in which leaves are measured."""
        ...

    @property
    def held(self) -> H | None:
        """The snapshot that is held; None before `hold`, and when it was lost."""
        ...

    def lock(self) -> None:
        """Lock the tables that will be read, as the configuration says; once."""

    def adopt(self, held: H, /) -> None:
        """Hold a snapshot that was taken already."""
        ...

    def hold(self, covers: str | None) -> H:
        """Take a snapshot that sees all that `covers` sees (None: whatever committed before now;
        empty: nothing). Waits for what keeps it from that."""
        ...

    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        """The tables with rows in the held snapshot, in the order in which they are read.
        `conditions`: only these tables, each with its filter."""
        ...

    def expect(self, tables: Sequence[SnapshotTable]) -> None:
        """These tables will be asked for, one after the other."""

    def refresh(self, tables: Sequence[SnapshotTable] = ()) -> None:
        """Forget what the catalogue said of tables, and read at once what it says of these."""

    def has_key(self, table: SnapshotTable) -> bool:  # noqa: ARG002
        """Whether events of the table have a key, so that a row may be read twice."""
        return True

    def rows(self, leaf: Leaf) -> int:
        """How many rows a leaf has: by the statistics, counted or estimated."""
        ...

    def next_bound(
        self, table: SnapshotTable, leaf: Leaf, lower: KeyBound | None, rows: int
    ) -> KeyBound | None:
        """The key `rows` rows after `lower` (None: after the first); None when there are fewer, or
        when the table is gone."""
        ...

    def query(
        self, table: SnapshotTable, chunk: Chunk, announcements: ChunkAnnouncements | None
    ) -> ChunkQuery | None:
        """How a task reads a chunk; None: the table is gone."""
        ...

    def reader(self) -> SnapshotReader:
        """How tasks connect to the snapshot that is held."""
        ...

    # -- the log ------------------------------------------------------------------------------

    @property
    def continued_at(self) -> int | None:
        """Where the log was when a snapshot was taken that goes on with a lost one; None: none
        was."""
        ...

    def position(self) -> int:
        """Where the log is now."""
        ...

    def moved(self, position: P, /) -> P:
        """The position between transactions where the log is now."""
        ...

    def last_commit(self, position: P, /) -> int | None:  # noqa: ARG002
        """What `source` shows of the last commit at a position; None: nothing."""
        return None

    def close(self) -> None:
        """Let the snapshot and the locks go; never raises."""
        ...
