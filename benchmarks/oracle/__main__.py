"""`python -m benchmarks.oracle`, part of `make bench`: a million rows of redo with ten columns as
Debezium's JSON, on one core, beside Debezium's own parser, converters and JSON in Java; and the
memory that one transaction of five million rows takes. Results go to benchmarks/results/.

The rows are scripted: a driver in this process gives them as python-oracledb gives Arrow batches,
so what a database takes for mining is in no figure.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.oracle.driver import WORKLOAD
from benchmarks.oracle.java import STEPS, RedoRunner
from benchmarks.oracle.workload import DEFINITION, Workload, make, statements
from benchmarks.processes import PeakMemory, cpu_seconds
from benchmarks.scenarios import QUICK
from headrace.connectors.oracle.redo.statements import RedoStatements
from headrace.connectors.oracle.redo.tables import RedoTable
from headrace.connectors.oracle.types.source_type import OracleType
from headrace.connectors.registry import open_connector, parse_configuration
from headrace.relational.table import Column, Table
from headrace.spark.kernels.beforehand import compile_beforehand
from headrace.spark.kernels.needed import all_kernels
from headrace.spark.task import read_slice
from headrace_demo.oracle.definitions import Table as Definition
from headrace_demo.oracle.server import OracleServer

_BLOCK, _BLOCKS = 100_000, (1 if QUICK else 10)
_WHOLE_BLOCKS = 5 if QUICK else 50
_PARSED_AT_ONCE = 10_000
_LIMIT_S = 3600
SCENARIOS = ("redo", "transaction")
_MAX_BYTES = 2 << 30


def properties(server: OracleServer) -> dict[str, str]:
    """The connector's."""
    plain = {f"{role}.converter.schemas.enable": "false" for role in ("key", "value", "header")}
    return {
        "connector.class": "io.debezium.connector.oracle.OracleConnector",
        "topic.prefix": "bench",
        **server.properties(),
        "driver.module": "benchmarks.oracle.driver",
        "table.include.list": r"BENCH\..*",
        "snapshot.mode": "no_data",
        "include.schema.changes": "false",
        "tombstones.on.delete": "false",
        "log.mining.read.only": "true",
        "poll.interval.ms": "20",
        **plain,
    }


def parsed(work: Workload) -> dict[str, float]:
    """Statements to row images."""
    table = Definition.read(DEFINITION, 1)
    columns = tuple(
        Column(
            column.name,
            OracleType.of(column.type, column.length, column.precision, column.scale),
            False,
        )
        for column in table.columns
    )
    redo = RedoStatements()
    number = redo.add(RedoTable.of(Table(table.schema, table.name, columns, ("ID",))))
    texts = statements(work)
    redo.parse(texts.slice(0, 100), np.full(100, number, np.int32))
    began, count = time.process_time(), 0
    for _ in range(_BLOCKS):
        for start in range(0, len(texts), _PARSED_AT_ONCE):
            part = texts.slice(start, _PARSED_AT_ONCE)
            parsed_redo = redo.parse(part, np.full(len(part), number, np.int32))
            assert not parsed_redo.errors
            count += len(part)
    return {"rows": count, "rows_per_second": count / (time.process_time() - began)}


def to_json(server: OracleServer, work: Workload) -> dict[str, float]:
    """Fetched rows to Debezium's JSON, all of it in this process: what it takes of its CPU."""
    server.load({"tables": [DEFINITION]})
    config = parse_configuration(properties(server))
    compile_beforehand(all_kernels())
    connector = open_connector(config, cores=1, inline=False, orphaned=lambda: False)
    try:
        after: Mapping[str, Any] = connector.poll({"v": 2, "server": "bench"}, timedelta(seconds=1))
        server.apply([{"scn": work.last_scn + 10}])
        before, began, cpu = 0, time.perf_counter(), time.process_time()
        while before < work.changes:
            end = connector.poll(after, timedelta(seconds=1))
            for part in connector.slices(after, end):
                before += sum(batch.num_rows for batch in read_slice(part, config))
            after = end
            connector.acknowledge(after)
        cpu = time.process_time() - cpu
        seconds = time.perf_counter() - began
    finally:
        connector.close()
    return {"rows": before, "seconds": seconds, "cpu": cpu, "rows_per_second": before / cpu}


def whole(server: OracleServer, work: Workload, folder: Path) -> dict[str, float]:
    """One transaction by `headrace events`: the memory of its processes."""
    server.load({"tables": [DEFINITION]})
    named = folder / "bench.properties"
    written = (f"{name}={value}\n" for name, value in properties(server).items())
    named.write_text("".join(written))
    output, state = folder / "out.jsonl", folder / "state"
    command = [sys.executable, "-m", "headrace.cli", "events", str(named),
               "--output", str(output), "--state", str(state)]  # fmt: skip
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    memory = PeakMemory(process.pid)
    try:
        _await(lambda: (state / "checkpoint" / "commits" / "0").exists(), process)
        memory.start()
        began, used = time.perf_counter(), cpu_seconds(process.pid)
        server.apply([{"scn": work.last_scn + 10}])
        lines = _Lines(output)
        _await(lambda: lines() >= work.changes, process)
        seconds, used = time.perf_counter() - began, cpu_seconds(process.pid) - used
        peak = memory.stop()
    finally:
        process.terminate()
        process.wait(60)
    rows = work.changes
    return {"rows": rows, "seconds": seconds, "rows_per_second": rows / seconds, "memory": peak,
            "cpu_per_million": used / rows * 1e6}  # fmt: skip


class _Lines:
    """Counts the lines of a file that grows."""

    def __init__(self, path: Path) -> None:
        self._path, self._read, self._count = path, 0, 0

    def __call__(self) -> int:
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._read)
                while part := file.read(1 << 22):
                    self._count += part.count(b"\n")
                    self._read += len(part)
        return self._count


def _await(condition: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + _LIMIT_S
    while not condition():
        if process.poll() is not None or time.monotonic() > limit:
            raise RuntimeError("headrace events ended, or did not come to an end")
        time.sleep(0.5)


def main() -> None:
    """All runs, in turn."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.oracle")
    parser.add_argument("scenario", nargs="*", help=", ".join(SCENARIOS))
    parser.add_argument("--runs", type=int, default=1 if QUICK else 3)
    options = parser.parse_args()
    chosen = options.scenario or list(SCENARIOS)
    figures: dict[str, Mapping[str, Mapping[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as name, OracleServer() as server:
        folder = Path(name)
        os.environ[WORKLOAD] = str(folder / "work.json")
        if "redo" in chosen:
            work = make(folder / "redo.arrow", _BLOCK, _BLOCKS)
            work.write(folder / "work.json")
            (folder / "statements").write_text("\n".join(statements(work).to_pylist()) + "\n")
            figures["redo"] = _redo(server, work, folder, options.runs)
        if "transaction" in chosen:
            work = make(folder / "whole.arrow", _BLOCK, _WHOLE_BLOCKS, whole=True)
            work.write(folder / "work.json")
            took = whole(server, work, folder)
            print("one transaction", {step: round(value, 1) for step, value in took.items()})
            figures["transaction"] = {"headrace": {**took, "bound": _MAX_BYTES}}
    name = "oracle-quick" if QUICK else "oracle"
    results_file = report.RESULTS / f"{name}.json"
    if results_file.exists():
        # A scenario that was not run keeps its figures.
        before = json.loads(results_file.read_text())
        figures |= {
            scenario: before[scenario]
            for scenario in SCENARIOS
            if scenario not in chosen and scenario in before
        }
    report.write(name, options.runs, figures)


def _redo(
    server: OracleServer, work: Workload, folder: Path, runs: int
) -> Mapping[str, Mapping[str, Any]]:
    runner = RedoRunner(folder)
    to_json(server, replace(work, blocks=1))  # what a process does once is in no figure
    lanes: dict[str, list[float]] = {}
    for _ in range(runs):
        rates = runner.rates(folder / "statements", 2 if QUICK else 8)
        by_lane = {
            **{f"Debezium: {step}": rates[step] for step in STEPS},
            "headrace: parse": parsed(work)["rows_per_second"],
            "headrace: json": to_json(server, work)["rows_per_second"],
        }
        for lane, rate in by_lane.items():
            print(f"{lane:20s} {rate:12,.0f} rows per second of CPU", flush=True)
            lanes.setdefault(lane, []).append(rate)
    medians = {lane: statistics.median(rates) for lane, rates in lanes.items()}
    ratio = medians["headrace: json"] / medians["Debezium: json"]
    print(f"JSON: {ratio:.1f} times Debezium's rate")
    figures: dict[str, Mapping[str, Any]] = {
        lane: {"rows_per_second": round(rate), "runs": [round(rate) for rate in lanes[lane]]}
        for lane, rate in medians.items()
    }
    return {**figures, "JSON": {"times_debezium": round(ratio, 1), "aim": 10}}


if __name__ == "__main__":
    main()
