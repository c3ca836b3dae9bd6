"""The scenarios that every database has, in turn for all contenders; `figures` collects what they
saw.

Snapshot and stream run at two sizes: the start is measured by itself, and the steady state is what
lies between the sizes. QUICK=1 takes less data, once.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import latency, report, start
from benchmarks.contenders import Contenders, Run, run
from benchmarks.server import BenchServer

Sizes = tuple[int, ...]
QUICK = os.environ.get("QUICK", "") not in ("", "0")
_OURS = "headrace"  # our lanes begin with it
_MIN_SHARE = 0.1
"""The least share of the larger size's seconds that the difference to the smaller size may be."""


class Benchmark:
    """The scenarios over one server. `peers` leaves our own lanes out."""

    peer = "Debezium"
    """The lane that others are compared with."""

    def __init__(self, server: BenchServer, work: Path, runs: int, *, peers: bool = False) -> None:
        self.server, self.work, self.runs, self.peers = server, work, runs, peers
        self.contenders = Contenders(server, work)
        self.figures: dict[str, Mapping[str, Mapping[str, Any]]] = {}
        self._number = 0
        self._is_warm = peers

    def warm(self) -> None:
        """Have our kernels compiled and Java's classes archived, by a run over one change that ends
        in good order."""
        if self._is_warm:
            return
        self.server.make_empty("warmed")
        properties = self.contenders.properties(
            "warmed", self.server.from_now_on("warmed", "warmed")
        )
        with self.server.writer("warmed") as writer:
            writer.insert(1)
        command = self.contenders.events(properties, self.file("warmed"))
        subprocess.run([*command, "--idle-exit", "2"], check=True)
        self.server.forget_readers()
        self._is_warm = True

    def file(self, name: str) -> Path:
        """A new output file."""
        self._number += 1
        return self.work / f"{name}-{self._number}.jsonl"

    def in_turn(
        self, name: str, kind: str | None, lanes: dict[str, Callable[[int], list[str]]], count: int
    ) -> dict[str, list[Run]]:
        """Runs of the commands in turn."""

        def measured(command: Callable[[int], list[str]]) -> Callable[[int], Run]:
            return lambda number: run(command(number), self.server, kind, count)

        return self.measure_in_turn(
            name, {lane: measured(command) for lane, command in lanes.items()}
        )

    def measure_in_turn(
        self, name: str, lanes: Mapping[str, Callable[[int], Run]]
    ) -> dict[str, list[Run]]:
        """What the lanes measure in turn, each by the number of the round."""
        runs: dict[str, list[Run]] = {}
        for number in range(self.runs):
            for lane, measure in lanes.items():
                if self.peers and lane.startswith(_OURS):
                    continue
                result = measure(number)
                runs.setdefault(lane, []).append(result)
                print(report.line(f"{name}: {lane}", result), flush=True)
        return runs

    def steady(self, name: str, runs: Callable[[int], dict[str, list[Run]]], sizes: Sizes) -> None:
        """Runs at both sizes; what a million events more take is the steady state, in which the
        start has no part."""
        self.warm()
        small, large = runs(sizes[0]), runs(sizes[1])
        figures = {lane: _slope(small[lane], large[lane]) for lane in large}
        peer = figures[self.peer]
        table = {}
        for lane, lane_figures in figures.items():
            lane_figures["rate_ratio"] = (
                lane_figures["events_per_second"] / peer["events_per_second"]
            )
            lane_figures["cpu_ratio"] = lane_figures["cpu_per_million"] / peer["cpu_per_million"]
            table[lane] = {**lane_figures, "runs": [r.figures() for r in small[lane] + large[lane]]}
        self.figures[name] = table

    def start(self, _sizes: Sizes) -> None:
        """From the launch to the first event, of a log that holds one; and Spark alone. Warm."""
        self.warm()
        self.server.make_empty("started")
        lanes = {
            "Debezium": "debezium",
            "Spark alone": "empty_stream",
            "headrace events": "events",
        }
        files = {
            (contender, number): self.contenders.properties(
                f"start-{contender}-{number}",
                self.server.from_now_on("started", f"start_{contender}_{number}"),
            )
            for contender in ("debezium", "events")
            for number in range(self.runs)
        }
        with self.server.writer("started") as writer:
            writer.insert(1)
        measured_starts: dict[str, list[start.Start]] = {}
        for number in range(self.runs):
            for lane, contender in lanes.items():
                if self.peers and lane.startswith(_OURS):
                    continue
                output = self.file(f"start-{number}")
                if contender == "empty_stream":
                    command = self.contenders.empty_stream(output)
                elif contender == "events":
                    command = self.contenders.events(files[contender, number], output)
                else:
                    command = self.contenders.debezium(files[contender, number], 1 << 60, output)
                took = start.measure(command, output)
                measured_starts.setdefault(lane, []).append(took)
                print(
                    f"start: {lane:27s} {took.seconds:6.1f} s {took.cpu_seconds:6.1f} CPU-s",
                    flush=True,
                )
        self.figures["start"] = {
            lane: {
                "seconds": statistics.median(measured.seconds for measured in starts),
                "cpu_seconds": statistics.median(measured.cpu_seconds for measured in starts),
                "runs": [asdict(measured) for measured in starts],
            }
            for lane, starts in measured_starts.items()
        }
        self.server.forget_readers()

    def latency(self, sizes: Sizes) -> None:
        """Acknowledged to sink at a trickle, default settings; Debezium also polls every 10 ms.
        `headrace` is the command `headrace events`."""
        (seconds,) = sizes
        lanes: dict[str, tuple[str, dict[str, str]]] = {
            "Debezium": ("debezium", {}),
            "Debezium, poll.interval.ms=10": ("debezium", {"poll.interval.ms": "10"}),
            "headrace": ("events", {}),
        }
        table = {}
        for number, (lane, (contender, extra)) in enumerate(lanes.items()):
            if self.peers and lane.startswith(_OURS):
                continue
            name = f"trickle{number}"
            self.server.make_empty(name)
            more = self.server.from_now_on(name, name)
            path = self.contenders.properties(name, more | extra)
            output = self.file(name)
            command = (
                self.contenders.events(path, output)
                if contender == "events"
                else self.contenders.debezium(path, 1 << 60, output)
            )
            table[lane] = latency.measure(command, self.server, name, output, seconds)
            self.server.forget_readers()
            percentiles = ", ".join(f"{k[:-3]} {v:.0f} ms" for k, v in table[lane].items())
            print(f"latency: {lane:32s} {percentiles}", flush=True)
        self.figures["latency"] = table


def _slope(small: list[Run], large: list[Run]) -> dict[str, float]:
    """Rate and CPU between two sizes, by the medians of the runs at each. The rate is nan
    where the larger size took hardly longer, because the difference is then one of two starts."""

    def median(runs: list[Run], name: str) -> float:
        return float(statistics.median(getattr(run, name) for run in runs))

    events = large[0].events - small[0].events
    seconds, cpu = (
        median(large, name) - median(small, name) for name in ("seconds", "cpu_seconds")
    )
    is_clear = seconds > _MIN_SHARE * median(large, "seconds")
    return {
        "events": float(events),
        "seconds": seconds,
        "cpu_seconds": cpu,
        "events_per_second": events / seconds if is_clear else float("nan"),
        "cpu_per_million": cpu / events * 1e6,
        "memory": float(max(run.memory for run in large)),
    }


def arguments(database: str, scenarios: Mapping[str, Sizes]) -> argparse.Namespace:
    """The command line: `scenario` (all of them, unless some are named), `runs` and `peers`."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{database}")
    parser.add_argument("scenario", nargs="*", help=", ".join(scenarios))
    parser.add_argument("--runs", type=int, default=1 if QUICK else 3)
    parser.add_argument("--peers", action="store_true", help="leave headrace out")
    options = parser.parse_args()
    for name in options.scenario:
        if name not in scenarios:
            sys.exit(f"no scenario {name}; there are {', '.join(scenarios)}")
    options.scenario = options.scenario or [*scenarios]
    return options


def run_all(
    database: str, benchmark: Benchmark, scenarios: Mapping[str, Sizes], chosen: list[str]
) -> None:
    """Run the chosen scenarios, print their figures, and keep them when they are all there are."""
    for name in chosen:
        getattr(benchmark, name)(scenarios[name])
    print("\n" + report.table(benchmark.figures))
    if set(chosen) == set(scenarios):
        name = f"{database}-quick" if QUICK else database
        report.write(name, benchmark.runs, benchmark.figures)
