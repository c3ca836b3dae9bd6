"""Our side of the workloads: the stand-in in a process of its own, and our driver for it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from headrace_demo.oracle.server import OracleServer
from headrace_demo.oracle.views.peculiarities import Peculiarities
from tests.connectors.harness import PATIENCE_SECONDS, ConnectorReader
from tests.golden.database import Reader
from tests.golden.oracle.database import ScriptedDatabase
from tests.golden.oracle.happenings import Happenings
from tests.golden.oracle.varying import HEARTBEATS

SEED = os.environ.get("HEADRACE_PECULIARITIES")
"""The seed of the stand-in's peculiarities; None: it has none."""
_IDLE_STEPS = 6
"""Micro-batches without anything new behind which nothing is under way."""
_STEPS_AFTER_END = 2
"""As many of them begin after the redo was read to its end: a window may have ended during a step,
and its rows come with the next one."""
_ENDS_OF_REDO = ("now", "archived_until")
"""Statements by which ours learns how far the redo goes, before it reads on."""

_ASKED = 3
"""The number of queries for the end until the redo was read to it: by a window that may have begun
before, by the next one, and by a stream when it is opened."""


def _is_heartbeat(record: Mapping[str, Any]) -> bool:
    return str(record["topic"]).startswith(HEARTBEATS)


@dataclass
class StandInReader(ConnectorReader):
    """Knows how often the end of the redo was asked for, and windows were mined (`mined`)."""

    mined: Callable[[], tuple[int, int]] = lambda: (0, 0)

    def drain(self) -> Self:
        """Micro-batches until the redo was read again without anything new but heartbeats; where
        there are such, one is the last record."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        idle, after_end, before = 0, 0, self.mined()
        while idle < _IDLE_STEPS or after_end < _STEPS_AFTER_END or not self._has_beaten():
            if self.mined()[1] != before[1]:
                before, after_end = self.mined(), 0  # another window may follow
            is_at_end = not self._streams() or self.mined()[0] >= before[0] + _ASKED
            count = len(self.records)
            moved, new = self.step(0.02), self.records[count:]
            if moved and not (new and all(map(_is_heartbeat, new))):
                idle, after_end, before = 0, 0, self.mined()
            else:
                idle += 1
                after_end += is_at_end
            assert time.monotonic() <= deadline, f"it stands still at {self.offsets[-1]}"
        return self

    def _has_beaten(self) -> bool:
        """Whether the last record is a heartbeat, or heartbeats are off."""
        if not int(self.properties.get("heartbeat.interval.ms", 0)):
            return True
        return bool(self.records) and _is_heartbeat(self.in_order()[-1])

    def _streams(self) -> bool:
        """Whether the redo is read at all."""
        return str(self.properties.get("snapshot.mode")) != "initial_only"


class StandInDatabase(ScriptedDatabase):
    """One stand-in, whose database each workload makes again."""

    def __init__(self, server: OracleServer) -> None:
        super().__init__()
        self._server = server
        self._happenings = Happenings(server.call)

    def properties(self) -> dict[str, str]:
        return {
            **super().properties(),
            **self._server.properties(),
            "log.mining.read.only": "true",  # a flush would move the SCNs that a script names
            "errors.max.retries": "0",
            "poll.interval.ms": "20",
            "log.mining.sleep.time.default.ms": "20",
            "log.mining.sleep.time.max.ms": "20",
        }

    def load(self, script: Mapping[str, Any]) -> None:
        self._server.load(script)
        self._server.call("change", advances=False)
        if SEED:
            # What a server may show beside that; events are the same.
            self._server.call("change", peculiarities=Peculiarities.drawn(int(SEED)).harmless)
        self._happenings = Happenings(self._server.call)

    def happen(self, block: str) -> None:
        self._happenings.happen(block)

    def streaming(self) -> bool:
        raise NotImplementedError("Debezium reads through its own driver")

    def end(self) -> Any:
        raise NotImplementedError("Debezium reads through its own driver")

    def sent(self, end: Any) -> bool:
        raise NotImplementedError("Debezium reads through its own driver")

    def reader(self, properties: Mapping[str, str]) -> Reader:
        return StandInReader(properties, mined=self._mined)

    def _mined(self) -> tuple[int, int]:
        counted: dict[str, int] = self._server.call("counted")
        ends = sum(counted.get(name, 0) for name in _ENDS_OF_REDO)
        return ends, counted.get("start_logmnr", 0)
