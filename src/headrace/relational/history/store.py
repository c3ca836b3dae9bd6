"""Where the records of a schema history are kept: lines of JSON, in the order of their writing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol


class HistoryStore(Protocol):
    """One process writes it at a time. Methods raise HeadraceError."""

    @property
    def name(self) -> str:
        """Where it is, for messages."""
        ...

    is_whole: bool = True
    """Whether it has all that was ever told: not so the memory of a process that goes on with the
    stream of another one."""

    def lines(self) -> Iterator[bytes]:
        """Every record, the oldest first, without line ends; none where there is no history
        yet."""
        ...

    def append(self, lines: Sequence[str]) -> None:
        """Write records after the others; when this returns they outlive a power failure."""
        ...

    def close(self) -> None:
        """Let it go; never raises."""
        ...


class MemoryStore(HistoryStore):
    """A history that ends with its process; it is whole if that one read the snapshot."""

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
