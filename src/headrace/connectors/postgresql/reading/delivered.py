"""Transactions that were delivered, and whether a snapshot sees them all."""

from __future__ import annotations

import numpy as np

from headrace.connect.rows import NULL
from headrace.connectors.postgresql.reading.chunk_reader import ChunkReader

_MOST = 1 << 16


class Delivered:
    """Those that may still be invisible: in the log, but waiting for a standby, for example."""

    def __init__(self, reader: ChunkReader) -> None:
        self._reader = reader
        self._xids = np.zeros(0, np.int64)
        self._first: int | None = None
        self._settled = False

    def begin(self) -> None:
        """This process delivers from now on."""
        if self._first is None:
            self._first = self._reader.next_xid()

    def add(self, xids: np.ndarray) -> None:
        """Transactions of the log's rows."""
        found = np.unique(xids)
        self._xids = np.union1d(self._xids, found[found != NULL])
        if len(self._xids) > _MOST:
            self.are_visible()

    def forget(self) -> None:
        """Somebody else delivered; nothing is known of it but that it was before `begin`."""
        self._xids = np.zeros(0, np.int64)
        self._first, self._settled = None, False

    def are_visible(self) -> bool:
        """Whether a snapshot that is taken now sees all of them."""
        seen = self._reader.visible()
        if not self._settled:
            # What an earlier process delivered is not known: all of that time must have ended.
            self.begin()
            assert self._first is not None
            self._settled = seen.xmin >= self._first
            if not self._settled:
                return False
        hidden = seen.hides(self._xids)
        wide = seen.widen(self._xids)
        self._xids = self._xids[hidden | (wide >= seen.xmin)]
        return not hidden.any()
