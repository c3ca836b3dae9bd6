"""One workload: clients, a reader that is killed, and what else happens to a database, all by one
seed. What the reader reads when is up to the machine, so a seed repeats what happens and not every
moment."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.workloads.clients import Clients
from tests.chaos.workloads.database import RandomDatabase
from tests.chaos.workloads.verdict import check, events_of
from tests.connectors.killed_reader import MOMENTS, Death, KilledReader, Record

PATIENCE_S = 900.0
"""How long the reader may take for what is left at the end, or for anything at all: what is stuck
stays so, and a machine with other work to do takes its time."""


@dataclass(frozen=True)
class Figures:
    """What a workload was."""

    transactions: int
    changes: int
    lives: int
    records: int

    def __str__(self) -> str:
        return (
            f"{self.transactions} transactions, {self.changes} changes, {self.records} records, "
            f"{self.lives} lives of the reader"
        )


class Workload:
    """A workload of so many `steps` on a database, with the reader's files in a folder."""

    def __init__(self, database: RandomDatabase, seed: int, folder: Path, steps: int) -> None:
        self._database, self._steps = database, steps
        self._chance = random.Random(seed)
        self._clients = Clients(database, self._chance)
        # Kills have draws of their own: how many there are depends on how fast the reader is.
        self._kills = random.Random(seed + 1)
        self._reader = KilledReader(
            folder,
            database.properties(),
            database.prepare,
            [f".{table}" for table in database.merged],
        )
        self._records: list[Record] = []
        self._kill_at = 0.0
        self._is_over = False

    def run(self) -> Figures:
        """Raises AssertionError for what must not be."""
        database, clients, chance = self._database, self._clients, self._chance
        try:
            clients.fill()
            begun = {} if database.reads_rows else {t: database.rows(t) for t in database.tables}
            self._begin()
            for _ in range(self._steps):
                clients.step()
                if chance.random() < 0.06:
                    happened = database.happen(chance, clients.busy, self._streamed())
                    clients.committed += happened
                    clients.emptied(change for _, changes in happened for change in changes)
                self._tend()
                time.sleep(chance.choice((0, 0, 0, 0.005, 0.02)))
            clients.finish()
            database.settle()
            clients.last()
            self._drain()
        finally:
            self._reader.kill()
        first = self._reader.first
        changes = check(database, self._records, clients.committed, first, begun)
        return Figures(len(clients.committed), changes, self._reader.lives, len(self._records))

    def _begin(self) -> None:
        """Until the reader has begun, be it killed meanwhile or not."""
        deadline = time.monotonic() + PATIENCE_S
        while self._reader.offset is None:
            assert time.monotonic() < deadline, "it never began"
            self._tend()
            time.sleep(0.01)

    def _streamed(self) -> dict[str, object] | None:
        """The reader's offset, once its snapshot is over."""
        offset = self._reader.offset
        return None if offset is None or "snapshot" in offset else offset

    def _tend(self) -> None:
        """The reader lives again where it was killed, and is killed when its time has come."""
        reader, kills = self._reader, self._kills
        if reader.is_alive and time.monotonic() >= self._kill_at:
            reader.kill()
        if not reader.is_alive:
            failure = reader.failure()
            assert failure is None, f"the reader failed: {failure}"
            death = None
            self._kill_at = float("inf")
            if not self._is_over and kills.random() < 0.4:
                death = Death(kills.choice(MOMENTS), kills.choice((1, 1, 2, 3, 8)))
            elif not self._is_over:
                self._kill_at = time.monotonic() + kills.uniform(0.05, 1.5)
            reader.live(death)
        for records in reader.delivered():
            self._records += records

    def _drain(self) -> None:
        """Until the last change is delivered."""
        ((_, (last,)),) = self._clients.committed[-1:]
        self._is_over = True
        seen, deadline = 0, time.monotonic() + PATIENCE_S
        while True:
            # A snapshot that begins late has it, too.
            told = (event.change for event in events_of(self._records[seen:]))
            if any(change[2:] == last[2:] for change in told):
                return
            if len(self._records) > seen:
                seen, deadline = len(self._records), time.monotonic() + PATIENCE_S
            assert time.monotonic() < deadline, f"it is stuck at {self._reader.offset}"
            self._tend()
            time.sleep(0.02)
