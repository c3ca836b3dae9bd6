"""What is known of the tables in the log, and who asks for more: a thread of its own.

The thread that owns the replication stream must answer the server whatever the catalogue does, so
it never asks itself. A reading of the catalogue holds for every transaction that its snapshot
sees: who changes a table keeps others from writing to it until the change can be seen.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from headrace.connectors.postgresql.catalog.catalog import Catalog, CatalogReading
from headrace.connectors.postgresql.replication.pgoutput_messages import RelationMessage
from headrace.connectors.postgresql.visibility import VisibleTransactions
from headrace.errors import HeadraceError

VISIBLE_SECONDS = 1.0
"""How long a transaction's own changes of the catalogue are waited for. The log shows a commit
before other sessions see it, and long before when it waits for a synchronous standby."""
_CLOSING_SECONDS = 5


@dataclass(frozen=True)
class _Known:
    """A reading, and the transaction that it was taken for."""

    reading: CatalogReading
    xid: int | None = None

    def holds_for(self, xid: int) -> bool:
        return xid == self.xid or VisibleTransactions(self.reading.snapshot).sees(xid)


class KnownTables:
    """Readings of the catalogue by table. All methods but the reading thread's belong to the
    thread that owns the stream, and `close` to the one that ends it."""

    def __init__(self, catalog: Catalog, first: CatalogReading | None = None) -> None:
        """`first`: of all tables that are expected. Closes `catalog` in the end."""
        self._catalog = catalog
        self._known: dict[int, _Known] = {}
        self._closing = False
        self._thread: threading.Thread | None = None
        self._answered = threading.Event()
        self._answer: _Known | HeadraceError | None = None
        self._asked: frozenset[int] = frozenset()
        if first is not None:
            self._known = dict.fromkeys(first.tables, _Known(first))

    def known(self, message: RelationMessage, xid: int) -> CatalogReading | None:
        """What the catalogue says of the table and its types to `xid`, a transaction of the log;
        None: it must be asked."""
        known = self._known.get(message.oid)
        if known is None or not known.holds_for(xid):
            return None
        types = known.reading.types
        if any(column.type_oid not in types for column in message.columns):
            return None
        return known.reading

    def ask(self, messages: Iterable[RelationMessage], xid: int) -> None:
        """Begin to read what `messages` name, for a transaction and what follows it. Nothing else
        may be asked for until `answered`."""
        asked = list(messages)
        self._asked = frozenset(message.oid for message in asked)
        self._answered.clear()
        self._thread = threading.Thread(
            target=self._run, args=(asked, xid), name="headrace-catalogue", daemon=True
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

    def _run(self, asked: list[RelationMessage], xid: int) -> None:
        try:
            self._answer = self._read(asked, xid)
        except HeadraceError as error:
            self._answer = error
        except Exception as error:  # noqa: BLE001 - who waits must hear of it
            self._answer = HeadraceError(
                "postgresql.catalogue_failed",
                f"Reading the catalogue failed: {type(error).__name__}: {error}",
                "Report this; the stream can be restarted from its checkpoint.",
                retriable=True,
            )
        finally:
            if self._closing:
                self._catalog.close()
            self._answered.set()

    def _read(self, asked: list[RelationMessage], xid: int) -> _Known:
        deadline = time.monotonic() + VISIBLE_SECONDS
        while True:
            reading = self._catalog.read(
                [message.oid for message in asked],
                names=[(message.schema, message.table) for message in asked],
                types=[column.type_oid for message in asked for column in message.columns],
            )
            late = time.monotonic() > deadline
            visible = VisibleTransactions(reading.snapshot).sees(xid)
            if late or self._closing or visible:
                return _Known(reading, xid)
            time.sleep(0.01)

    def close(self) -> None:
        """End what is being asked, and the connection; never raises."""
        self._closing = True
        deadline = time.monotonic() + _CLOSING_SECONDS
        while self._thread is not None and self._thread.is_alive():
            if time.monotonic() > deadline:
                return  # it closes the connection when it ends
            self._catalog.cancel()
            self._thread.join(0.2)
        self._catalog.close()
