"""`python -m benchmarks.transforms [--runs N] [--ours] [NAME …]`, part of `make bench`.

Million records a second and core for each transform and converter (those whose names begin with
NAME), ours and Java's in turn over the same 10,000 records. Results go to
benchmarks/results/transforms.json.

What counts is CPU time, of all threads: on our side the process's, on Java's without its compilers.
"alone" is the chain, "with JSON" the chain and the JSON converter after it. QUICK=1 is a short
run.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.scenarios import QUICK
from benchmarks.transforms.chains import CHAINS, CONVERSIONS, Case, converters, properties
from benchmarks.transforms.inputs import INPUTS, ROWS, write_for_java
from benchmarks.transforms.java import JavaCase, JavaRunner, NoJava
from headrace.connect.records import Records
from headrace.connect.rows import Sequences
from headrace.errors import HeadraceError
from headrace.transforms.json_form import read_chain

_WARM_S, _WINDOW_S = (1.0, 0.3) if QUICK else (3.0, 0.5)
_OURS_S = 0.2


def _nanoseconds(action: Callable[[], object]) -> float:
    """CPU per record of an action over ROWS of them."""
    passes = 0
    begun = time.process_time()
    while time.process_time() < begun + _OURS_S:
        action()
        passes += 1
    return (time.process_time() - begun) / passes / ROWS * 1e9


def _ours(case: Case, pieces: list[Records], lane: str) -> tuple[Callable[[], object], int]:
    """What is measured, compiled; and how many records leave the chain."""
    chain = read_chain(properties(case.steps))
    passed = sum(len(records) for records in chain(pieces))
    if not lane:
        return (lambda: chain(pieces)), passed
    converter = converters(lane).slice_converter()

    def convert() -> int:
        return sum(batch.num_rows for batch in converter.convert(chain(pieces), Sequences(1)))

    assert convert() == passed
    return convert, passed


def _figures(ours: list[float], java: list[float], aim: float | None) -> dict[str, Any]:
    figures: dict[str, Any] = {"million_per_second": round(1000 / statistics.median(ours), 3)}
    if java:
        ratios = [theirs / ours_rate for ours_rate, theirs in zip(ours, java, strict=True)]
        figures["java_million_per_second"] = round(1000 / statistics.median(java), 3)
        figures["ratio"] = round(statistics.median(ratios), 2)
        figures["ratios"] = [round(ratio, 2) for ratio in ratios]
    if aim is not None:
        figures["aim"] = aim
    return figures


class Benchmark:
    """Measures cases; the inputs are made once."""

    def __init__(self, work: Path, runs: int, *, ours: bool) -> None:
        self._work, self._runs = work, runs
        self._java = None if ours else JavaRunner(work)
        self._inputs: dict[str, tuple[list[Records], Path]] = {}

    def _input(self, name: str) -> tuple[list[Records], Path]:
        if name not in self._inputs:
            records = INPUTS[name]()
            file = self._work / f"{name.replace(' ', '-')}.jsonl"
            if self._java is not None:
                write_for_java(records, file)
            self._inputs[name] = [records], file
        return self._inputs[name]

    def measure(self, case: Case, lanes: Mapping[str, str]) -> dict[str, dict[str, Any]]:
        """Figures by lane; `lanes` are names of converters, empty: the chain alone. Ours and Java's
        in turn."""
        pieces, file = self._input(case.records)
        try:
            actions = {lane: _ours(case, pieces, name) for lane, name in lanes.items()}
        except HeadraceError as error:
            return {"": {"skipped": str(error)}}
        converters_name = next(name for name in lanes.values() if name)
        try:
            if self._java is None:
                raise NoJava("not asked for")
            with self._java.begin(case, file, converters_name) as peer:
                return {
                    lane: self._in_turn(actions[lane], peer, case, is_converted=bool(name))
                    for lane, name in lanes.items()
                }
        except NoJava as error:
            reason = {"no_java": str(error)}
            return {
                lane: _figures([_nanoseconds(action) for _ in range(self._runs)], [], case.aim)
                | reason
                for lane, (action, _) in actions.items()
            }

    def _in_turn(
        self,
        ours: tuple[Callable[[], object], int],
        peer: JavaCase,
        case: Case,
        *,
        is_converted: bool,
    ) -> dict[str, Any]:
        action, passed = ours
        assert peer.passed == passed, f"{passed} records pass, {peer.passed} in Java"
        action()
        peer.nanoseconds(_WARM_S, is_converted=is_converted)
        pairs = [
            (_nanoseconds(action), peer.nanoseconds(_WINDOW_S, is_converted=is_converted))
            for _ in range(self._runs)
        ]
        return _figures(
            [ours_rate for ours_rate, _ in pairs], [theirs for _, theirs in pairs], case.aim
        )


def _line(name: str, lane: str, figures: dict[str, Any]) -> str:
    if "skipped" in figures:
        return f"{name:48s} {lane:10s} skipped: {figures['skipped']}"
    speed = f"{name:48s} {lane:10s} {figures['million_per_second']:10.3f} M/s"
    if "ratio" not in figures:
        return f"{speed}   no Java: {figures['no_java']}"
    short = figures.get("aim") is not None and figures["ratio"] < figures["aim"]
    return (
        f"{speed}  Java {figures['java_million_per_second']:7.3f} M/s  {figures['ratio']:8.1f}×"
        + (f"  short of {figures['aim']:g}×" if short else "")
    )


def main() -> None:
    """Measure what is asked for and print it."""
    parser = argparse.ArgumentParser(prog="benchmarks.transforms")
    parser.add_argument("--runs", type=int, default=1 if QUICK else 3)
    parser.add_argument("--ours", action="store_true", help="without Java; keeps no results")
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()
    figures: dict[str, dict[str, dict[str, Any]]] = {"converters": {}, "chains": {}}
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as work:
        benchmark = Benchmark(Path(work), chosen.runs, ours=chosen.ours)
        for case in (*CONVERSIONS, *CHAINS):
            if chosen.names and not case.name.startswith(tuple(chosen.names)):
                continue
            lanes = {"": case.converters} if case.converters else {"alone": "", "with JSON": "JSON"}
            group = figures["converters" if case.converters else "chains"]
            measured: dict[str, Any] = group.setdefault(case.name, {"records": case.records})
            for lane, lane_figures in benchmark.measure(case, lanes).items():
                measured.update({lane: lane_figures} if lane else lane_figures)
                print(_line(case.name, lane, lane_figures), flush=True)
            if not (chosen.names or chosen.ours):
                report.write("transforms", chosen.runs, figures)


if __name__ == "__main__":
    main()
