"""How results are printed and kept."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.contenders import Run

RESULTS = Path(__file__).parent / "results"
Figures = Mapping[str, Mapping[str, Mapping[str, Any]]]


def line(name: str, result: Run) -> str:
    return (
        f"{name:34s} {result.events:9,d} events {result.rate:10,.0f}/s  "
        f"{result.cpu_seconds:6.1f} CPU-s ({result.cpu:.1f} per million)  "
        f"{result.memory / 1e6:6,.0f} MB  {result.seconds:6.1f} s "
        f"({result.seconds_with_start:.1f} s with start)"
    )


def table(figures: Figures) -> str:
    """The results in Markdown."""
    lines = [
        "| steady state | events | seconds | CPU-s | events/s | CPU-s per million | memory | rate "
        "| CPU |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name in figures:
        for lane, row in figures[name].items():
            if "events_per_second" not in row:
                continue
            ratios = (
                f"{row['rate_ratio']:.1f}× | {row['cpu_ratio']:.2f}×"
                if "rate_ratio" in row
                else "|"
            )
            lines.append(
                f"| {name}: {lane} | {row['events']:,.0f} | {row['seconds']:.1f} | "
                f"{row['cpu_seconds']:.1f} | {row['events_per_second']:,.0f} | "
                f"{row['cpu_per_million']:.1f} | {row['memory'] / 1e6:,.0f} MB | {ratios} |"
            )
    if "start" in figures:
        lines += ["", "| launch to first event | seconds | CPU-s |", "|---|--:|--:|"]
    for lane, row in figures.get("start", {}).items():
        lines.append(f"| {lane} | {row['seconds']:.1f} | {row['cpu_seconds']:.1f} |")
    if "latency" in figures:
        lines += ["", "| acknowledged to sink | p50 | p95 | p99 |", "|---|--:|--:|--:|"]
    for lane, row in figures.get("latency", {}).items():
        percentiles = " | ".join(f"{row[k]:.0f} ms" for k in ("p50_ms", "p95_ms", "p99_ms"))
        lines.append(f"| {lane} | {percentiles} |")
    return "\n".join(lines)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def write(name: str, runs: int, figures: Figures) -> None:
    """Keep the figures as `results/NAME.json`, with the machine and today's date (UTC)."""
    machine = {"cpu": _cpu_model(), "cores": os.cpu_count(), "python": platform.python_version()}
    date = datetime.now(UTC).date().isoformat()
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"date": date, "machine": machine, "runs": runs, **figures}, indent=1)
    (RESULTS / f"{name}.json").write_text(text + "\n")
