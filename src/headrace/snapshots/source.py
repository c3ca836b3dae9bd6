"""What a snapshot asks of its database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from headrace.snapshots.chunks import KeyBound
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


class SnapshotSource(Protocol):
    """The database under a snapshot: holds one state of it, lists its tables, finds bounds of
    chunks. All methods raise HeadraceError."""

    @property
    def page_bytes(self) -> int:
        """Bytes of a page, in which leaves are measured."""
        ...

    @property
    def held(self) -> HeldSnapshot | None:
        """The snapshot that is held; None before `hold`, and when it was lost."""
        ...

    def lock(self) -> None:
        """Lock the tables that will be read, as the configuration says; once."""
        ...

    def hold(self, covers: str | None) -> HeldSnapshot:
        """Take a snapshot that sees all that `covers` sees (None: whatever committed before now;
        empty: nothing). Waits for what keeps it from that."""
        ...

    def tables(self, conditions: Mapping[str, str | None] | None = None) -> list[SnapshotTable]:
        """The tables with rows in the held snapshot, in the order in which they are read.
        `conditions`: only these tables, each with its filter."""
        ...

    def expect(self, tables: Sequence[SnapshotTable]) -> None:
        """These tables will be asked for, one after the other."""
        ...

    def refresh(self, tables: Sequence[SnapshotTable] = ()) -> None:
        """Forget what the catalogue said of tables, and read at once what it says of these."""
        ...

    def has_key(self, table: SnapshotTable) -> bool:
        """Whether events of the table have a key, so that a row may be read twice."""
        ...

    def rows(self, leaf: Leaf) -> int:
        """How many rows a leaf has: by the statistics, counted or estimated."""
        ...

    def next_bound(
        self, table: SnapshotTable, leaf: Leaf, lower: KeyBound | None, rows: int
    ) -> KeyBound | None:
        """The key `rows` rows after `lower` (None: after the first); None when there are fewer, or
        when the table is gone."""
        ...

    def close(self) -> None:
        """Let the snapshot and the locks go; never raises."""
        ...
