"""Descriptions of the log's tables from the catalog, which a separate thread reads.

The thread that owns the stream must answer the server even if the catalog does not respond, so it
never reads the catalog itself. A reading of the catalog is valid for every transaction that it
sees: a session that alters a table keeps others from writing to it until the change is visible.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from headrace.config.secret import without_passwords
from headrace.connect.deadline import Deadline
from headrace.errors import HeadraceError

VISIBLE_SECONDS = 1.0
"""Seconds to wait until a transaction's own changes of the catalog are visible. The log contains a
commit before other sessions see it, and long before if it waits for a synchronous standby."""
_CLOSING_SECONDS = 5


class CatalogVersion(Protocol):
    """A reading of the catalog in one state."""

    @property
    def tables(self) -> Mapping[int, object]:
        """The requested tables, by id."""
        ...

    def sees(self, transaction: int, /) -> bool:
        """Whether its state is later than a transaction of the log."""
        ...


class AskedCatalog(Protocol):
    """The catalog, read over a connection."""

    def cancel(self) -> None:
        """Cancel the query of another thread; never raises."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


R = TypeVar("R", bound=CatalogVersion)


@dataclass(frozen=True)
class _Known(Generic[R]):
    """A reading, and the transaction for which it was taken."""

    reading: R
    transaction: int | None = None


class KnownTables(Generic[R]):
    """Readings of the catalog by table. The methods belong to the thread that owns the stream,
    except those of the reading thread, and `close`, which belongs to the thread that ends it."""

    def __init__(self, catalog: AskedCatalog, first: R | None, connector: str) -> None:
        """`first`: a reading of all expected tables. `connector` is the prefix of error codes.
        Takes over `catalog` and closes it at the end."""
        self._catalog, self._connector = catalog, connector
        self._known: dict[int, _Known[R]] = {}
        self._closing = False
        self._thread: threading.Thread | None = None
        self._answered = threading.Event()
        self._answer: _Known[R] | HeadraceError | None = None
        self._asked: frozenset[int] = frozenset()
        if first is not None:
            self._known = dict.fromkeys(first.tables, _Known(first))

    def reading_for(self, table: int, transaction: int) -> R | None:
        """Return the reading of a table that is valid for a transaction of the log; None if the
        catalog must be read."""
        last = self._known.get(table)
        if last is None:
            return None
        holds = transaction == last.transaction or last.reading.sees(transaction)
        return last.reading if holds else None

    def begin_reading(self, tables: Iterable[int], read: Callable[[], R], transaction: int) -> None:
        """Begin to read tables from the catalog, for a transaction and those after it. Only one
        reading at a time: wait for `answered`."""
        self._asked = frozenset(tables)
        self._answered.clear()
        self._thread = threading.Thread(
            target=self._run, args=(read, transaction), name="headrace-catalogue", daemon=True
        )
        self._thread.start()

    def answered(self, seconds: float) -> bool:
        """Wait up to `seconds`; returns whether the reading is complete. Raises HeadraceError."""
        if not self._answered.wait(seconds):
            return False
        answer, self._answer = self._answer, None
        if isinstance(answer, HeadraceError):
            raise answer
        if answer is not None:
            self._known.update(dict.fromkeys(self._asked, answer))
        return True

    def _run(self, read: Callable[[], R], transaction: int) -> None:
        try:
            self._answer = self._read(read, transaction)
        except HeadraceError as error:
            self._answer = error
        except Exception as error:  # noqa: BLE001 - the waiting thread must get it
            kind = type(error).__name__
            self._answer = HeadraceError(
                f"{self._connector}.catalogue_failed",
                f"Reading the catalogue failed: {kind}: {without_passwords(str(error))}",
                "Report this; the stream can be restarted from its checkpoint.",
                retriable=True,
            )
        finally:
            if self._closing:
                self._catalog.close()
            self._answered.set()

    def _read(self, read: Callable[[], R], transaction: int) -> _Known[R]:
        deadline = Deadline(VISIBLE_SECONDS)
        while True:
            reading = read()
            if deadline.is_over or self._closing or reading.sees(transaction):
                return _Known(reading, transaction)
            deadline.pause(0.01)

    def close(self) -> None:
        """Cancel the current reading, and close the connection; never raises."""
        self._closing = True
        deadline = Deadline(_CLOSING_SECONDS)
        while self._thread is not None and self._thread.is_alive():
            if deadline.is_over:
                return  # the thread closes the connection when it ends
            self._catalog.cancel()
            self._thread.join(0.2)
        self._catalog.close()
