"""`make bench`: prints start, rates, CPU, memory and latency, and our ratio to the others.

Snapshot and stream run at two sizes: the start is measured by itself, and the steady state is what
lies between the sizes.

QUICK=1 takes a tenth of the data once. Results go to benchmarks/results/.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from benchmarks.postgresql import latency, start, workload
from benchmarks.postgresql.contenders import Contenders, Run, run, wait_until
from headrace.testing.embedded import PostgresServer

RESULTS = Path(__file__).parent.parent / "results"
SETTINGS = {
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "max_replication_slots": "60",
    "max_wal_senders": "20",
    "wal_sender_timeout": "0",
}
Sizes = tuple[int, ...]
QUICK = os.environ.get("QUICK", "") not in ("", "0")


class Benchmark:
    """The scenarios over one server; `figures` collects what they saw."""

    def __init__(self, server: PostgresServer, work: Path, runs: int) -> None:
        self.server, self.work, self.runs = server, work, runs
        self.contenders = Contenders(server, work)
        self.figures: dict[str, object] = {}
        self._number = 0

    def _file(self, name: str) -> Path:
        self._number += 1
        return self.work / f"{name}-{self._number}.jsonl"

    def _slot(self, name: str) -> str:
        self.server.execute(
            f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')",
            database=workload.DATABASE,
        )
        return name

    def _drop_slots(self) -> None:
        idle = "SELECT count(*) FROM pg_replication_slots WHERE active"
        wait_until(lambda: self.server.execute(idle)[0][0] == 0)
        self.server.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots",
            database=workload.DATABASE,
        )

    def _in_turn(
        self, name: str, kind: str | None, lanes: dict[str, Callable[[int], list[str]]], count: int
    ) -> dict[str, list[Run]]:
        found: dict[str, list[Run]] = {lane: [] for lane in lanes}
        for number in range(self.runs):
            for lane, command in lanes.items():
                result = run(command(number), self.server, kind, count)
                found[lane].append(result)
                print(_line(f"{name}: {lane}", result), flush=True)
        return found

    def _steady(self, name: str, runs: Callable[[int], dict[str, list[Run]]], sizes: Sizes) -> None:
        """Runs at both sizes; what a million events more take is the steady state, in which the
        start has no part."""
        small, large = runs(sizes[0]), runs(sizes[1])
        figures = {lane: _slope(small[lane], large[lane]) for lane in large}
        peer = figures["Debezium"]
        table = {}
        for lane, own in figures.items():
            own["rate_ratio"] = own["events_per_second"] / peer["events_per_second"]
            own["cpu_ratio"] = own["cpu_per_million"] / peer["cpu_per_million"]
            table[lane] = {**own, "runs": [r.figures() for r in small[lane] + large[lane]]}
        self.figures[name] = table

    def start(self, _sizes: Sizes) -> None:
        """From the launch to the first event, of a log that holds one; and Spark alone. Warm: the
        kernels are compiled, and Java's classes archived, by a run that ends in good order."""
        workload.make_table(self.server, "started", 0)
        more = {"table.include.list": "public.started", "snapshot.mode": "no_data"}
        files = {
            (lane, number): self.contenders.properties(
                f"start-{lane}-{number}", more | {"slot.name": self._slot(f"start_{lane}_{number}")}
            )
            for lane in ("debezium", "events")
            for number in range(self.runs)
        }
        cold = self.contenders.properties(
            "start-cold", more | {"slot.name": self._slot("start_cold")}
        )
        workload.make_one_transaction(self.server, "started", 1)
        warming = self.contenders.events(cold, self._file("start-cold"))
        subprocess.run([*warming, "--idle-exit", "2"], check=True)
        found: dict[str, list[start.Start]] = {}
        for number in range(self.runs):
            lanes: dict[str, Callable[[Path], list[str]]] = {
                "Debezium": lambda out, file=files["debezium", number]: self.contenders.debezium(
                    file, 1 << 60, out
                ),
                "Spark alone": self.contenders.empty_stream,
                "headrace events": lambda out, file=files["events", number]: self.contenders.events(
                    file, out
                ),
            }
            for lane, command in lanes.items():
                output = self._file(f"start-{number}")
                took = start.measure(command(output), output)
                found.setdefault(lane, []).append(took)
                print(
                    f"start: {lane:27s} {took.seconds:6.1f} s {took.cpu_seconds:6.1f} CPU-s",
                    flush=True,
                )
        self.figures["start"] = {
            lane: {
                "seconds": statistics.median(one.seconds for one in starts),
                "cpu_seconds": statistics.median(one.cpu_seconds for one in starts),
                "runs": [asdict(one) for one in starts],
            }
            for lane, starts in found.items()
        }
        self._drop_slots()

    def snapshot(self, sizes: Sizes) -> None:
        """The initial snapshot of one table, of two sizes."""
        self._steady("snapshot", self._snapshots, sizes)

    def _snapshots(self, rows: int) -> dict[str, list[Run]]:
        table = f"orders{rows}"
        workload.make_table(self.server, table, rows)
        more = {"table.include.list": f"public.{table}", "snapshot.mode": "initial"}

        def start(lane: str) -> Callable[[int], list[str]]:
            def command(number: int) -> list[str]:
                self._drop_slots()
                slot = {"slot.name": f"{lane}_{number}", "slot.drop.on.stop": "false"}
                path = self.contenders.properties(f"snapshot{rows}-{lane}-{number}", more | slot)
                contender: Callable[..., list[str]] = getattr(self.contenders, lane)
                return contender(path, rows)

            return command

        found = self._in_turn(
            f"snapshot of {rows:,}",
            "snapshot",
            {
                "Debezium": start("debezium"),
                "headrace": start("headrace"),
                "Spark JDBC": lambda _: self.contenders.jdbc(table, rows),
            },
            rows,
        )
        self._drop_slots()
        return found

    def stream(self, sizes: Sizes) -> None:
        """A backlog of inserts, updates and deletes, of two sizes."""
        self._steady("stream", self._streams, sizes)

    def _streams(self, changes: int) -> dict[str, list[Run]]:
        """Every run has its own slot, made before the changes."""
        inserts = changes * 2 // 5
        table = f"changes{changes}"
        workload.make_table(self.server, table, 0)
        lanes = ("debezium", "headrace_key", "headrace_position")
        for lane in lanes:
            for number in range(self.runs):
                self._slot(f"{lane}_{number}")
        count = workload.make_backlog(self.server, table, inserts)
        more = {"table.include.list": f"public.{table}", "snapshot.mode": "no_data"}

        def start(lane: str) -> Callable[[int], list[str]]:
            def command(number: int) -> list[str]:
                slot = f"{lane}_{number}"
                path = self.contenders.properties(slot, more | {"slot.name": slot})
                if lane == "debezium":
                    return self.contenders.debezium(path, count)
                if lane == "headrace_key":
                    return self.contenders.headrace(path, count)
                tombstones = inserts // 2
                return self.contenders.headrace(path, count + tombstones, self._file(slot))

            return command

        found = self._in_turn(
            f"stream of {changes:,}",
            "stream",
            {
                "Debezium": start("debezium"),
                "headrace, key slices": start("headrace_key"),
                "headrace, file": start("headrace_position"),
            },
            count,
        )
        self._drop_slots()
        return found

    def one_transaction(self, sizes: Sizes) -> None:
        """One transaction of many rows: what it does to memory."""
        (rows,) = sizes
        workload.make_table(self.server, "big", 0)
        self._slot("big")
        workload.make_one_transaction(self.server, "big", rows)
        more = {"table.include.list": "public.big", "snapshot.mode": "no_data", "slot.name": "big"}
        path = self.contenders.properties("big", more)
        result = run(self.contenders.headrace(path, rows), self.server, "stream", rows)
        print(_line("one transaction: headrace", result), flush=True)
        self.figures["one transaction"] = {"headrace": result.figures()}
        self._drop_slots()

    def latency(self, sizes: Sizes) -> None:
        """Commit to sink at a trickle, default settings; Debezium also with poll.interval.ms=10.
        `headrace` is the command `headrace events`."""
        (seconds,) = sizes
        lanes: dict[str, tuple[str, dict[str, str]]] = {
            "Debezium": ("debezium", {}),
            "Debezium, poll.interval.ms=10": ("debezium", {"poll.interval.ms": "10"}),
            "headrace": ("events", {}),
        }
        table = {}
        for number, (lane, (contender, extra)) in enumerate(lanes.items()):
            name = f"trickle{number}"
            workload.make_table(self.server, name, 0)
            more = {"table.include.list": f"public.{name}", "snapshot.mode": "no_data",
                    "slot.name": self._slot(name)}  # fmt: skip
            path = self.contenders.properties(name, more | extra)
            output = self._file(name)
            command = (
                self.contenders.events(path, output)
                if contender == "events"
                else self.contenders.debezium(path, 1 << 60, output)
            )
            table[lane] = latency.measure(command, self.server, name, output, seconds)
            shown = ", ".join(f"{k[:-3]} {v:.0f} ms" for k, v in table[lane].items())
            print(f"latency: {lane:32s} {shown}", flush=True)
        self.figures["latency"] = table
        self._drop_slots()


def _slope(small: list[Run], large: list[Run]) -> dict[str, float]:
    """Rate and CPU between two sizes, by the medians of the runs at each."""

    def median(runs: list[Run], name: str) -> float:
        return statistics.median(getattr(run, name) for run in runs)

    events = large[0].events - small[0].events
    seconds, cpu = (
        median(large, name) - median(small, name) for name in ("seconds", "cpu_seconds")
    )
    return {
        "events": float(events),
        "events_per_second": events / seconds if seconds > 0 else float("nan"),
        "cpu_per_million": cpu / events * 1e6,
        "memory": float(max(run.memory for run in large)),
    }


def _line(name: str, result: Run) -> str:
    return (
        f"{name:34s} {result.rate:10,.0f} events/s  {result.cpu:6.1f} CPU-s per million  "
        f"{result.memory / 1e6:6,.0f} MB  {result.seconds:6.1f} s "
        f"({result.seconds_with_start:.1f} s with start)"
    )


def table(figures: dict[str, object]) -> str:
    """The results in Markdown."""
    lines = [
        "| steady state | events/s | CPU-s per million | memory | rate | CPU |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in ("snapshot", "stream", "one transaction"):
        for lane, found in figures.get(name, {}).items():  # type: ignore[attr-defined]
            ratios = (
                f"{found['rate_ratio']:.1f}× | {found['cpu_ratio']:.2f}×"
                if "rate_ratio" in found
                else "|"
            )
            lines.append(
                f"| {name}: {lane} | {found['events_per_second']:,.0f} | "
                f"{found['cpu_per_million']:.1f} | {found['memory'] / 1e6:,.0f} MB | {ratios} |"
            )
    lines += ["", "| launch to first event | seconds | CPU-s |", "|---|--:|--:|"]
    for lane, found in figures.get("start", {}).items():  # type: ignore[attr-defined]
        lines.append(f"| {lane} | {found['seconds']:.1f} | {found['cpu_seconds']:.1f} |")
    lines += ["", "| commit to sink | p50 | p95 | p99 |", "|---|--:|--:|--:|"]
    for lane, found in figures.get("latency", {}).items():  # type: ignore[attr-defined]
        shown = " | ".join(f"{found[k]:.0f} ms" for k in ("p50_ms", "p95_ms", "p99_ms"))
        lines.append(f"| {lane} | {shown} |")
    return "\n".join(lines)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main() -> None:
    """Run the scenarios named, or all."""
    scenarios = ("start", "snapshot", "stream", "latency", "one_transaction")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postgresql")
    parser.add_argument("scenario", nargs="*", help=", ".join(scenarios))
    parser.add_argument("--runs", type=int, default=1 if QUICK else 3)
    arguments = parser.parse_args()
    chosen = arguments.scenario or scenarios
    share = 10 if QUICK else 1
    sizes: dict[str, Sizes] = {
        "start": (),
        "snapshot": (300_000 // share, 1_500_000 // share),
        "stream": (300_000 // share, 1_500_000 // share),
        "latency": (15 if QUICK else 60,),
        "one_transaction": (5_000_000 // share,),
    }
    with (
        tempfile.TemporaryDirectory(prefix="headrace-bench-") as work,
        PostgresServer(16, settings=SETTINGS) as server,
    ):
        server.create_database(workload.DATABASE)
        server.execute("CREATE PUBLICATION bench FOR ALL TABLES", database=workload.DATABASE)
        benchmark = Benchmark(server, Path(work), arguments.runs)
        for name in chosen:
            if name not in scenarios:
                sys.exit(f"no scenario {name}; there are {', '.join(scenarios)}")
            getattr(benchmark, name)(sizes[name])
    found = benchmark.figures
    print("\n" + table(found))
    machine = {"cpu": _cpu_model(), "cores": os.cpu_count(), "python": platform.python_version()}
    RESULTS.mkdir(exist_ok=True)
    name = "postgresql-quick.json" if QUICK else "postgresql.json"
    if set(chosen) == set(scenarios):
        text = json.dumps({"machine": machine, "runs": arguments.runs, **found}, indent=1)
        (RESULTS / name).write_text(text + "\n")


if __name__ == "__main__":
    main()
