"""`python -m tests.fuzz`: mutated frames, COPY rows, cell texts, BSON values, Extended JSON,
documents with field rules and records, each kind in a process of its own, JOBS of them at a time
(as many as there are cores).

SECONDS (10 per kind) says how long, INPUTS how many instead; SEED repeats a run, and ONLY=NUMBER
one input of it. An input that crashes its process is named like one that is decoded wrongly.
"""

from __future__ import annotations

import gc
import importlib
import mmap
import multiprocessing
import os
import signal
import struct
import sys
import time
import traceback
from collections import deque
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
from random import Random
from types import ModuleType
from typing import NamedTuple, Protocol


class Target(Protocol):
    """Decodes one mutated input in two ways."""

    def one(self, random: Random, planted: str | None) -> None:
        """Raises AssertionError when they differ. `planted`: a defect that has to be found."""
        ...


TARGETS = {
    "frames": "Frames",
    "copy_rows": "CopyRows",
    "cell_texts": "CellTexts",
    "bson_values": "BsonValues",
    "field_rules": "FieldRuleInputs",
    "change_events": "ChangeEvents",
    "extended_json_texts": "ExtendedJsonTexts",
    "records": "Records",
}
"""The class of each kind, in the module of its name."""


_COLLECTED = 256
"""Inputs after which what former ones left is collected."""


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"tests.fuzz.{name}")


def _run(name: str, seed: str, seconds: float, inputs: int, only: int, place: mmap.mmap) -> None:
    target: Target = getattr(_module(name), TARGETS[name])()
    planted = os.environ.get("PLANTED")
    number = max(only, 0)
    begun = time.monotonic()
    while True:
        struct.pack_into("q", place, 0, number)
        if number % _COLLECTED == 0:
            gc.collect()  # not within the limits of one input
        try:
            target.one(Random(f"{seed} {name} {number}"), planted)
        except Exception:  # noqa: BLE001 - whatever it is, the input is what matters
            traceback.print_exc()
            os._exit(1)
        number += 1
        over = number >= inputs if inputs else time.monotonic() - begun >= seconds
        if only >= 0 or over:
            struct.pack_into("q", place, 0, number)
            return


_ENDS = {1: "differs", -signal.SIGPROF: "takes too long"}
"""Meanings of the exit codes of a kind's process."""


class Run(NamedTuple):
    """A kind that is being tried."""

    name: str
    process: ForkProcess
    place: mmap.mmap
    """The number of the input."""
    begun: float

    @classmethod
    def start(cls, name: str, seed: str, seconds: float, inputs: int, only: int) -> Run:
        """Start a kind."""
        place = mmap.mmap(-1, 8)
        arguments = (name, seed, seconds, inputs, only, place)
        process = multiprocessing.get_context("fork").Process(target=_run, args=arguments)
        begun = time.monotonic()
        process.start()
        return cls(name, process, place, begun)

    def verdict(self, seed: str) -> bool:
        """Print what the ended process has found; return whether this is nothing."""
        (number,) = struct.unpack_from("q", self.place, 0)
        if self.process.exitcode == 0:
            seconds = time.monotonic() - self.begun
            what = f"{number:,} inputs in {seconds:.0f} s, nothing found (SEED={seed})"
            print(f"{self.name}: {what}", flush=True)
            return True
        how = _ENDS.get(self.process.exitcode or 0, f"crashed ({self.process.exitcode})")
        repeat = f"repeat it with SEED={seed} ONLY={number} {self.name}"
        print(f"{self.name}: input {number} {how}; {repeat}", flush=True)
        return False


def main() -> int:
    """Run every target; 1 when one of them found something."""
    settings = os.environ
    seed = settings.get("SEED") or str(int.from_bytes(os.urandom(4), "big"))
    seconds = float(settings.get("SECONDS") or 10)
    inputs, only = int(settings.get("INPUTS") or 0), int(settings.get("ONLY") or -1)
    jobs = int(settings.get("JOBS") or os.cpu_count() or 1)
    names = deque(sys.argv[1:] or TARGETS)
    if unknown := [name for name in names if name not in TARGETS]:
        sys.exit(f"No such kind: {', '.join(unknown)}. The kinds are {', '.join(TARGETS)}.")
    for name in names:
        _module(name)  # once for all that import the same
    running: dict[int, Run] = {}
    found_nothing = True
    while names or running:
        while names and len(running) < jobs:
            run = Run.start(names.popleft(), seed, seconds, inputs, only)
            running[run.process.sentinel] = run
        for sentinel in wait(list(running)):
            run = running.pop(int(sentinel))
            run.process.join()
            found_nothing &= run.verdict(seed)
    return 0 if found_nothing else 1


if __name__ == "__main__":
    sys.exit(main())
