"""Drives the Db2 connector as Spark would, without Spark: poll, plan, read, restart."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from headrace.connectors.engine import Engine
from tests.connectors.harness import PATIENCE_SECONDS, ConnectorReader


@dataclass
class Reader(ConnectorReader):
    """Knows where the change tables end (`newest`: the number of the newest LSN), so that
    everything in them can be waited for."""

    newest: Callable[[], int] = lambda: 0

    def drain(self, most: int = 100_000) -> Self:
        """Micro-batches, at most `most` calls, until everything is delivered that was captured by
        now, and incremental snapshots are over or paused."""
        end_of_log = 0
        deadline = time.monotonic() + PATIENCE_SECONDS
        for _ in range(most):
            waits, received = self._waits(), self._received()
            if self.step(0.02):
                deadline = time.monotonic() + PATIENCE_SECONDS
                end_of_log = 0
                continue
            if self._received() is None:
                break  # nothing streams
            if waits:
                end_of_log = 0
                continue
            end_of_log = end_of_log or self.newest()
            if received is not None and received > end_of_log:
                break
            assert time.monotonic() <= deadline, f"it stands still at {self.offsets[-1]}"
        return self

    def _received(self) -> int | None:
        """Behind the last commit that was read; None: nothing streams."""
        engine = self.open()
        assert isinstance(engine, Engine)
        stream: Any = engine._stream
        return None if stream is None else int(stream.receiver.received.complete)

    def _waits(self) -> bool:
        """Whether an incremental snapshot goes on."""
        signals = self.offsets[-1].get("signals", {})
        return "tables" in signals and "paused" not in signals
