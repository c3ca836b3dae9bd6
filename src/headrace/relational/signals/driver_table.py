"""The signal table over a driver's connection."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Generic

from headrace.relational.reading.kept_connection import C, KeptConnection
from headrace.relational.table import Column
from headrace.signals.collection import SignalCollection
from headrace.signals.signal import Signal

WATERMARK, SENDING = "Writing a watermark", "Sending a signal"
"""Purposes of writes to a signal table."""
_ID = "ID"


class DriverSignalTable(SignalCollection, Generic[C]):
    """See `headrace.signals.collection.SignalCollection`: one connection, opened when it is first
    needed. Each signal is written in its own transaction."""

    def __init__(self, session: KeptConnection[C], name: str, doing: str) -> None:
        """The table `schema.table`; `doing` is the purpose of the writes, for error messages."""
        self._kept, self._name, self._doing = session, name, doing
        schema, _, table = name.partition(".")
        self.path = schema, table

    @abstractmethod
    def _insert(self, connection: C, signal: Signal, /) -> None:
        """Write a row. Raises an error of the driver."""

    @abstractmethod
    def _delete(self, connection: C, column: str, identity: str, /) -> None:
        """Delete the row with a value in a column. Raises an error of the driver."""

    @abstractmethod
    def _columns(self, connection: C, /) -> Sequence[Column]:
        """The table's columns; empty if it does not exist. Raises an error of the driver."""

    @property
    def name(self) -> str:
        """schema.table"""
        return self._name

    def insert(self, signal: Signal) -> None:
        """Write a signal. Raises HeadraceError."""
        with self._writing() as connection:
            self._insert(connection, signal)

    def delete(self, identity: str) -> None:
        """Delete the signal with this id. Raises HeadraceError."""
        with self._writing() as connection:
            columns = self._columns(connection)
            self._delete(connection, columns[0].name if columns else _ID, identity)

    def close(self) -> None:
        """Close the connection; never raises."""
        self._kept.close()

    @contextmanager
    def _writing(self) -> Iterator[C]:
        connection = self._kept.get()
        with self._kept.translated(self._doing):
            yield connection
            connection.commit()
