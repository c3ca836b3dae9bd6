"""`python -m benchmarks.tables [SCENARIO …]`, part of `make bench`: replicas of a table of
PostgreSQL, beside Spark's MERGE and PyIceberg's upsert over the same changes, and change logs,
beside pydbzengine's handler for Iceberg. Results go to benchmarks/results/.

CPU is that of all processes of a lane, but for the database server; what a million changes or rows
take is the difference of two sizes, in which the start has no part. Every lane's table is compared
with its source by PyIceberg or delta-rs. QUICK=1 takes less data, once.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import reaped, report
from benchmarks.postgresql.__main__ import SETTINGS
from benchmarks.processes import cpu_seconds
from benchmarks.scenarios import QUICK, arguments
from benchmarks.tables import workload
from benchmarks.tables.lanes import FORMATS, Lane, Round
from benchmarks.tables.readers import READERS
from headrace.errors import HeadraceError
from headrace.spark.jvm.jars import find_jars
from headrace.testing.embedded import PostgresServer

_SHARE = 5 if QUICK else 1
_BATCHES = 8
_DRIVER = "org.postgresql:postgresql:42.7.8"
SCENARIOS: dict[str, tuple[int, ...]] = {
    # Rows of the table, and the two sizes; those of PyIceberg's upsert.
    "changes": (1_000_000 // _SHARE, 100_000 // _SHARE, 1_000_000 // _SHARE, 5_000, 20_000),
    # Rows of the table, and the two sizes.
    "append": (1_000_000 // _SHARE, 100_000 // _SHARE, 1_000_000 // _SHARE),
    # Rows of two tables, and changes into each.
    "growth": (100_000, 10_000_000 if not QUICK else 1_000_000, 200_000),
    # Rows, and the changes of each of 20 micro-batches.
    "reads": (1_000_000 // _SHARE, 10_000 // _SHARE),
    "first_copy": (300_000 // _SHARE, 1_500_000 // _SHARE),
    # Rows of two tables.
    "verify": (200_000 // _SHARE, 2_000_000 // _SHARE),
}


class TablesBenchmark:
    """The scenarios over one server; `figures` collects what they saw."""

    def __init__(self, server: PostgresServer, work: Path, runs: int) -> None:
        self._server, self._work, self._runs = server, work, runs
        self.figures: dict[str, dict[str, dict[str, Any]]] = {}
        server.create_database(workload.DATABASE)
        server.execute("CREATE PUBLICATION bench FOR ALL TABLES", database=workload.DATABASE)

    @contextmanager
    def _lane(self, name: str, table_format: str, table: str) -> Iterator[Lane]:
        lane = Lane(self._server, self._work, name, table_format, table)
        try:
            yield lane
        finally:
            lane.close()

    def changes(self, sizes: Sequence[int]) -> None:
        """Changes of two sizes into tables that are there, by all lanes in turn."""
        rows, small, large, few, more = sizes
        workload.make_table(self._server, "changed", rows)
        with ExitStack() as lanes:
            replicas = [
                lanes.enter_context(self._lane(f"replica_{each}", each, "changed")).replica()
                for each in FORMATS
            ]
            for lane in replicas:
                _print("first copy", lane, lane.run(rows))
            merge = lanes.enter_context(self._lane("merge", "delta", "changed"))
            turns = [*replicas, merge.peer("merge", replicas[1])]
            keys_made = rows
            rounds: dict[str, list[Round]] = {}
            for _ in range(self._runs):
                for count in (small, large):
                    keys_made = workload.change(self._server, "changed", count, keys_made=keys_made)
                    self._round(f"{count:,} changes", turns, "changed", count, rounds)
            self.figures["changes"] = {
                lane.name: _slope(rounds[lane.name], small, large) for lane in turns
            }
            upsert = lanes.enter_context(self._lane("upsert", "iceberg", "changed"))
            upsert.peer("upsert", replicas[0])
            for count in (few, more):
                keys_made = workload.change(self._server, "changed", count, keys_made=keys_made)
                self._round(f"{count:,} changes", [upsert], "changed", count, rounds)
            self.figures["changes"]["upsert"] = _slope(rounds["upsert"], few, more)

    def append(self, sizes: Sequence[int]) -> None:
        """Changes of two sizes into change logs, by all lanes in turn."""
        rows, *counts = sizes
        keys_made, written = rows, 0
        workload.make_table(self._server, "appended", rows)
        options = {
            "headrace.sink.mode": "append",
            "snapshot.mode": "no_data",
            "headrace.sink.incomplete": "true",
        }
        with ExitStack() as lanes:
            turns = [
                lanes.enter_context(self._lane(f"log_{each}", each, "appended")).replica(options)
                for each in FORMATS
            ]
            for lane in turns:
                lane.run(0)
            peer = self._lane("pydbzengine", "iceberg", "appended")
            turns.append(lanes.enter_context(peer).engine())
            rounds: dict[str, list[Round]] = {}
            for _ in range(self._runs):
                for count in counts:
                    keys_made = workload.change(
                        self._server, "appended", count, keys_made=keys_made
                    )
                    written += count
                    for lane in turns:
                        measured = lane.run(count)
                        _print(f"{count:,} changes appended", lane, measured)
                        lane.require_count(written)
                        rounds.setdefault(lane.name, []).append(measured)
            self.figures["append"] = {
                lane.name: _slope(rounds[lane.name], *counts) for lane in turns
            }

    def _round(
        self,
        name: str,
        lanes: Sequence[Lane],
        table: str,
        count: int,
        rounds: dict[str, list[Round]],
    ) -> None:
        source = workload.sums(self._server, table)
        for lane in lanes:
            measured = lane.run(count)
            _print(name, lane, measured)
            lane.require_equal(source)
            rounds.setdefault(lane.name, []).append(measured)

    def growth(self, sizes: Sequence[int]) -> None:
        """Micro-batches of the same number of changes into tables of two sizes."""
        *rows, count = sizes
        self.figures["growth"] = {}
        for table_format in FORMATS:
            cost = [self._cost(table_format, number, count) for number in rows]
            ratio = cost[1] / cost[0] if min(cost) > 0 else float("nan")
            self.figures["growth"][table_format] = {
                "rows": rows,
                "cpu_seconds": cost,
                "ratio": ratio,
            }
            print(f"growth: {table_format}: {ratio:.2f} times", flush=True)

    def _cost(self, table_format: str, rows: int, count: int) -> float:
        """CPU of a micro-batch of `count` changes into a table of so many rows: between runs of one
        and of several, of each the least, since other work only adds to it."""
        table, keys_made = f"grown{rows}_{table_format}", rows
        least = dict.fromkeys((1, _BATCHES), float("inf"))
        workload.make_table(self._server, table, rows)
        with self._lane(table, table_format, table) as lane:
            lane.replica({"headrace.range.max.rows": str(count)})
            _print("first copy", lane, lane.run(rows))
            for _ in range(max(self._runs, 2)):
                for batches in least:
                    keys_made = workload.change(
                        self._server, table, batches * count, keys_made=keys_made
                    )
                    measured = lane.run(batches * count)
                    _print(f"{batches} times {count:,} into {rows:,}", lane, measured)
                    lane.require_equal(workload.sums(self._server, table))
                    least[batches] = min(least[batches], measured.took.cpu_seconds)
        self._server.execute(f"DROP TABLE {table}", database=workload.DATABASE)
        return (least[_BATCHES] - least[1]) / (_BATCHES - 1)

    def reads(self, sizes: Sequence[int]) -> None:
        """A full read after 20 micro-batches without compaction, and after it."""
        rows, count = sizes
        self.figures["reads"] = {}
        for table_format in FORMATS:
            table = f"read_{table_format}"
            workload.make_table(self._server, table, rows)
            with self._lane(table, table_format, table) as lane:
                never = {"headrace.sink.compact.commits": "1000000"}
                lane.replica(never).run(rows)
                lane.replica({**never, "headrace.range.max.rows": str(count)})
                workload.change(self._server, table, 20 * count, keys_made=rows)
                _print("20 micro-batches", lane, lane.run(20 * count))
                before = {each: lane.read_cpu(each) for each in READERS[table_format]}
                took = lane.maintain()
                after = {each: lane.read_cpu(each) for each in before}
                lane.require_equal(workload.sums(self._server, table))
            for reader, seconds in before.items():
                self.figures["reads"][f"{table_format} by {reader}"] = {
                    "cpu_seconds_before": seconds,
                    "cpu_seconds_after": after[reader],
                    "maintain_cpu_seconds": took.cpu_seconds,
                    "ratio": seconds / after[reader],
                }
                print(f"reads: {reader}: {seconds:.2f} and {after[reader]:.2f} CPU-s", flush=True)

    def first_copy(self, sizes: Sequence[int]) -> None:
        """First copies of two sizes, beside Spark's JDBC source into Delta."""
        try:
            (driver,) = find_jars([_DRIVER], None)
        except HeadraceError as error:
            print(f"first copy: no JDBC: {error}", flush=True)
            driver = None
        rounds: dict[str, list[Round]] = {}
        for rows in sizes:
            table = f"copied{rows}"
            workload.make_table(self._server, table, rows)
            source = workload.sums(self._server, table)
            for number in range(self._runs):
                for table_format in FORMATS:
                    with self._lane(f"copy{number}_{table_format}", table_format, table) as lane:
                        measured = lane.replica().run(rows)
                        _print(f"first copy of {rows:,}", lane, measured)
                        lane.require_equal(source)
                        rounds.setdefault(table_format, []).append(measured)
                if driver is not None:
                    with self._lane(f"copy{number}_jdbc", "delta", table) as lane:
                        measured = self._jdbc(lane, rows, driver)
                        _print(f"first copy of {rows:,}", lane, measured)
                        lane.require_equal(source)
                        rounds.setdefault("Spark JDBC, delta", []).append(measured)
        self.figures["first copy"] = {name: _slope(rounds[name], *sizes) for name in rounds}

    def verify(self, sizes: Sequence[int]) -> None:
        """Comparisons of replicas of two sizes with their source: what they cost, and what they
        cost the server."""
        self.figures["verify"] = {}
        for table_format in FORMATS:
            least: list[tuple[float, float, float]] = []
            for rows in sizes:
                table = f"verified{rows}_{table_format}"
                workload.make_table(self._server, table, rows)
                with self._lane(table, table_format, table) as lane:
                    lane.replica().run(rows)
                    compared = [self._compared(lane) for _ in range(self._runs)]
                least.append(tuple(map(min, zip(*compared, strict=True))))
            millions = (sizes[1] - sizes[0]) / 1e6
            cpu_s, server, seconds = (
                (large - small) / millions for small, large in zip(*least, strict=True)
            )
            self.figures["verify"][table_format] = {
                "cpu_per_million": cpu_s,
                "server_cpu_per_million": server,
                "seconds_per_million": seconds,
            }
            print(
                f"verify: {table_format}: {cpu_s:.1f} CPU-s per million rows, {server:.1f} of the "
                f"server, {seconds:.1f} s",
                flush=True,
            )

    def _compared(self, lane: Lane) -> tuple[float, float, float]:
        """CPU-seconds of a comparison and of the server meanwhile, and how long it took."""
        before = cpu_seconds(self._server.pid)
        took = lane.verify()
        return took.cpu_seconds, cpu_seconds(self._server.pid) - before, took.seconds

    def _jdbc(self, lane: Lane, rows: int, driver: Path) -> Round:
        server = self._server
        url = (
            f"jdbc:postgresql://{server.host}:{server.port}/{workload.DATABASE}"
            f"?user={server.user}&password=x"
        )
        arguments = ("copy", url, str(lane.lake), lane.table, str(driver))
        took = reaped.run([sys.executable, "-m", "benchmarks.tables.peers", *arguments])
        written = sum(each.stat().st_size for each in lane.lake.rglob("*") if each.is_file())
        return Round(rows, took, written)


def _slope(rounds: Sequence[Round], small: int, large: int) -> dict[str, Any]:
    """What lies between the medians of two sizes; the rate is nan where that is not clear."""

    def median(size: int, name: str) -> float:
        durations = (getattr(each.took, name) for each in rounds if each.changes == size)
        return float(statistics.median(durations))

    events = large - small
    seconds, cpu = (
        median(large, name) - median(small, name) for name in ("seconds", "cpu_seconds")
    )
    return {
        "events": events,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "events_per_second": events / seconds if seconds > 0 else float("nan"),
        "cpu_per_million": cpu / events * 1e6,
        "start_cpu_seconds": median(small, "cpu_seconds") - cpu / events * small,
        "written_per_million": statistics.median(
            each.bytes / each.changes * 1e6 for each in rounds if each.changes == large
        ),
        "command_memory": max(each.took.command_bytes for each in rounds),
        "jvm_memory": max(each.took.jvm_bytes for each in rounds),
        "memory": float(max(each.took.command_bytes + each.took.jvm_bytes for each in rounds)),
        "runs": [
            {"changes": each.changes, "bytes": each.bytes, **vars(each.took)} for each in rounds
        ],
    }


def _print(name: str, lane: Lane, measured: Round) -> None:
    took = measured.took
    print(
        f"{name:28s} {lane.name:18s} {took.cpu_seconds:7.1f} CPU-s {took.seconds:7.1f} s "
        f"{measured.bytes / 1e6:8.1f} MB written, {took.command_bytes / 1e6:6,.0f} MB command, "
        f"{took.jvm_bytes / 1e6:6,.0f} MB JVM",
        flush=True,
    )


def _table(figures: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    lines = [
        "| | between the sizes | CPU-s per million | a second | CPU-s of the start | "
        "MB written per million | MB, command and JVM |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, lanes in figures.items():
        for lane, row in lanes.items():
            if "events" in row:
                lines.append(
                    f"| {name}: {lane} | {row['events']:,d} | {row['cpu_per_million']:.1f} | "
                    f"{row['events_per_second']:,.0f} | {row['start_cpu_seconds']:.1f} | "
                    f"{row['written_per_million'] / 1e6:.1f} | "
                    f"{row['command_memory'] / 1e6:,.0f}, {row['jvm_memory'] / 1e6:,.0f} |"
                )
    for name in ("growth", "reads"):
        for lane, row in figures.get(name, {}).items():
            lines.append(f"\n{name}, {lane}: {row['ratio']:.2f} times")
    return "\n".join(lines)


def main() -> None:
    """Run the scenarios named, or all."""
    chosen = arguments("tables", SCENARIOS)
    with (
        tempfile.TemporaryDirectory(prefix="headrace-bench-") as work,
        PostgresServer(16, settings=SETTINGS) as server,
    ):
        benchmark = TablesBenchmark(server, Path(work), chosen.runs)
        for name in chosen.scenario:
            getattr(benchmark, name)(SCENARIOS[name])
        print("\n" + _table(benchmark.figures))
        if set(chosen.scenario) == set(SCENARIOS):
            report.write("tables-quick" if QUICK else "tables", chosen.runs, benchmark.figures)


if __name__ == "__main__":
    main()
