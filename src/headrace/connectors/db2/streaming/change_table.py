"""The rows of one change table in one window, in order, block by block, as changes with images."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from headrace.connectors.db2.lsn import lsn_of, place_of
from headrace.connectors.db2.rows.images import Db2Images
from headrace.connectors.db2.streaming.lsn_columns import LsnColumn
from headrace.connectors.db2.streaming.pairing import DELETED, Changes, pair
from headrace.connectors.db2.streaming.recorded_tables import SchemaChange
from headrace.snapshots.image_block import ImageBlock

log = logging.getLogger(__name__)

COMMIT, INTENT, OPERATION = range(3)
"""Indexes of IBMSNAP_COMMITSEQ, IBMSNAP_INTENTSEQ and IBMSNAP_OPERATION in the rows; the table's
columns come after them."""
LEADING = 3
_FIRST_ROWS = 500
_BLOCKS_BYTES, _BLOCK_BYTES = 32 << 20, 256 << 10
"""Bytes of images in the blocks of all tables at most, and in those of one table in any case; the
rows that are fetched ahead take as many again."""
_FETCH_BYTES = 64 << 20
"""Bytes that the rows of one fetch of all tables may have, if all rows have their largest size; as
many rows as in a table's first fetch are fetched in any case."""
Row = Sequence[object]


class RowCursor(Protocol):
    """The rows of a query."""

    def fetch(self, rows: int, /) -> Sequence[Row]:
        """Return the next rows, at most `rows`; empty at the end."""
        ...

    def close(self) -> None:
        """Close the query; never raises."""
        ...


class AheadCursor(RowCursor, Protocol):
    """The rows of a query, which are fetched ahead: `fetch` then returns those, however many they
    are."""

    def ahead(self, rows: int, /) -> None:
        """Begin to fetch the next rows, at most `rows`, unless a fetch was begun already."""
        ...


@dataclass(frozen=True)
class ChangeBlock:
    """Changes of one table that were read together, in their order: rows of `images`. `commits` and
    `intents` are the numbers of the rows that the changes begin with, which order them, and
    `operations` the IBMSNAP_OPERATION of those rows; `shown` are the numbers that the changes
    show."""

    images: ImageBlock
    changes: Changes
    operations: np.ndarray
    commits: LsnColumn
    intents: LsnColumn
    shown: LsnColumn
    lsn_bytes: int

    def __len__(self) -> int:
        return len(self.changes.old)

    def after(self, count: int) -> ChangeBlock:
        """Return the block without its first changes."""
        rest = slice(count, None)
        return replace(
            self,
            changes=Changes(self.changes.old[rest], self.changes.new[rest]),
            operations=self.operations[rest],
            commits=self.commits.take(rest),
            intents=self.intents.take(rest),
            shown=self.shown.take(rest),
        )


@dataclass
class ChangeTable:
    """The rows of one registration's change table in one window. `relation` is the version of their
    records, `path` the change table's schema and name. At most `most_rows` are fetched from the
    driver at once, and fewer large rows: `tables` are read in parallel, and a row has at most
    `widest_row` bytes, as its columns are declared."""

    cursor: AheadCursor
    images: Db2Images
    relation: int
    path: tuple[str, str]
    most_rows: int
    tables: int = 1
    widest_row: int = 1
    schema_change: Callable[[bytes, bytes], SchemaChange | None] | None = None
    """The function that returns the schema change before the first change that is not delivered, by
    the change's numbers (None: no schema change); called once."""
    block: ChangeBlock | None = None
    is_read: bool = False
    """Whether the cursor has no more rows."""
    held: tuple[Row, ...] = ()
    """A last D, which an I may follow in the next rows."""
    reached: int = 0
    """The place of the last commit of which a row was read."""
    row_bytes: int = 0
    """Bytes of a row's images: the largest mean of the blocks so far."""

    @property
    def name(self) -> str:
        """The name of the change table, for messages: schema.table."""
        return ".".join(self.path)

    def load(self) -> bool:
        """Read until the block has changes, or to the end; returns whether it has any."""
        while not (self.block is not None and len(self.block)):
            if self.is_read:
                return False
            rows = self.cursor.fetch(self._next_rows())
            self.is_read = len(rows) == 0
            self._fetch_ahead()
            rows = [*self.held, *self._with_places(rows)]
            self.held = ()
            if rows:
                self.reached = place_of(bytes(rows[-1][COMMIT]))  # type: ignore[call-overload]
            if not self.is_read and rows and rows[-1][OPERATION] == chr(DELETED):
                self.held = (rows.pop(),)
            if rows:
                self.block = self._block(rows)
            self._fetch_ahead()
        return True

    def _fetch_ahead(self) -> None:
        """Begin to fetch the next rows, once it is known how large rows are."""
        if self.row_bytes and not self.is_read:
            self.cursor.ahead(self._next_rows())

    def _next_rows(self) -> int:
        """Return how many rows to fetch: few at first, then what fits in this table's part of
        memory, even if all rows have their largest size."""
        if not self.row_bytes:
            return min(self.most_rows, _FIRST_ROWS)
        room = max(_BLOCKS_BYTES // self.tables, _BLOCK_BYTES)
        largest = max(_FETCH_BYTES // self.tables // self.widest_row, _FIRST_ROWS)
        return max(1, min(self.most_rows, room // self.row_bytes, largest))

    def _with_places(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return the rows that have a place in the log. The others are left out with a warning, as
        in Debezium."""
        placed = [row for row in rows if row[COMMIT] is not None and row[INTENT] is not None]
        if len(placed) < len(rows):
            log.warning(
                "%d rows of the change table %s have no commit or intent sequence, and are left "
                "out",
                len(rows) - len(placed),
                self.name,
            )
        return placed

    def _block(self, rows: Sequence[Row]) -> ChangeBlock:
        columns = list(zip(*rows, strict=True))
        operations = np.frombuffer("".join(columns[OPERATION]).encode(), np.uint8)
        commits, intents = LsnColumn.of(columns[COMMIT]), LsnColumn.of(columns[INTENT])
        changes = pair(operations, commits)
        first, last = changes.first, changes.last
        images = self.images.of_columns(columns, len(rows))
        self.row_bytes = max(self.row_bytes, -(-len(images.images) // len(rows)), 1)
        return ChangeBlock(
            images,
            changes,
            operations[first],
            commits.take(first),
            intents.take(first),
            intents.take(last),
            len(columns[COMMIT][0]),
        )

    def change_before(self, row: int) -> SchemaChange | None:
        """Return the schema change that comes before this change of the block."""
        find_change, self.schema_change = self.schema_change, None
        if find_change is None or self.block is None:
            return None
        commit, change = self.block.commits.place(row), self.block.intents.place(row)
        return find_change(
            lsn_of(commit, self.block.lsn_bytes), lsn_of(change, self.block.lsn_bytes)
        )

    def taken(self, count: int) -> None:
        """Remove the first changes of the block, which are merged."""
        assert self.block is not None
        self.block = self.block.after(count)
