"""`python -m tests.fuzz`: mutated frames, COPY rows, cell texts, BSON values, Extended JSON,
documents with field rules and records, each kind in a process of its own.

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
from random import Random
from types import ModuleType
from typing import Protocol


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


def main() -> int:
    """Run every target; 1 when one of them found something."""
    settings = os.environ
    seed = settings.get("SEED") or str(int.from_bytes(os.urandom(4), "big"))
    seconds = float(settings.get("SECONDS") or 10)
    inputs, only = int(settings.get("INPUTS") or 0), int(settings.get("ONLY") or -1)
    failed = False
    for name in sys.argv[1:] or TARGETS:
        place = mmap.mmap(-1, 8)
        _module(name)  # once for all that import the same
        begun = time.monotonic()
        process = multiprocessing.get_context("fork").Process(
            target=_run, args=(name, seed, seconds, inputs, only, place)
        )
        process.start()
        process.join()
        (number,) = struct.unpack_from("q", place, 0)
        took = time.monotonic() - begun
        if process.exitcode == 0:
            print(f"{name}: {number:,} inputs in {took:.0f} s, nothing found (SEED={seed})")
            continue
        failed = True
        how = _ENDS.get(process.exitcode or 0, f"crashed ({process.exitcode})")
        print(f"{name}: input {number} {how}; repeat it with SEED={seed} ONLY={number} {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
