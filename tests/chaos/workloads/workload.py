"""One workload: clients, a reader that is killed, and what else happens to a database, all by one
seed. What the reader reads when is up to the machine, so a seed repeats what happens and not every
moment."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.workloads.clients import Clients
from tests.chaos.workloads.database import Change, Place, RandomDatabase
from tests.chaos.workloads.verdict import Event, Story, check, events_of
from tests.connectors.killed_reader import MOMENTS, Death, KilledReader, Record

PATIENCE_S = 900.0
"""The longest time in seconds that the reader may take for the rest at the end, or for any other
step: a reader that is stuck stays so, and a busy machine is slow."""


@dataclass(frozen=True)
class Figures:
    """The figures of a workload."""

    transactions: int
    changes: int
    lives: int
    records: int
    reads: int
    in_snapshots: int
    """Lives that began while a snapshot was read, be it the first one or one that was asked for."""
    happened: Mapping[str, int]
    """Counts of events other than transactions, by kind."""

    def __str__(self) -> str:
        happened = ", ".join(f"{kind} {count}" for kind, count in sorted(self.happened.items()))
        return (
            f"{self.transactions} transactions, {self.changes} changes, {self.reads} rows read, "
            f"{self.records} records, {self.lives} lives of the reader, {self.in_snapshots} of "
            f"them in snapshots; {happened}"
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
            described_now=database.described_now,
        )
        self._records: list[Record] = []
        self._kill_at = 0.0
        self._is_over = False
        self._in_snapshots = 0
        self._settled: int | None = None
        """The place up to which all was committed when the first snapshot was over."""

    def run(self) -> Figures:
        """Raises AssertionError for what must not be."""
        database, clients, chance = self._database, self._clients, self._chance
        try:
            clients.fill()
            begun = {} if database.reads_rows else {t: database.rows(t) for t in database.tables}
            self._begin()
            is_due = False
            for _ in range(self._steps):
                clients.step()
                is_due = is_due or chance.random() < 0.06
                if is_due and database.is_free:
                    is_due = False
                    self._happen()
                self._tend()
                time.sleep(chance.choice((0, 0, 0, 0.005, 0.02)))
            clients.finish()
            database.settle()
            clients.last()
            self._drain()
        finally:
            self._reader.kill()
        assert self._settled is not None
        story = Story(clients.committed, self._reader.first, begun, self._settled)
        counts = check(database, self._records, story)
        return Figures(
            len(clients.committed),
            counts.changes,
            self._reader.lives,
            len(self._records),
            counts.reads,
            self._in_snapshots,
            database.happened | ({"undone": clients.undone} if clients.undone else {}),
        )

    def _happen(self) -> None:
        """Does something other than a transaction."""
        clients = self._clients
        happened = self._database.happen(self._chance, clients.busy, self._streamed())
        clients.committed += happened
        clients.emptied(change for _, changes in happened for change in changes)

    def _begin(self) -> None:
        """Waits until the reader has begun, even if it is killed meanwhile."""
        deadline = time.monotonic() + PATIENCE_S
        while self._reader.offset is None:
            assert time.monotonic() < deadline, "it never began"
            self._tend()
            time.sleep(0.01)

    def _streamed(self) -> dict[str, Any] | None:
        """The reader's offset, where it is not within a snapshot."""
        offset = self._reader.offset
        return None if offset is None or "snapshot" in offset else offset

    def _is_reading(self) -> bool:
        """Whether rows are left to read of a snapshot, the first one or one that was asked for."""
        offset = self._streamed()
        return offset is None or not {"tables", "blocking"}.isdisjoint(offset.get("signals", ()))

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
            self._in_snapshots += self._is_reading()
        for records in reader.delivered():
            self._records += records
        if self._settled is None and self._streamed() is not None:
            self._settled = self._database.now()

    def _shows(self, event: Event, change: Change, place: Place) -> bool:
        """Whether an event is a change that was committed at a place, or a row that was read there
        or after it: a snapshot that begins late has it, too."""
        if event.change[2:] != change[2:]:
            return False
        source = event.value["source"]
        return event.change.op != "r" or self._database.place_of(source) >= place.number

    def _drain(self) -> None:
        """Waits until the last change is delivered, and the rows that signals asked for are
        read."""
        ((place, (last,)),) = self._clients.committed[-1:]
        self._is_over, is_delivered = True, False
        checked_count, deadline = 0, time.monotonic() + PATIENCE_S
        while True:
            new = events_of(self._records[checked_count:], (last.table,))
            is_delivered |= any(self._shows(event, last, place) for event in new)
            if is_delivered and not self._is_reading():
                return
            if len(self._records) > checked_count:
                checked_count, deadline = len(self._records), time.monotonic() + PATIENCE_S
            assert time.monotonic() < deadline, f"it is stuck at {self._reader.offset}"
            self._tend()
            time.sleep(0.02)
