"""Snapshots that a workload asks for by signals, while its reader streams or takes another one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

TABLE = "SIGNALS"
COLUMNS = {"ID": 42, "TYPE": 32, "DATA": 2048}
"""The columns of the signal table, which are texts, and their lengths."""
_EXECUTE, _PAUSE, _RESUME = "execute-snapshot", "pause-snapshot", "resume-snapshot"


@dataclass
class Signals:
    """`write` inserts a row (id, type and data) into the signal table in a transaction of its own,
    and gives the number of the place where that was committed. `identifier` is how signals name a
    table. At most so many signals are sent."""

    write: Callable[[str, str, str], int]
    identifier: Callable[[str], str]
    most: int = 12
    asked: dict[str, int] = field(default_factory=dict)
    """The place of the last signal that asked for a table's rows, by table."""
    is_paused: bool = False
    sent: int = 0

    def send(self, chance: random.Random, tables: Sequence[str]) -> bool:
        """A signal: mostly one that asks for some of the tables. False where there were enough."""
        if self.sent >= self.most:
            return False
        kind = chance.choice((*["incremental"] * 4, "blocking", _PAUSE, _RESUME))
        if kind in (_PAUSE, _RESUME):
            self.is_paused = kind == _PAUSE
            self._write(kind, "{}")
            return True
        chosen = chance.sample(tables, chance.randint(1, len(tables)))
        data = {"data-collections": [self.identifier(table) for table in chosen], "type": kind}
        place = self._write(_EXECUTE, json.dumps(data))
        self.asked |= dict.fromkeys(chosen, place)
        return True

    def settle(self) -> None:
        """Resumes everything that was paused."""
        if self.is_paused:
            self._write(_RESUME, "{}")
            self.is_paused = False

    def _write(self, kind: str, data: str) -> int:
        self.sent += 1
        return self.write(f"signal {self.sent}", kind, data)
