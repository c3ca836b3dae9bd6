"""`python -m benchmarks.db2`, part of `make bench`: the rows of three change tables as the driver
gives them at most, and the same as events in a file by `headrace events`. There is no other side:
Debezium's driver does not speak to Derby. Results go to benchmarks/results/.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.db2.workload import SCHEMA, TABLES, Backlog, backlog
from benchmarks.processes import PeakMemory, cpu_seconds
from benchmarks.scenarios import QUICK

ROWS = 99_000 if QUICK else 1_000_200
FIRST_ROWS = 60_000
"""Rows beside those, with which Spark's workers are started."""
_LIMIT_S = 900
_RAW = """
import sys, time
from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.connection import connect
config = Db2Config.parse(dict(line.split("=", 1) for line in open(sys.argv[1]).read().splitlines()))
with connect(config) as connection:
    began, rows = time.perf_counter(), 0
    for table in sys.argv[2:]:
        cursor = connection.cursor(f"SELECT * FROM {table} ORDER BY 1, 2")
        while fetched := cursor.fetch(10_000):
            rows += len(fetched)
        cursor.close()
    print(rows, time.perf_counter() - began, time.process_time())
"""


def raw(bench: Backlog, work: Path) -> dict[str, float]:
    """What the driver gives at most: rows as Python objects, table by table."""
    tables = [f'ASNCDC."CDC_{SCHEMA}_{table}"' for table in TABLES]
    command = [sys.executable, "-c", _RAW, str(work / "bench.properties"), *tables]
    server = bench.server_cpu()
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    rows, seconds, cpu = int(words[0]), float(words[1]), float(words[2])
    assert rows == bench.rows, f"{rows} of {bench.rows} rows"
    return {
        "rows": rows,
        "seconds": seconds,
        "rows_per_second": rows / seconds,
        "cpu": cpu,
        "server_cpu": bench.server_cpu() - server,
    }


def streamed(bench: Backlog, work: Path, number: int) -> dict[str, float]:
    """From the moment when the synchpoint moves to the last event in the file. Before that, the
    first rows are shown and streamed, so that Spark's start, and that of its workers, is no part of
    it; `whole` is from the moment when the first rows are shown."""
    bench.show(0)
    output, state = work / f"out{number}.jsonl", work / f"state{number}"
    command = [sys.executable, "-m", "headrace.cli", "events", str(work / "bench.properties"),
               "--output", str(output), "--state", str(state)]  # fmt: skip
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    memory, lines = PeakMemory(process.pid), _Lines(output)
    schema_changes = len(TABLES)  # schema change events
    try:
        _await(lambda: lines.count() >= schema_changes, process)
        memory.start()
        whole_began = time.perf_counter()
        bench.show(FIRST_ROWS)
        _await(lambda: lines.count() >= schema_changes + bench.events(FIRST_ROWS), process)
        before, server = cpu_seconds(process.pid), bench.server_cpu()
        began = time.perf_counter()
        bench.show(bench.rows)
        _await(lambda: lines.count() >= schema_changes + bench.events(bench.rows), process)
        ended = time.perf_counter()
        used, server = cpu_seconds(process.pid) - before, bench.server_cpu() - server
        peak = memory.stop()
    finally:
        process.terminate()
        process.wait(60)
    assert lines.count() == schema_changes + bench.events(bench.rows), "events that nobody made"
    rows, seconds = bench.rows - FIRST_ROWS, ended - began
    return {
        "rows": rows,
        "events": bench.events(rows),
        "seconds": seconds,
        "events_per_second": bench.events(rows) / seconds,
        "rows_per_second": rows / seconds,
        "whole_rows_per_second": bench.rows / (ended - whole_began),
        "cpu_per_million": used / bench.events(rows) * 1e6,
        "server_cpu_per_million": server / bench.events(rows) * 1e6,
        "memory": peak,
    }


class _Lines:
    """Counts the lines of a file that grows, reading each once."""

    def __init__(self, path: Path) -> None:
        self._path, self._read, self._count = path, 0, 0

    def count(self) -> int:
        """So far; nothing while there is no file."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._read)
                for part in iter(lambda: file.read(1 << 22), b""):
                    self._count += part.count(b"\n")
                    self._read += len(part)
        return self._count


def _await(condition: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + _LIMIT_S
    while not condition():
        if process.poll() is not None or time.monotonic() > limit:
            raise RuntimeError("headrace events ended, or did not come to an end")
        time.sleep(0.1)


def main() -> None:
    """All runs, in turn."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.db2")
    parser.add_argument("--runs", type=int, default=1 if QUICK else 3)
    runs = parser.parse_args().runs
    rates: dict[str, list[dict[str, float]]] = {"raw fetch": [], "headrace": []}
    with (
        tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder,
        backlog(ROWS + FIRST_ROWS) as bench,
    ):
        work = Path(folder)
        lines = (f"{name}={value}\n" for name, value in bench.properties().items())
        (work / "bench.properties").write_text("".join(lines))
        for number in range(runs):
            rates["raw fetch"].append(raw(bench, work))
            rates["headrace"].append(streamed(bench, work, number))
            for lane, figures in rates.items():
                print(
                    lane, {name: round(value, 1) for name, value in figures[-1].items()}, flush=True
                )
    table: dict[str, Mapping[str, Any]] = {
        lane: {
            **{name: statistics.median(figures[name] for figures in runs) for name in runs[0]},
            "runs": runs,
        }
        for lane, runs in rates.items()
    }
    rate = table["raw fetch"]["rows_per_second"]
    print(
        f"{table['headrace']['rows_per_second'] / rate:.2f} of the raw rate, "
        f"{table['headrace']['whole_rows_per_second'] / rate:.2f} with the start of the workers"
    )
    report.write("db2-quick" if QUICK else "db2", runs, {"stream": table})


if __name__ == "__main__":
    main()
