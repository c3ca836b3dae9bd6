"""Kills at given moments."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import psutil

from tests.chaos.run import Run, wait_for

KINDS = ("driver", "jvm", "source", "worker", "server", "everything")
# What the command recovers from by itself.
SURVIVED = ("source", "worker", "server", "broker")
EARLY = ("started", "position", "planned", "batch", "batch", "batch")
Kill = tuple[str, str]


class Killer:
    """Kills at given moments, and sees that what must go on by itself does."""

    def __init__(self, run: Run, chance: random.Random) -> None:
        self.run, self.chance = run, chance
        self.begun = time.monotonic()
        self.lines, self.planned = 0, -1
        self.survives = False

    def moment(self, name: str) -> None:
        """Wait until the run is where the next kill shall hit it."""
        run = self.run
        moments: dict[str, Callable[[], bool]] = {
            "started": lambda: True,
            "position": run.has_position,
            "planned": lambda: run.planned() >= 0,
            "batch": lambda: run.planned() > self.planned,
            "progress": lambda: run.lines() > self.lines,
            "streaming": lambda: run.lines() > self.lines and run.streams(),
        }
        latest = {"started": 6.0, "position": 0.05, "progress": 1.5, "streaming": 1.5}.get(
            name, 0.2
        )

        def reached() -> bool:
            self.go_on()
            return moments[name]()

        wait_for(lambda: f"there is no progress: {run.tail()}", reached, pause=0.01)
        time.sleep(self.chance.uniform(0, latest))

    def streams(self) -> Callable[[], bool]:
        """Whether it has read everything that is in the log now."""
        head = self.run.database.head()

        def reached() -> bool:
            self.go_on()
            return self.run.has_reached(head)

        return reached

    def goes_on(self) -> Callable[[], bool]:
        """Whether lines come that were not there now."""
        lines = self.run.lines()

        def reached() -> bool:
            self.go_on()
            return self.run.lines() > lines

        return reached

    def go_on(self) -> None:
        assert self.run.alive or not self.survives, f"it ended: {self.run.tail()}"
        self.run.ensure()
        self.run.planned()  # sees the first offset as long as it is kept

    def kill(self, kind: str) -> str:
        """Kills processes of the kind; returns a description."""
        run = self.run
        if kind in ("server", "broker"):
            server = run.server if kind == "server" else run.broker
            assert server is not None
            server.kill()
            time.sleep(self.chance.uniform(0, 1.5))
            server.start()
            return ""
        # Spark runs a worker's task again, and the source goes on reading.
        free = run.kill(self.victims(kind), frees=kind != "worker")
        if kind in SURVIVED:
            return ""
        begun, process = time.monotonic(), run.process
        assert process is not None
        status = process.wait(600)
        expected = 1 if kind == "jvm" else -9
        assert status == expected, f"it ended with {status}: {run.tail()}"
        if self.chance.random() < 0.5:
            run.ensure()  # at once, beside what is left
        run.await_gone(process.pid)
        gone = time.monotonic() - begun
        log = "" if free is None else f"the log was free after {free:.2f} s, "
        return f"; {log}everything gone after {gone:.2f} s"

    def victims(self, kind: str) -> list[psutil.Process]:
        processes: list[psutil.Process] = []

        def is_there() -> bool:
            self.go_on()
            processes[:] = self.run.find(kind)
            return bool(processes)

        wait_for(lambda: f"there is no {kind}: {self.run.tail()}", is_there, pause=0.01)
        return processes if kind == "everything" else [self.chance.choice(processes)]

    def strike(self, number: int, moment: str, kind: str) -> None:
        """One kill."""
        self.moment(moment)
        at = time.monotonic() - self.begun
        where = f"{at:5.1f} s, micro-batch {self.run.planned()}, {self.run.lines()} lines"
        description = self.kill(kind)
        # What ended during the kill is no sign of life after it.
        self.lines, self.planned = self.run.lines(), self.run.planned()
        print(f"kill {number} ({moment}): {kind} at {where}{description}")
        # A server that is not there yet when the command starts ends the command.
        self.survives = kind in SURVIVED and moment != "started"
