"""`make bench`: prints rates, CPU, memory and latency, and our ratio to the others.

QUICK=1 takes a tenth of the data once. Results go to benchmarks/results/.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.postgresql import latency, workload
from benchmarks.postgresql.contenders import Contenders, Run, run, wait_until
from headrace.cli.embedded import PostgresServer

RESULTS = Path(__file__).parent.parent / "results"
SETTINGS = {
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "max_replication_slots": "40",
    "max_wal_senders": "20",
    "wal_sender_timeout": "0",
}
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
    ) -> None:
        found: dict[str, list[Run]] = {lane: [] for lane in lanes}
        for number in range(self.runs):
            for lane, command in lanes.items():
                result = run(command(number), self.server, kind, count)
                found[lane].append(result)
                print(_line(f"{name}: {lane}", result), flush=True)
        medians = {lane: _median(runs) for lane, runs in found.items()}
        peer = medians["Debezium"]
        table = {}
        for lane, figures in medians.items():
            figures["rate_ratio"] = figures["events_per_second"] / peer["events_per_second"]
            figures["cpu_ratio"] = figures["cpu_per_million"] / peer["cpu_per_million"]
            table[lane] = {**figures, "runs": [r.figures() for r in found[lane]]}
        self.figures[name] = table

    def snapshot(self, rows: int) -> None:
        """The initial snapshot of one table."""
        workload.make_table(self.server, "orders", rows)
        more = {"table.include.list": "public.orders", "snapshot.mode": "initial"}

        def start(lane: str) -> Callable[[int], list[str]]:
            def command(number: int) -> list[str]:
                self._drop_slots()
                slot = {"slot.name": f"{lane}_{number}", "slot.drop.on.stop": "false"}
                path = self.contenders.properties(f"snapshot-{lane}-{number}", more | slot)
                contender: Callable[..., list[str]] = getattr(self.contenders, lane)
                return contender(path, rows)

            return command

        self._in_turn(
            "snapshot",
            "snapshot",
            {
                "Debezium": start("debezium"),
                "headrace": start("headrace"),
                "Spark JDBC": lambda _: self.contenders.jdbc("orders", rows),
            },
            rows,
        )
        self._drop_slots()

    def stream(self, inserts: int) -> None:
        """A backlog of inserts, updates and deletes; every run has its own slot before it."""
        workload.make_table(self.server, "changes", 0)
        lanes = ("debezium", "headrace_key", "headrace_position")
        for lane in lanes:
            for number in range(self.runs):
                self._slot(f"{lane}_{number}")
        count = workload.make_backlog(self.server, "changes", inserts)
        more = {"table.include.list": "public.changes", "snapshot.mode": "no_data"}

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

        self._in_turn(
            "stream",
            "stream",
            {
                "Debezium": start("debezium"),
                "headrace, key slices": start("headrace_key"),
                "headrace, file": start("headrace_position"),
            },
            count,
        )
        self._drop_slots()

    def one_transaction(self, rows: int) -> None:
        """One transaction of `rows` rows: what it does to memory."""
        workload.make_table(self.server, "big", 0)
        self._slot("big")
        workload.make_one_transaction(self.server, "big", rows)
        more = {"table.include.list": "public.big", "snapshot.mode": "no_data", "slot.name": "big"}
        path = self.contenders.properties("big", more)
        result = run(self.contenders.headrace(path, rows), self.server, "stream", rows)
        print(_line("one transaction: headrace", result), flush=True)
        self.figures["one transaction"] = {"headrace": result.figures()}
        self._drop_slots()

    def latency(self, seconds: float) -> None:
        """Commit to sink at a trickle, default settings; Debezium also with poll.interval.ms=10."""
        lanes: dict[str, tuple[str, dict[str, str]]] = {
            "Debezium": ("debezium", {}),
            "Debezium, poll.interval.ms=10": ("debezium", {"poll.interval.ms": "10"}),
            "headrace": ("headrace", {}),
        }
        table = {}
        for number, (lane, (contender, extra)) in enumerate(lanes.items()):
            name = f"trickle{number}"
            workload.make_table(self.server, name, 0)
            more = {"table.include.list": f"public.{name}", "snapshot.mode": "no_data",
                    "slot.name": self._slot(name)}  # fmt: skip
            path = self.contenders.properties(name, more | extra)
            output = self._file(name)
            command = getattr(self.contenders, contender)(path, 1 << 60, output)
            table[lane] = latency.measure(command, self.server, name, output, seconds)
            shown = ", ".join(f"{k[:-3]} {v:.0f} ms" for k, v in table[lane].items())
            print(f"latency: {lane:32s} {shown}", flush=True)
        self.figures["latency"] = table
        self._drop_slots()


def _median(runs: list[Run]) -> dict[str, float]:
    names = runs[0].figures()
    found = {name: statistics.median(r.figures()[name] for r in runs) for name in names}
    found["memory"] = max(r.memory for r in runs)
    return found


def _line(name: str, result: Run) -> str:
    return (
        f"{name:34s} {result.rate:10,.0f} events/s  {result.cpu:6.1f} CPU-s per million  "
        f"{result.memory / 1e6:6,.0f} MB  {result.seconds:6.1f} s "
        f"({result.seconds_with_start:.1f} s with start)"
    )


def table(figures: dict[str, object]) -> str:
    """The results in Markdown."""
    lines = [
        "| | events/s | CPU-s per million | memory | rate | CPU |",
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
    scenarios = ("snapshot", "stream", "latency", "one_transaction")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postgresql")
    parser.add_argument("scenario", nargs="*", help=", ".join(scenarios))
    parser.add_argument("--runs", type=int, default=1 if QUICK else 3)
    arguments = parser.parse_args()
    chosen = arguments.scenario or scenarios
    share = 10 if QUICK else 1
    sizes = {
        "snapshot": 1_000_000 // share,
        "stream": 400_000 // share,
        "latency": 15 if QUICK else 60,
        "one_transaction": 5_000_000 // share,
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
