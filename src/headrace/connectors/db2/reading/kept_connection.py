"""A connection that is opened when it is first needed, and again when it was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import Connection, Isolation, connect, translated_error
from headrace.connectors.db2.errors import DriverError


class KeptConnection:
    """One thread uses it. Rows are read in `isolation`."""

    def __init__(self, config: Db2Config, isolation: Isolation = Isolation.CS) -> None:
        self._config, self._isolation = config, isolation
        self._connection: Connection | None = None

    def get(self) -> Connection:
        """The open connection. Raises HeadraceError."""
        if self._connection is None:
            self._connection = connect(self._config)
            with self.translated("Connecting"):
                self._connection.isolate(self._isolation)
        return self._connection

    @contextmanager
    def translated(
        self, doing: str, concerns: Callable[[DriverError], bool] = lambda _: True
    ) -> Iterator[None]:
        """Around what is done on it: errors of the driver become HeadraceError, and close it, but
        those that do not concern it."""
        try:
            yield
        except DriverError as error:
            if not concerns(error):
                raise
            self.close()
            raise translated_error(error, self._config, doing) from None

    @contextmanager
    def transaction(self, doing: str) -> Iterator[Connection]:
        """A transaction that only reads; it ends, so that nothing stays locked."""
        connection = self.get()
        with self.translated(doing):
            yield connection
            connection.rollback()

    @property
    def closed(self) -> bool:
        """Whether it is not open, or was lost."""
        return self._connection is None

    def close(self) -> None:
        """Close it; never raises."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
