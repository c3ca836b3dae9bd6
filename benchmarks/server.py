"""What the scenarios need of a database server that all contenders read."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Writer(Protocol):
    """A connection that inserts."""

    def insert(self, key: int) -> None:
        """Insert a row or document with this key; returns when the server has acknowledged it."""


class BenchServer(ABC):
    """A running server with the benchmark's database."""

    key: re.Pattern[bytes]  # finds the key of an inserted row in the line of its event

    @abstractmethod
    def properties(self) -> dict[str, str]:
        """How Debezium's connector reaches it, and what it is called."""

    @abstractmethod
    def from_now_on(self, collection: str, reader: str) -> dict[str, str]:
        """The properties that capture this table or collection, and nothing else, from this moment
        on, without a snapshot. Each reader has a name."""

    @abstractmethod
    def forget_readers(self) -> None:
        """What the server keeps for readers that ended."""

    @abstractmethod
    def watching(self) -> AbstractContextManager[Any]:
        """A connection for `first_read`."""

    @abstractmethod
    def first_read(self, connection: Any, kind: str) -> float | None:
        """When somebody began to read, in seconds since 1970; None: nobody reads. `kind` is
        `snapshot` or `stream`."""

    @abstractmethod
    def streaming(self) -> bool:
        """Whether somebody waits for changes."""

    @abstractmethod
    def make_empty(self, collection: str) -> None:
        """An empty table or collection."""

    @abstractmethod
    def writer(self, collection: str) -> AbstractContextManager[Writer]:
        """A connection that inserts into this table or collection."""
