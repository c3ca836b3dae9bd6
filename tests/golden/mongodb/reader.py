"""Drives the MongoDB connector as Spark would, without Spark: poll, plan, read, restart."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pymongo

from headrace.connectors.engine import Engine
from tests.connectors.harness import PATIENCE_SECONDS, ConnectorReader

Place = tuple[int, int]  # seconds and increment of a cluster time


@dataclass
class Reader(ConnectorReader):
    """Knows where the oplog ends, so that everything in it can be waited for."""

    def drain(self, most: int = 100_000) -> Self:
        """Micro-batches, at most `most` calls, until everything in the oplog and in the signal
        file is delivered, and incremental snapshots are over or paused."""
        end_of_log: Place | None = None
        deadline = time.monotonic() + PATIENCE_SECONDS
        for _ in range(most):
            waits = self._waits()
            received = self._received()
            if self.step(0.02):
                deadline = time.monotonic() + PATIENCE_SECONDS
                continue
            if self._received() is None:
                break  # nothing streams
            end_of_log = end_of_log or oplog_end(self.properties["mongodb.connection.string"])
            if received is not None and received >= end_of_log and not waits:
                break
            assert time.monotonic() <= deadline, f"it stands still at {self.offsets[-1]}"
        return self

    def _received(self) -> Place | None:
        """The cluster time up to which the oplog was received; None: nothing streams. Offsets
        move with it at times only, as long as nothing is captured."""
        engine = self.open()
        assert isinstance(engine, Engine)
        if engine._stream is None:
            return None
        complete: int = engine._stream.receiver.received.complete >> 64
        return complete >> 32, complete & 0xFFFFFFFF

    def _waits(self) -> bool:
        """Whether the signal file has lines that nobody took, or an incremental snapshot goes
        on."""
        signals = self.offsets[-1].get("signals", {})
        file = Path(self.config.signal_file)
        in_file = "file" in self.config.signal_enabled_channels and file.exists()
        return in_file or ("tables" in signals and "paused" not in signals)


def oplog_end(connection_string: str) -> Place:
    """The cluster time of a note that is written behind all operations so far."""
    with pymongo.MongoClient[dict[str, Any]](connection_string) as client:
        time = client.admin.command("appendOplogNote", 1, data={"of": "the tests"})["operationTime"]
    return time.time, time.inc
