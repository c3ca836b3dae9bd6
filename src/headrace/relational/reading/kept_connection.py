"""A connection that is opened when it is first needed, and reopened after it was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from headrace.errors import HeadraceError


class DriverConnection(Protocol):
    """A connection of a driver."""

    def commit(self) -> None:
        """Commit the transaction. Raises an error of the driver."""
        ...

    def rollback(self) -> None:
        """Roll back the transaction. Raises an error of the driver."""
        ...

    def close(self) -> None:
        """Disconnect; never raises."""
        ...


C = TypeVar("C", bound=DriverConnection)


class KeptConnection(Generic[C]):
    """A connection for use by one thread. `connect` opens a connection, and raises HeadraceError;
    `translate` converts an error of the driver, during the operation that its second argument
    names, to a HeadraceError (None: it is not an error of the driver)."""

    def __init__(
        self,
        connect: Callable[[], C],
        translate: Callable[[Exception, str], HeadraceError | None],
    ) -> None:
        self._connect, self._translate = connect, translate
        self._connection: C | None = None

    def get(self) -> C:
        """Return the open connection. Raises HeadraceError."""
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    @contextmanager
    def translated(
        self, doing: str, concerns: Callable[[Exception], bool] = lambda _: True
    ) -> Iterator[None]:
        """Context of operations on the connection: errors of the driver become HeadraceError and
        close the connection, except those that do not concern it."""
        try:
            yield
        except Exception as error:
            translated = self._translate(error, doing) if concerns(error) else None
            if translated is None:
                raise
            self.close()
            raise translated from None

    @contextmanager
    def transaction(self, doing: str) -> Iterator[C]:
        """A read-only transaction; it is rolled back at the end, so that no lock remains."""
        connection = self.get()
        with self.translated(doing):
            yield connection
            connection.rollback()

    @property
    def closed(self) -> bool:
        """Whether the connection is not open, or was lost."""
        return self._connection is None

    def close(self) -> None:
        """Close the connection; never raises."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
