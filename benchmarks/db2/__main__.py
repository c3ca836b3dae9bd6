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

ROWS = 100_000 if QUICK else 1_000_000
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
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    rows, seconds, cpu = int(words[0]), float(words[1]), float(words[2])
    assert rows == bench.rows, f"{rows} of {bench.rows} rows"
    return {"rows": rows, "seconds": seconds, "rows_per_second": rows / seconds, "cpu": cpu}


def streamed(bench: Backlog, work: Path, number: int) -> dict[str, float]:
    """From the moment when the synchpoint moves to the last event in the file; the start is not
    part of it."""
    bench.server.execute(
        bench.name,
        "UPDATE ASNCDC.IBMSNAP_REGISTER SET SYNCHPOINT = X'00000000000000004000000000000001' "
        "WHERE GLOBAL_RECORD = 'Y'",
    )
    output, state = work / f"out{number}.jsonl", work / f"state{number}"
    command = [sys.executable, "-m", "headrace.cli", "events", str(work / "bench.properties"),
               "--output", str(output), "--state", str(state)]  # fmt: skip
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    memory = PeakMemory(process.pid)
    try:
        _await(lambda: (state / "checkpoint" / "commits" / "0").exists(), process)
        memory.start()
        before, began = cpu_seconds(process.pid), time.perf_counter()
        bench.show()
        _await(lambda: _lines(output) >= bench.events, process)
        seconds, used = time.perf_counter() - began, cpu_seconds(process.pid) - before
        peak = memory.stop()
    finally:
        process.terminate()
        process.wait(60)
    return {
        "events": bench.events,
        "seconds": seconds,
        "events_per_second": bench.events / seconds,
        "rows_per_second": bench.rows / seconds,
        "cpu_per_million": used / bench.events * 1e6,
        "memory": peak,
    }


def _lines(path: Path) -> int:
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 22), b""))


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
    found: dict[str, list[dict[str, float]]] = {"raw fetch": [], "headrace": []}
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder, backlog(ROWS) as bench:
        work = Path(folder)
        lines = (f"{name}={value}\n" for name, value in bench.properties().items())
        (work / "bench.properties").write_text("".join(lines))
        for number in range(runs):
            found["raw fetch"].append(raw(bench, work))
            found["headrace"].append(streamed(bench, work, number))
            for lane, figures in found.items():
                print(
                    lane, {name: round(value, 1) for name, value in figures[-1].items()}, flush=True
                )
    table: dict[str, Mapping[str, Any]] = {
        lane: {
            **{name: statistics.median(one[name] for one in own) for name in own[0]},
            "runs": own,
        }
        for lane, own in found.items()
    }
    ratio = table["headrace"]["rows_per_second"] / table["raw fetch"]["rows_per_second"]
    print(f"{ratio:.2f} of the raw rate")
    report.write("db2-quick" if QUICK else "db2", runs, {"stream": table})


if __name__ == "__main__":
    main()
