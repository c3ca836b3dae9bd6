"""Stores for the records of a schema history: lines of JSON, in the order of writing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol


class HistoryStore(Protocol):
    """A store to which one process writes at a time. Methods raise HeadraceError."""

    @property
    def name(self) -> str:
        """The name of the store, for messages."""
        ...

    is_whole: bool = True
    """Whether it has all records that were ever written; False for the memory of a process that
    continues the stream of another process."""

    def lines(self) -> Iterator[bytes]:
        """All records, the oldest first, without line ends; empty if no history exists yet."""
        ...

    def append(self, lines: Sequence[str]) -> None:
        """Append records; they survive a power failure when this returns."""
        ...

    def close(self) -> None:
        """Close the store; never raises."""
        ...


class MemoryStore(HistoryStore):
    """A history that ends with its process; it is complete if this process read the snapshot."""

    name = "memory"

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self.is_whole = False

    def lines(self) -> Iterator[bytes]:
        """See HistoryStore."""
        return iter(tuple(self._lines))

    def append(self, lines: Sequence[str]) -> None:
        """See HistoryStore."""
        self._lines += [line.encode() for line in lines]

    def close(self) -> None:
        """See HistoryStore."""
