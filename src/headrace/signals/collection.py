"""The signal collection: a table (or a collection of documents) of the database, whose inserts are
signals, and which marks the windows of incremental snapshots."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

from headrace.config.properties.connector import ConnectorConfig
from headrace.errors import HeadraceError
from headrace.signals.signal import Signal

log = logging.getLogger(__name__)


Cells = Sequence[bytes | None]
"""The cells of a row's image, in their order; None: null, or not in the log."""

SignalTexts = Callable[[Cells], list[str | None]]
"""A function that returns id, type and data of a signal from the log, whatever other fields its
collection has; fewer texts if the signal lacks some. The image of a deletion may have only the
id."""


def signal_columns(cells: Cells) -> list[str | None]:
    """Return the `SignalTexts` of a table: its first three columns, in the table's order."""
    return [None if cell is None else cell.decode(errors="replace") for cell in cells[:3]]


class SignalCollection(Protocol):
    """A connector's signal collection. Methods raise HeadraceError."""

    @property
    def name(self) -> str:
        """The name as filters write it, e.g. `schema.table`."""
        ...

    def insert(self, signal: Signal) -> None:
        """Write a signal."""
        ...

    def delete(self, identity: str) -> None:
        """Delete the signal with this id."""
        ...

    def close(self) -> None:
        """Close the connection; never raises."""
        ...


class Watermarks:
    """Writes the marks that open and close windows in the log. A mark that cannot be written is
    tried again as signal.emit.failure.* says."""

    def __init__(self, config: ConnectorConfig, collection: SignalCollection) -> None:
        self._config, self._collection = config, collection
        self._deletes = str(config.incremental_snapshot_watermarking_strategy) == "insert_delete"
        self._opened = ""

    def open(self, window: str) -> None:
        """Write the mark that opens a window. Raises HeadraceError when the database refuses."""
        self._opened = _now()
        data = json.dumps({"openWindowTimestamp": self._opened})
        self._write(Signal(f"{window}-open", "snapshot-window-open", data))

    def close(self, window: str) -> None:
        """Write the mark that closes a window; with insert_delete, delete the opening mark instead.
        Raises as `open`."""
        if self._deletes:
            self._write(f"{window}-open")
            return
        data = json.dumps({"openWindowTimestamp": self._opened, "closeWindowTimestamp": _now()})
        self._write(Signal(f"{window}-close", "snapshot-window-close", data))

    def shut(self) -> None:
        """Close the collection's connection; never raises."""
        self._collection.close()

    def _write(self, mark: Signal | str) -> None:
        """Insert a mark, or delete the one with this id."""
        retries = self._config.signal_emit_failure_max_retries
        while True:
            try:
                if isinstance(mark, Signal):
                    self._collection.insert(mark)
                else:
                    self._collection.delete(mark)
            except HeadraceError as error:
                if retries == 0:
                    raise
                retries -= 1
                log.warning("%s; trying again", str(error).rstrip("."))
                time.sleep(self._config.signal_emit_failure_backoff_ms / 1000)
            else:
                return


def _now() -> str:
    """Return the current time as Java's Instant prints it."""
    nanoseconds = time.time_ns()
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    if rest == 0:
        return f"{text}Z"
    digits = 3 if rest % 1_000_000 == 0 else 6 if rest % 1_000 == 0 else 9
    return f"{text}.{f'{rest:09d}'[:digits]}Z"
