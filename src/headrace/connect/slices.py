"""A part of a range of records that one task reads, and how ranges are cut into such parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from headrace.connect.records import Records, Shape
    from headrace.connect.rows import Sequences


@dataclass(frozen=True)
class Plan:
    """How many slices at most, and which kind: `key` (records of one key share a slice), or
    `position` (contiguous pieces of the log, for sinks that order by `sequence`)."""

    slices: int
    order: str


class Slice(Protocol):
    """A part of a range that one task reads. Log slices are pure functions of their rows; query
    slices (snapshot chunks) open a connection."""

    @property
    def sequences(self) -> Sequences:
        """How the records are numbered."""
        ...

    @property
    def log_bytes(self) -> int | None:
        """Bytes of log that `read` works on; None when it asks a database."""
        ...

    def shapes(self) -> Iterator[Shape]:
        """The shapes of its records, as far as they are known before it is read."""
        ...

    def read(self) -> Iterator[list[Records]]:
        """Records in pieces; the pieces follow one another in total order."""
        ...
