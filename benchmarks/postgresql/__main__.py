"""`python -m benchmarks.postgresql [SCENARIO …]`, part of `make bench`: prints start, rates, CPU,
memory and latency, and our ratio to the others. Results go to benchmarks/results/.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import report
from benchmarks.contenders import Run, jars, run
from benchmarks.postgresql import workload
from benchmarks.postgresql.server import Server
from benchmarks.scenarios import QUICK, Benchmark, Sizes, arguments, run_all
from headrace.testing.embedded import PostgresServer

SETTINGS = {
    "shared_buffers": "512MB",
    "max_wal_size": "8GB",
    "max_replication_slots": "60",
    "max_wal_senders": "20",
    "wal_sender_timeout": "0",
}
_SHARE = 10 if QUICK else 1
SCENARIOS: dict[str, Sizes] = {
    "start": (),
    "snapshot": (300_000 // _SHARE, 1_500_000 // _SHARE),
    "stream": (300_000 // _SHARE, 1_500_000 // _SHARE),
    "latency": (15 if QUICK else 60,),
    "one_transaction": (5_000_000 // _SHARE,),
}


class PostgresBenchmark(Benchmark):
    """Snapshot, stream and a large transaction."""

    server: Server

    def snapshot(self, sizes: Sizes) -> None:
        """The initial snapshot of one table, of two sizes."""
        self.steady("snapshot", self._snapshots, sizes)

    def _snapshots(self, rows: int) -> dict[str, list[Run]]:
        table = f"orders{rows}"
        workload.make_table(self.server.server, table, rows)
        more = {"table.include.list": f"public.{table}", "snapshot.mode": "initial"}

        def start(lane: str) -> Callable[[int], list[str]]:
            def command(number: int) -> list[str]:
                self.server.forget_readers()
                slot = {"slot.name": f"{lane}_{number}", "slot.drop.on.stop": "false"}
                path = self.contenders.properties(f"snapshot{rows}-{lane}-{number}", more | slot)
                contender: Callable[..., list[str]] = getattr(self.contenders, lane)
                return contender(path, rows)

            return command

        runs = self.in_turn(
            f"snapshot of {rows:,}",
            "snapshot",
            {
                "Debezium": start("debezium"),
                "headrace": start("headrace"),
                "Spark JDBC": lambda _: self._jdbc(table, rows),
            },
            rows,
        )
        self.server.forget_readers()
        return runs

    def _jdbc(self, table: str, rows: int) -> list[str]:
        """Spark's own JDBC source."""
        server = self.server.server
        url = f"jdbc:postgresql://{server.host}:{server.port}/bench?user={server.user}&password=x"
        jar = next(jars().glob("postgresql-*.jar"))
        return [sys.executable, "-m", "benchmarks.postgresql.jdbc", url, table, str(rows), str(jar)]

    def stream(self, sizes: Sizes) -> None:
        """A backlog of inserts, updates and deletes, of two sizes."""
        self.steady("stream", self._streams, sizes)

    def _streams(self, changes: int) -> dict[str, list[Run]]:
        """Every run has its own slot, made before the changes."""
        inserts = changes * 2 // 5
        table = f"changes{changes}"
        self.server.make_empty(table)
        lanes = ("debezium", "headrace_key", "headrace_position")
        begin = {
            (lane, number): self.server.from_now_on(table, f"{lane}_{number}")
            for lane in lanes
            for number in range(self.runs)
        }
        count = workload.make_backlog(self.server.server, table, inserts)

        def start(lane: str) -> Callable[[int], list[str]]:
            def command(number: int) -> list[str]:
                path = self.contenders.properties(f"{lane}_{number}", begin[lane, number])
                if lane == "debezium":
                    return self.contenders.debezium(path, count)
                if lane == "headrace_key":
                    return self.contenders.headrace(path, count)
                tombstones = inserts // 2
                return self.contenders.headrace(path, count + tombstones, self.file(lane))

            return command

        runs = self.in_turn(
            f"stream of {changes:,}",
            "stream",
            {
                "Debezium": start("debezium"),
                "headrace, key slices": start("headrace_key"),
                "headrace, file": start("headrace_position"),
            },
            count,
        )
        self.server.forget_readers()
        return runs

    def one_transaction(self, sizes: Sizes) -> None:
        """One transaction of many rows: what it does to memory."""
        (rows,) = sizes
        self.server.make_empty("big")
        path = self.contenders.properties("big", self.server.from_now_on("big", "big"))
        workload.make_one_transaction(self.server.server, "big", rows)
        result = run(self.contenders.headrace(path, rows), self.server, "stream", rows)
        print(report.line("one transaction: headrace", result), flush=True)
        self.figures["one transaction"] = {"headrace": result.figures()}
        self.server.forget_readers()


def main() -> None:
    """Run the scenarios named, or all."""
    chosen = arguments("postgresql", SCENARIOS)
    with (
        tempfile.TemporaryDirectory(prefix="headrace-bench-") as work,
        PostgresServer(16, settings=SETTINGS) as server,
    ):
        benchmark = PostgresBenchmark(Server(server), Path(work), chosen.runs, peers=chosen.peers)
        run_all("postgresql", benchmark, SCENARIOS, chosen.scenario)


if __name__ == "__main__":
    main()
