"""What the catalogue says of tables in the log, and who asks it: a thread of its own.

The thread that owns the stream must answer the server whatever the catalogue does, so it never
asks itself. A reading of the catalogue holds for every transaction that it sees: who changes a
table keeps others from writing to it until the change can be seen.
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
"""How long a transaction's own changes of the catalogue are waited for. The log shows a commit
before other sessions see it, and long before when it waits for a synchronous standby."""
_CLOSING_SECONDS = 5


class Reading(Protocol):
    """One state of the catalogue."""

    @property
    def tables(self) -> Mapping[int, object]:
        """The tables that were asked for, by id."""
        ...

    def sees(self, transaction: int, /) -> bool:
        """Whether it is as of a moment after a transaction of the log."""
        ...


class AskedCatalog(Protocol):
    """The catalogue over a connection."""

    def cancel(self) -> None:
        """End the question that another thread asks; never raises."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


R = TypeVar("R", bound=Reading)


@dataclass(frozen=True)
class _Known(Generic[R]):
    """A reading, and the transaction that it was taken for."""

    reading: R
    transaction: int | None = None


class KnownTables(Generic[R]):
    """Readings of the catalogue by table. All methods but the reading thread's belong to the
    thread that owns the stream, and `close` to the one that ends it."""

    def __init__(self, catalog: AskedCatalog, first: R | None, connector: str) -> None:
        """`first`: of all tables that are expected. `connector` begins the codes of errors. Closes
        `catalog` in the end."""
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
        """What the catalogue says of a table to a transaction of the log; None: it must be
        asked."""
        last = self._known.get(table)
        if last is None:
            return None
        holds = transaction == last.transaction or last.reading.sees(transaction)
        return last.reading if holds else None

    def begin_reading(self, tables: Iterable[int], read: Callable[[], R], transaction: int) -> None:
        """Begin to read what the catalogue says of tables, for a transaction and what follows it.
        Nothing else may be asked for until `answered`."""
        self._asked = frozenset(tables)
        self._answered.clear()
        self._thread = threading.Thread(
            target=self._run, args=(read, transaction), name="headrace-catalogue", daemon=True
        )
        self._thread.start()

    def answered(self, seconds: float) -> bool:
        """Whether the answer is there, after `seconds` at most. Raises HeadraceError."""
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
        except Exception as error:  # noqa: BLE001 - who waits must hear of it
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
        """End what is being asked, and the connection; never raises."""
        self._closing = True
        deadline = Deadline(_CLOSING_SECONDS)
        while self._thread is not None and self._thread.is_alive():
            if deadline.is_over:
                return  # it closes the connection when it ends
            self._catalog.cancel()
            self._thread.join(0.2)
        self._catalog.close()
