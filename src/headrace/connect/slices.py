"""A slice: a part of a range of records that one task reads; and plans that divide ranges into
slices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from headrace.connect.records import Records, Shape
    from headrace.connect.rows import Sequences


@dataclass(frozen=True)
class Plan:
    """The largest number of slices, and their kind: `key` (records of one key share a slice), or
    `position` (contiguous pieces of the log, for sinks that order by `sequence`)."""

    slices: int
    order: str


class Slice(Protocol):
    """A part of a range that one task reads. Log slices are pure functions of their rows; query
    slices (snapshot chunks) open a connection."""

    @property
    def sequences(self) -> Sequences:
        """The numbering of the records."""
        ...

    @property
    def log_bytes(self) -> int | None:
        """Bytes of log that `read` works on; None if it queries a database."""
        ...

    def shapes(self) -> Iterator[Shape]:
        """Return the shapes of the records, as far as they are known before it is read."""
        ...

    def read(self) -> Iterator[list[Records]]:
        """Yield the records in pieces, which follow one another in total order."""
        ...
