"""Records that are inserted between those of the log: what streaming shows to who inserts them."""

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
    """Rows of the log that come next, their transactions, the facts by relation, and the memory
    behind an address."""

    rows: np.ndarray
    transactions: np.ndarray
    facts: Callable[[int], Facts]
    image: Callable[[int], memoryview]


class Inserter(Protocol[P]):
    """Watches the log pass, and inserts records between its own: rows of incremental chunks,
    notifications. Its decisions are in the end offset of the range."""

    @property
    def awaits(self) -> bool:
        """Whether it waits for something in the log, and will insert more then."""
        ...

    @property
    def inserted(self) -> bool:
        """Whether it inserted something since `begin`."""
        ...

    @property
    def size(self) -> int:
        """Bytes that it inserted since `begin`."""
        ...

    @property
    def towards(self) -> int | None:
        """The place of the log that it waits for; None: a record, or nothing."""
        ...

    def begin(self, after: Offset[P]) -> None:
        """The range that follows `after` begins."""
        ...

    def passed(self, passage: Passage) -> None:
        """The log's next rows."""
        ...

    def reached(self, end: Offset[P]) -> None:
        """The log was passed up to `end`."""
        ...

    def end(self, after: Offset[P], end: Offset[P]) -> Offset[P]:
        """`end` with what was decided; `after` itself when nothing was and nothing came."""
        ...

    def insert(
        self, range_rows: RangeRows, end: Offset[P], reserve: Callable[[int], Segment]
    ) -> None:
        """Put the records that `end` describes between the rows of the range; `reserve` gives
        memory of so many bytes for their images."""
        ...

    def close(self) -> None:
        """Close its connections; never raises."""
        ...
