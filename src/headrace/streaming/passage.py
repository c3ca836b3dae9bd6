"""Records inserted between those of the log: the contract between streaming and their inserter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headrace.offsets.offset import Offset, P
from headrace.spool.segment import Segment
from headrace.streaming.facts import Facts
from headrace.streaming.range_rows import RangeRows


@dataclass(frozen=True)
class Passage:
    """The log's next rows, their transactions, the facts by relation, and the memory at an
    address."""

    rows: np.ndarray
    transactions: np.ndarray
    facts: Callable[[int], Facts]
    image: Callable[[int], memoryview]


class Inserter(Protocol[P]):
    """Sees the rows of the log, and inserts records between them: rows of incremental chunks,
    notifications. Its decisions are in the end offset of the range."""

    @property
    def awaits(self) -> bool:
        """Whether it waits for a record of the log, and will insert more then."""
        ...

    @property
    def inserted(self) -> bool:
        """Whether it inserted a record since `begin`."""
        ...

    @property
    def size(self) -> int:
        """Bytes that it inserted since `begin`."""
        ...

    @property
    def towards(self) -> int | None:
        """The place of the log that it waits for; None: it waits for a record, or not at all."""
        ...

    def begin(self, after: Offset[P]) -> None:
        """Begin the range that follows `after`."""
        ...

    def passed(self, passage: Passage) -> None:
        """Process the log's next rows."""
        ...

    def reached(self, end: Offset[P]) -> None:
        """Note that the log was read up to `end`."""
        ...

    def end(self, after: Offset[P], end: Offset[P]) -> Offset[P]:
        """Return `end` with the decisions of the range; `after` itself without any and without new
        rows."""
        ...

    def insert(
        self, range_rows: RangeRows, end: Offset[P], reserve: Callable[[int], Segment]
    ) -> None:
        """Put the records that `end` describes between the rows of the range; `reserve` returns
        memory of so many bytes for their images."""
        ...

    def close(self) -> None:
        """Close the inserter's connections; never raises."""
        ...
