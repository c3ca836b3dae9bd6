"""`python -m benchmarks.tables.curves`, part of `make bench`: the cost of 200
micro-batches into one replica, and of a full read after every twentieth of them, with compaction
and without. Results go to benchmarks/results/curves.json; `make docs` draws them.

CPU is that of all processes of the command but for the database server. QUICK=1 takes 40
micro-batches.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.postgresql.__main__ import SETTINGS
from benchmarks.processes import cpu_seconds
from benchmarks.scenarios import QUICK
from benchmarks.tables import workload
from benchmarks.tables.lanes import FORMATS, Lane
from benchmarks.tables.readers import iceberg_table
from headrace.testing.embedded import PostgresServer
from tests.chaos.run import newest_of

BATCHES, EVERY = (40, 10) if QUICK else (200, 20)
"""The number of micro-batches, and of those between two reads and in a mean."""
ROWS, CHANGES = 200_000, 2_000
"""The rows of the table, and the changes of a micro-batch."""
COMPACTED = {"every 20 micro-batches": "20", "never": "1000000"}
"""Values of `compact.commits`, by the name of the curve."""
_POLL_S = 0.02
_PASSES = 3


class Curve:
    """One replica under `BATCHES` micro-batches."""

    def __init__(self, server: PostgresServer, work: Path, table_format: str, compact: str) -> None:
        self._server = server
        self._table = f"curve_{table_format}_{compact}"
        workload.make_table(server, self._table, ROWS)
        self._compact = {"headrace.sink.compact.commits": compact}
        self._lane = Lane(server, work, self._table, table_format, self._table)

    def measured(self) -> dict[str, Any]:
        """The figures: the mean CPU-seconds of every EVERY micro-batches, and the number of data
        files and the CPU-seconds of a read after them. Raises AssertionError where the table does
        not equal its source at the end."""
        lane = self._lane
        lane.replica(self._compact).run(ROWS)
        first = self._newest() + 1
        workload.change(self._server, self._table, BATCHES * CHANGES, keys_made=ROWS)
        lane.replica({**self._compact, "headrace.range.max.rows": str(CHANGES)})
        costs = self._watched(first)
        lane.require_equal(workload.sums(self._server, self._table))
        versions = (_iceberg_versions if lane.format == "iceberg" else _delta_versions)(lane)
        reads = []
        for batch in range(0, BATCHES + 1, EVERY):
            files, read = versions[max(n for n in versions if n < first + batch)]
            reads.append({"batch": batch, "files": files, "cpu_seconds": _least_cpu(read)})
        means = [
            {
                "batch": start + EVERY,
                "cpu_seconds": round(statistics.fmean(costs[start:][:EVERY]), 3),
            }
            for start in range(0, BATCHES, EVERY)
        ]
        return {"micro_batches": means, "reads": reads}

    def _watched(self, first: int) -> list[float]:
        """CPU-seconds of each micro-batch from `first` on. Its start has no part in them: the
        first one is left out."""
        command = [sys.executable, "-m", "headrace.cli", "run", str(self._lane.file)]
        command += ["--checkpoint", str(self._lane.state)]
        cpu_by_number: dict[int, float] = {}
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
        ) as process:
            while process.poll() is None:
                newest = self._newest()
                if newest >= first and newest not in cpu_by_number:
                    cpu_by_number[newest] = cpu_seconds(process.pid)
                time.sleep(_POLL_S)
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
        numbers = sorted(cpu_by_number)
        costs = []
        for before, after in itertools.pairwise(numbers):
            share = (cpu_by_number[after] - cpu_by_number[before]) / (after - before)
            costs += [round(share, 3)] * (after - before)
        return costs

    def _newest(self) -> int:
        return newest_of(self._lane.state / "checkpoint" / "commits")

    def close(self) -> None:
        """Delete the table and the replica."""
        self._lane.close()
        self._server.execute(f"DROP TABLE {self._table}", database=workload.DATABASE)


Versions = dict[int, tuple[int, Callable[[], object]]]
"""The number of data files of the last version that a micro-batch left, and a function that reads
its rows, by the number of the micro-batch."""


def _iceberg_versions(lane: Lane) -> Versions:
    table = iceberg_table(lane.lake, lane.table)
    versions: Versions = {}
    batch = -1
    for snapshot in table.metadata.snapshots:
        summary = snapshot.summary
        assert summary is not None
        batch = max(batch, int(summary.additional_properties.get("headrace.batch", -1)))
        scan = table.scan(snapshot_id=snapshot.snapshot_id)
        versions[batch] = (int(summary["total-data-files"] or 0), scan.to_arrow)
    return versions


def _delta_versions(lane: Lane) -> Versions:
    from deltalake import DeltaTable, QueryBuilder

    folder = lane.lake / "public" / lane.table
    versions: Versions = {}
    batch = -1
    for path in sorted((folder / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in path.read_text().splitlines()]
        batch = max([batch, *(int(each["txn"]["version"]) for each in actions if "txn" in each)])
        version = int(path.stem)

        def read(version: int = version) -> object:
            table = DeltaTable(str(folder), version=version)
            return QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all()

        versions[batch] = (len(DeltaTable(str(folder), version=version).file_uris()), read)
    return versions


def _least_cpu(read: Callable[[], object]) -> float:
    took = []
    for _ in range(_PASSES):
        begun = time.process_time()
        read()
        took.append(time.process_time() - begun)
    return round(min(took), 3)


def measure(server: PostgresServer, work: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """The curves by format and by name."""
    figures: dict[str, dict[str, dict[str, Any]]] = {}
    for table_format in FORMATS:
        for name, compact in COMPACTED.items():
            curve = Curve(server, work, table_format, compact)
            measured = curve.measured()
            curve.close()
            figures.setdefault(table_format, {})[name] = measured
            last = measured["reads"][-1]
            took = EVERY * sum(each["cpu_seconds"] for each in measured["micro_batches"])
            print(
                f"{table_format}, compaction {name}: {took:.1f} CPU-s for "
                f"{BATCHES} micro-batches; {last['files']} files and "
                f"{last['cpu_seconds']:.2f} CPU-s of a read after the last one",
                flush=True,
            )
    return figures


def main() -> None:
    """Measure and keep the figures."""
    with (
        tempfile.TemporaryDirectory(prefix="headrace-bench-") as work,
        PostgresServer(16, settings=SETTINGS) as server,
    ):
        server.create_database(workload.DATABASE)
        server.execute("CREATE PUBLICATION bench FOR ALL TABLES", database=workload.DATABASE)
        report.write("curves-quick" if QUICK else "curves", 1, measure(server, Path(work)))


if __name__ == "__main__":
    main()
