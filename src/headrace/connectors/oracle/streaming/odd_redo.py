"""Warnings of redo that cannot be assigned: of objects that LogMiner cannot name, and of rows whose
transactions or changes are not held."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.deadline import Deadline
from headrace.connectors.oracle.capture import RECYCLED
from headrace.connectors.oracle.scn import format_xid
from headrace.connectors.oracle.streaming import redo_rows
from headrace.connectors.oracle.streaming.tables import StreamTables
from headrace.connectors.oracle.streaming.transactions.buffer import TransactionBuffer
from headrace.errors import HeadraceError

log = logging.getLogger(__name__)

_PAUSE = 60.0
"""Seconds between warnings of one kind."""
_NO_SCHEMA = "UNKNOWN"
_NUMBERED = re.compile(r"OBJ# ?([0-9]+)")
_UNMATCHED = (
    "%d rows of redo that take back a change have found none, the last one in transaction %s at "
    "SCN %d: what they take back was written before the stream began, or is in no event"
)
_UNRESOLVED = (
    "%d transactions of which LogMiner does not know the sequence have ended, and none or several "
    "are open that it may be, the last one %s at SCN %d: what is held of it is in no event"
)


class OddRedo:
    """Logs warnings: once for each object, and at most once a minute for rows. One thread uses
    it."""

    def __init__(
        self,
        buffer: TransactionBuffer,
        tables: StreamTables,
        failed: Callable[[HeadraceError], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`failed` handles errors as event.processing.failure.handling.mode says."""
        self._buffer, self._tables, self._failed = buffer, tables, failed
        self._objects: set[tuple[str, str, int]] = set()
        self._unmatched = _Warning(_UNMATCHED, clock)
        self._unresolved = _Warning(_UNRESOLVED, clock)

    def warn_of_rows(self) -> None:
        """Log the warnings that are due after rows were held."""
        buffer = self._buffer
        self._unmatched.warn(buffer.unmatched, lambda: buffer.last_unmatched)
        self._unresolved.warn(buffer.unresolved, lambda: buffer.last_unresolved)

    def warn_of_object(self, schema: str, name: str, batch: pa.RecordBatch) -> None:
        """Report rows of a batch for a table that is not captured. If LogMiner made up its name, it
        may be a captured one. Raises DriverError and HeadraceError."""
        is_recycled = name.startswith(RECYCLED) and self._tables.may_have(schema)
        if not is_recycled and schema != _NO_SCHEMA and not _NUMBERED.fullmatch(name):
            return
        for number in _numbers(schema, name, batch):
            if (schema, name, number) in self._objects:
                continue
            captured = self._tables.captured_object(number)
            if captured is None:
                log.warning(
                    "LogMiner names no table for changes of the object %d, only %s.%s: it was "
                    "dropped or altered since then. These changes do not become events",
                    number,
                    schema,
                    name,
                )
            else:
                self._failed(_not_named(".".join(captured), number, f"{schema}.{name}"))
            self._objects.add((schema, name, number))


class UnsupportedRows:
    """Logs warnings of operations that LogMiner does not support, which are in no event: at most
    once a minute for each table. One thread uses it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tables: dict[str, _Unsupported] = {}

    def add(self, batch: pa.RecordBatch, rows: np.ndarray) -> None:
        """Add rows of a batch, by their numbers, that are such operations on captured tables."""
        owners, names = (
            batch.column(name).take(pa.array(rows))
            for name in (redo_rows.SEG_OWNER, redo_rows.TABLE_NAME)
        )
        tables = pc.binary_join_element_wise(owners, names, ".").dictionary_encode()
        places = np.asarray(tables.indices)
        for place, table in enumerate(tables.dictionary.to_pylist()):
            of_table = rows[places == place]
            last = batch.slice(int(of_table[-1]), 1).to_pylist()[0]
            known = self._tables.setdefault(table, _Unsupported(Deadline(0, self._clock)))
            known.count += len(of_table)
            known.last = last

    def warn(self) -> None:
        """Log the warnings that are due after rows were read."""
        for table, known in self._tables.items():
            if known.count and known.pause.is_over:
                last = known.last
                log.warning(
                    "LogMiner does not support operations on %s: %d rows, the last one in "
                    "transaction %s at SCN %d, RS_ID %s, redo thread %d: %s. These changes do not "
                    "become events",
                    table,
                    known.count,
                    (last[redo_rows.XID] or b"").hex(),
                    last[redo_rows.SCN] or 0,
                    (last[redo_rows.RS_ID] or "").strip() or "unknown",
                    last[redo_rows.THREAD] or 0,
                    last[redo_rows.INFO] or "UNSUPPORTED",
                )
                known.count = 0
                known.pause.restart(_PAUSE)


@dataclass
class _Unsupported:
    """Operations on a table since the last warning, and the last row of them."""

    pause: Deadline
    count: int = 0
    last: Mapping[str, Any] = field(default_factory=dict)


class _Warning:
    """Reports a count that grows, and the SCN and transaction of the last row."""

    def __init__(self, text: str, clock: Callable[[], float]) -> None:
        self._text = text
        self._reported, self._pause = 0, Deadline(0, clock)

    def warn(self, count: int, last: Callable[[], tuple[int, int]]) -> None:
        if count == self._reported or not self._pause.is_over:
            return
        scn, xid = last()
        log.warning(self._text, count - self._reported, format_xid(xid), scn)
        self._reported = count
        self._pause.restart(_PAUSE)


def _numbers(schema: str, name: str, batch: pa.RecordBatch) -> Iterator[int]:
    """Yield the object numbers of the rows that have this name."""
    numbered = _NUMBERED.fullmatch(name)
    if numbered is not None:
        yield int(numbered[1])
        return
    is_named = pc.and_(
        pc.equal(batch.column(redo_rows.SEG_OWNER), schema),
        pc.equal(batch.column(redo_rows.TABLE_NAME), name),
    )
    chosen = np.asarray(is_named.fill_null(fill_value=False).to_numpy(zero_copy_only=False))
    yield from np.unique(redo_rows.numbers(batch, redo_rows.OBJECT)[chosen]).tolist()


def _not_named(table: str, number: int, name: str) -> HeadraceError:
    return HeadraceError(
        "oracle.redo_not_reconstructed",
        f"LogMiner names no table for changes of {table}, whose object number is {number}, only "
        f"{name}",
        "The table was altered or moved since then: set log.mining.strategy=hybrid, or "
        "event.processing.failure.handling.mode=warn, which leaves out these changes.",
    )
